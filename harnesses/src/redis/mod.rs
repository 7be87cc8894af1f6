//! The harness for the Redis store, on one server or on a cluster.

mod place;

use std::fmt;
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{join_all, try_join_all};
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, Place, Proxy, StoreHarness, StoreInfo, TestClock,
};
use holdover_store::time::Timestamp;
use holdover_store::{StateStore, StoreError};
use holdover_store_redis::test_access::{Bypass, Layout};
use holdover_store_redis::{RedisOptions, RedisStore};
use tokio::sync::OnceCell;
use uuid::Uuid;

use place::NamespacePlace;

/// Limits that are small enough for tests to reach them quickly, and large enough for every case.
const PAYLOAD_BYTES_MAX: usize = 9 << 20;
const COMMIT_BYTES_MAX: usize = 16 << 20;

/// The number of partitions: fewer than the default, so that a store is made quickly, and enough that a case uses
/// several.
const PARTITIONS: u16 = 4;

/// The time at which every clock starts: an arbitrary instant in 2027.
const START_MS: i64 = 1_800_000_000_000;

/// The port of a server whose URL has no port.
const PORT: u16 = 6379;

/// The operation that the errors of [`RedisHarness::remove_all`] name.
const REMOVE_ALL: &str = "remove_all";

/// The script that sets the clock of a partition.
const SET_CLOCK: &str = "redis.call('SET', KEYS[1], ARGV[1]) return 'set'";

/// The script that removes every key of a partition.
const CLEAR: &str = "
local cursor = '0'
repeat
  local step = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 10000)
  cursor = step[1]
  for _, key in ipairs(step[2]) do redis.call('UNLINK', key) end
until cursor == '0'
return 'clear'";

/// The namespaces of this process that are not emptied yet, each with the URL of its server.
static LEFT: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

fn left() -> MutexGuard<'static, Vec<(String, String)>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the name of a new namespace, and notes the namespace for removal.
fn new_namespace(url: &str) -> String {
    let namespace = format!("case:{}", Uuid::new_v4().simple());
    left().push((url.to_owned(), namespace.clone()));
    namespace
}

/// Removes every key of a namespace.
async fn clear(servers: &Bypass, namespace: &str) -> Result<(), StoreError> {
    let tags = Layout::new(namespace, PARTITIONS).tags();
    let cleared = tags.iter().map(async |tag| {
        servers.run(CLEAR, &format!("{tag}:meta"), &[&format!("{tag}:*")], REMOVE_ALL).await
    });
    try_join_all(cleared).await?;
    left().retain(|(_, known)| known != namespace);
    Ok(())
}

/// A harness for the Redis store. Each store is a namespace of its own on one server or cluster, emptied when the
/// store is disposed of. All stores share one clock, which is a key in each partition and stands still until it is
/// advanced.
pub struct RedisHarness {
    url: String,
    clock: Arc<KeyClock>,
    child: Option<ChildProgram>,
}

/// Builds the command of a child program that serves a namespace at a URL.
type ChildProgram = Arc<dyn Fn(&str, &str) -> Command + Send + Sync>;

/// The namespace of one instance.
struct Namespace(String);

/// The clock, and the namespaces whose clock keys follow it.
struct KeyClock {
    url: String,
    servers: OnceCell<Bypass>,
    now_ms: AtomicI64,
    namespaces: Mutex<Vec<String>>,
}

impl RedisHarness {
    /// Creates a harness with a clock of its own, whose stores lie in new namespaces of the server or cluster at
    /// `url`.
    pub fn at(url: impl Into<String>) -> Self {
        let url = url.into();
        let clock = KeyClock {
            url: url.clone(),
            servers: OnceCell::new(),
            now_ms: AtomicI64::new(START_MS),
            namespaces: Mutex::default(),
        };
        Self { url, clock: Arc::new(clock), child: None }
    }

    /// Sets the function that builds the command of a child program, for the cases that kill a process. The function
    /// gets the URL and the namespace of the store. The program must call [`serve_child`](Self::serve_child) with both.
    #[must_use]
    pub fn child_program(mut self, program: impl Fn(&str, &str) -> Command + Send + Sync + 'static) -> Self {
        self.child = Some(Arc::new(program));
        self
    }

    /// Checks that stores can be made at `url`: makes one, then removes it with everything else that this process
    /// left.
    ///
    /// # Errors
    /// The errors of [`RedisOptions::from_url`], [`RedisStore::open`] and [`remove_all`](Self::remove_all).
    pub async fn try_out(url: &str) -> Result<(), StoreError> {
        // An invalid URL fails here, before a namespace is noted.
        let options = RedisOptions::from_url(url)?.partitions(PARTITIONS);
        drop(RedisStore::open(options.namespace(new_namespace(url))?).await?);
        Self::remove_all(url).await
    }

    /// Removes everything that the harnesses of this process have left on the server or cluster. No harness may be
    /// at work.
    ///
    /// # Errors
    /// The errors of [`RedisOptions::from_url`]; otherwise an error of operation `remove_all`. Whatever could not be
    /// removed stays.
    pub async fn remove_all(url: &str) -> Result<(), StoreError> {
        let here: Vec<String> =
            left().iter().filter(|(at, _)| at == url).map(|(_, namespace)| namespace.clone()).collect();
        if here.is_empty() {
            return Ok(());
        }
        let servers = Bypass::connect(&RedisOptions::from_url(url)?, REMOVE_ALL).await?;
        for namespace in here {
            clear(&servers, &namespace).await?;
        }
        Ok(())
    }

    /// Opens the namespace with the options of this harness, and writes until the process is killed.
    ///
    /// # Panics
    /// If the store cannot be opened.
    pub async fn serve_child(url: &str, namespace: &str) {
        holdover_conformance_tests::serve_child(open(url, namespace).await).await;
    }
}

async fn open(url: &str, namespace: &str) -> RedisStore {
    RedisStore::open(options(url, namespace)).await.expect("the store opens")
}

/// Returns the reason why no proxy can stand between a client and the server of a URL. `None` if one can.
fn no_proxy(url: &str) -> Option<&'static str> {
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("redis+cluster" | "rediss+cluster") => {
            Some("a cluster tells its clients the addresses of its nodes itself")
        }
        Some("rediss") => Some("the certificate of the server does not name a proxy before it"),
        Some(_) | None => None,
    }
}

/// Returns the URL of the same server through a proxy, or `None` if no proxy is possible.
async fn through(url: &str, proxy: &Proxy) -> Option<String> {
    if no_proxy(url).is_some() {
        return None;
    }
    let mut url = redis::parse_redis_url(url).expect("a URL of Redis");
    let address = proxy.to((url.host_str().expect("a host"), url.port().unwrap_or(PORT))).await;
    url.set_ip_host(address.ip()).expect("a host can be named");
    url.set_port(Some(address.port())).expect("a port can be named");
    Some(url.to_string())
}

fn options(url: &str, namespace: &str) -> RedisOptions {
    let options =
        RedisOptions::from_url(url).expect("a URL of Redis").namespace(namespace).expect("a namespace");
    options
        .partitions(PARTITIONS)
        .payload_bytes_max(PAYLOAD_BYTES_MAX)
        .commit_bytes_max(COMMIT_BYTES_MAX)
        .test_clock()
}

impl KeyClock {
    /// Runs a script on the server that owns `key`.
    async fn run(&self, script: &str, key: &str, arguments: &[&str]) {
        self.servers().await.run(script, key, arguments, "harness").await.expect("the script runs");
    }

    async fn servers(&self) -> &Bypass {
        let connect = || async {
            let options = RedisOptions::from_url(&self.url).expect("a URL of Redis");
            Bypass::connect(&options, "harness").await.expect("a connection")
        };
        self.servers.get_or_init(connect).await
    }

    /// Sets the clock of each partition of a namespace.
    async fn set(&self, namespace: &str) {
        let now = self.now_ms.load(Ordering::SeqCst).to_string();
        let clocks = Layout::new(namespace, PARTITIONS).clocks();
        join_all(clocks.iter().map(async |clock| self.run(SET_CLOCK, clock, &[&now]).await)).await;
    }

    /// Creates a namespace that contains nothing but this clock.
    async fn name(&self) -> String {
        let namespace = new_namespace(&self.url);
        self.namespaces().push(namespace.clone());
        self.set(&namespace).await;
        namespace
    }

    /// Removes all keys of a namespace. Later advances of the clock leave the namespace out.
    async fn forget(&self, namespace: &str) {
        self.namespaces().retain(|other| other != namespace);
        clear(self.servers().await, namespace).await.expect("the script runs");
    }

    fn namespaces(&self) -> MutexGuard<'_, Vec<String>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clock of a harness, as the cases use it.
struct Hand(Arc<KeyClock>);

#[async_trait]
impl TestClock for Hand {
    async fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.now_ms.load(Ordering::SeqCst))
    }

    async fn advance(&self, by: Duration) {
        self.0.now_ms.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        let namespaces = self.0.namespaces().clone();
        join_all(namespaces.iter().map(|namespace| self.0.set(namespace))).await;
    }
}

#[async_trait]
impl StoreHarness for RedisHarness {
    type Store = RedisStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("holdover-store-redis", holdover_store_redis::VERSION)
    }

    async fn fresh(&self) -> Instance<RedisStore> {
        let namespace = self.clock.name().await;
        Instance::guarded(open(&self.url, &namespace).await, Namespace(namespace))
    }

    /// Opens the namespace again, with new connections and new caches.
    async fn peer(&self, of: &Instance<RedisStore>) -> RedisStore {
        open(&self.url, &of.guard::<Namespace>().expect("its namespace").0).await
    }

    async fn reopen(&self, of: Instance<RedisStore>) -> Instance<RedisStore> {
        let (store, namespace) = of.into_parts::<Namespace>();
        let namespace = namespace.expect("its namespace");
        let promised = store.capabilities();
        drop(store);
        let again = open(&self.url, &namespace.0).await;
        assert_eq!(again.capabilities(), promised, "the same promises");
        Instance::guarded(again, namespace)
    }

    async fn dispose(&self, of: Instance<RedisStore>) {
        let (store, namespace) = of.into_parts::<Namespace>();
        drop(store);
        self.clock.forget(&namespace.expect("its namespace").0).await;
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(Hand(Arc::clone(&self.clock)))
    }

    fn child(&self, of: &Instance<RedisStore>) -> Option<Command> {
        let namespace = &of.guard::<Namespace>().expect("its namespace").0;
        self.child.as_ref().map(|program| program(&self.url, namespace))
    }

    async fn peer_through(&self, of: &Instance<RedisStore>, proxy: &Proxy) -> Option<RedisStore> {
        let namespace = &of.guard::<Namespace>().expect("its namespace").0;
        let url = through(&self.url, proxy).await?;
        Some(open(&url, namespace).await)
    }

    async fn place(&self) -> Option<Arc<dyn Place>> {
        let namespace = self.clock.name().await;
        let options = options(&self.url, &namespace);
        Some(Arc::new(NamespacePlace { clock: Arc::clone(&self.clock), namespace, options }))
    }

    fn gaps(&self) -> Vec<Gap> {
        let gap = |reason| Gap::capability(Capability::WireFaults, reason);
        no_proxy(&self.url).map(gap).into_iter().collect()
    }
}

impl fmt::Debug for RedisHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisHarness").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_put_only_before_a_server_that_need_not_prove_its_name() {
        assert_eq!(no_proxy("redis://h"), None);
        for url in ["rediss://h", "redis+cluster://h:1", "rediss+cluster://h:1"] {
            let gaps: Vec<Gap> = RedisHarness::at(url).gaps();
            assert_eq!(gaps.len(), 1, "{url}");
        }
    }
}
