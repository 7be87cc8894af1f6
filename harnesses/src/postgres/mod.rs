//! The harness for the Postgres store.

mod clock;
mod place;
mod schemas;

use std::fmt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdover_conformance_tests::{ClockControl, Instance, Place, Proxy, StoreHarness, StoreInfo};
use holdover_store::{StateStore, StoreError};
use holdover_store_postgres::{PostgresOptions, PostgresStore};

use clock::RowClock;
use place::SchemaPlace;
use schemas::Admin;

/// Limits that are small enough for tests to reach them quickly, and large enough for every case.
const PAYLOAD_BYTES_MAX: usize = 9 << 20;
const COMMIT_BYTES_MAX: usize = 16 << 20;

/// The maximum number of connections of a store. Four are enough for every case.
const CONNECTIONS_MAX: u32 = 4;

/// The maximum number of peers that are open at once. A server has enough connections for all of them.
const PEERS_MAX: usize = 16;

/// A harness for the Postgres store. Each store is a schema of its own in one database; a disposed schema is
/// emptied and reused. All handles of one harness use the same table row as their clock.
pub struct PostgresHarness {
    url: String,
    admin: Arc<Admin>,
    child: Option<ChildProgram>,
    adjust: fn(PostgresOptions) -> PostgresOptions,
}

/// Builds the command of a child program that serves a store.
type ChildProgram = Arc<dyn Fn(&str) -> Command + Send + Sync>;

/// A schema in use, and the handles on it that may still be at work.
struct Schema {
    schema: String,
    /// Set once a case has asked for a program that works on the schema, to kill it.
    child: AtomicBool,
    peers: Mutex<Vec<PostgresStore>>,
}

impl PostgresHarness {
    /// Creates a harness with a clock of its own, on a database that may be changed at will.
    pub fn on(url: impl Into<String>) -> Self {
        let url = url.into();
        let admin = Arc::new(Admin::new(&url));
        Self { url, admin, child: None, adjust: |options| options }
    }

    /// Sets a function that changes the options with which the stores are opened. A second call replaces the function.
    #[must_use]
    pub fn adjust(mut self, adjust: fn(PostgresOptions) -> PostgresOptions) -> Self {
        self.adjust = adjust;
        self
    }

    /// Sets the function that builds the command of a child program, for the cases that kill a process. The function
    /// gets a text that names the store. The program must call [`serve_child`](Self::serve_child) with this text.
    #[must_use]
    pub fn child_program(mut self, program: impl Fn(&str) -> Command + Send + Sync + 'static) -> Self {
        self.child = Some(Arc::new(program));
        self
    }

    /// Opens the store that `place` names, with the options of a harness that was not [adjusted](Self::adjust), and
    /// writes until the process is killed.
    ///
    /// # Panics
    /// If `place` is not the text that the program was given, or if the store cannot be opened.
    pub async fn serve_child(place: &str) {
        let (url, schema) = place.split_once(' ').expect("a URL and a schema");
        let harness = Self::on(url);
        let store = harness.open_as(&harness.options(), schema, &child_name(schema)).await;
        holdover_conformance_tests::serve_child(store).await;
    }

    /// Checks that stores can be made at `url`: makes one, then removes it with everything else that this process
    /// made.
    ///
    /// # Errors
    /// The errors of [`PostgresOptions::from_url`], [`PostgresStore::open`] and [`remove_all`](Self::remove_all).
    pub async fn try_out(url: &str) -> Result<(), StoreError> {
        let schema = Admin::new(url).name();
        let options = PostgresOptions::from_url(url)?.schema(&schema)?.connections_max(CONNECTIONS_MAX);
        let tried = PostgresStore::open(options).await;
        if let Ok(store) = &tried {
            store.close().await;
        }
        tried?;
        Self::remove_all(url).await
    }

    /// Removes everything that the harnesses of this process have made in the database. No harness may be at work.
    ///
    /// # Errors
    /// The errors of [`PostgresOptions::from_url`]; otherwise an error of operation `remove_all`. Whatever could not be
    /// removed stays.
    pub async fn remove_all(url: &str) -> Result<(), StoreError> {
        schemas::remove_all(url).await
    }

    fn options(&self) -> PostgresOptions {
        PostgresOptions::from_url(&self.url).expect("a database")
    }

    async fn open(&self, schema: &str) -> PostgresStore {
        self.open_as(&self.options(), schema, "holdover").await
    }

    async fn open_as(&self, at: &PostgresOptions, schema: &str, application: &str) -> PostgresStore {
        let options = self.options_of(at, schema, application).test_clock(schemas::clock(schema));
        PostgresStore::open(options).await.expect("the database opens")
    }

    fn options_of(&self, at: &PostgresOptions, schema: &str, application: &str) -> PostgresOptions {
        let options = at
            .clone()
            .schema(schema)
            .expect("a name")
            .application(application)
            .connections_max(CONNECTIONS_MAX)
            .operation_timeout(std::time::Duration::from_secs(60))
            .wait_max(std::time::Duration::from_secs(60))
            .payload_bytes_max(PAYLOAD_BYTES_MAX)
            .commit_bytes_max(COMMIT_BYTES_MAX);
        (self.adjust)(options)
    }
}

/// Returns the application name of the child that works on a schema. The server lists its connections under this name.
fn child_name(schema: &str) -> String {
    format!("child {schema}")
}

impl Schema {
    /// Closes the handles that have no other clone, or all handles if `every` is set.
    async fn close(&self, every: bool) {
        let over: Vec<PostgresStore> = {
            let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
            peers.extract_if(.., |peer| every || peer.test_is_last()).collect()
        };
        for peer in over {
            peer.close().await;
        }
    }

    fn keep(&self, peer: &PostgresStore) {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner).push(peer.clone());
    }
}

#[async_trait]
impl StoreHarness for PostgresHarness {
    type Store = PostgresStore;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("holdover-store-postgres", holdover_store_postgres::VERSION)
    }

    async fn fresh(&self) -> Instance<PostgresStore> {
        let schema = match self.admin.reuse().await {
            Some(schema) => schema,
            None => {
                let schema = self.admin.name();
                self.open(&schema).await.close().await;
                self.admin.prepare(&schema).await;
                schema
            }
        };
        let store = self.open(&schema).await;
        Instance::guarded(store, Schema { schema, child: AtomicBool::new(false), peers: Mutex::default() })
    }

    /// Opens the schema again, with new connections. The server still finishes the requests that a child sent
    /// before it was killed, so this waits for them first.
    async fn peer(&self, of: &Instance<PostgresStore>) -> PostgresStore {
        let place = of.guard::<Schema>().expect("its place");
        place.close(false).await;
        if place.child.load(Ordering::Relaxed) {
            self.admin.outlast(&child_name(&place.schema)).await;
        }
        let peer = self.open(&place.schema).await;
        place.keep(&peer);
        peer
    }

    async fn reopen(&self, of: Instance<PostgresStore>) -> Instance<PostgresStore> {
        let (store, place) = of.into_parts::<Schema>();
        let place = place.expect("its place");
        place.close(true).await;
        store.close().await;
        let again = self.open(&place.schema).await;
        assert_eq!(again.capabilities(), store.capabilities(), "the same promises");
        Instance::guarded(again, place)
    }

    async fn dispose(&self, of: Instance<PostgresStore>) {
        let (store, place) = of.into_parts::<Schema>();
        let place = place.expect("its place");
        // A closed handle has no requests under way.
        place.close(true).await;
        store.close().await;
        self.admin.empty(place.schema).await;
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(RowClock(Arc::clone(&self.admin)))
    }

    fn peers_max(&self) -> usize {
        PEERS_MAX
    }

    fn child(&self, of: &Instance<PostgresStore>) -> Option<Command> {
        let place = of.guard::<Schema>().expect("its place");
        place.child.store(true, Ordering::Relaxed);
        self.child.as_ref().map(|program| program(&format!("{} {}", self.url, place.schema)))
    }

    async fn peer_through(&self, of: &Instance<PostgresStore>, proxy: &Proxy) -> Option<PostgresStore> {
        let place = of.guard::<Schema>().expect("its place");
        let direct = self.options();
        let server = direct.test_connection();
        let address = proxy.to((server.get_host(), server.get_port())).await;
        let options = self.options_of(&direct.test_address(address), &place.schema, "holdover");
        let options = options.test_clock(schemas::clock(&place.schema));
        // One connection for requests, and one for hints.
        let peer = PostgresStore::open(options.connections_max(2)).await.expect("the database opens");
        place.keep(&peer);
        Some(peer)
    }

    async fn place(&self) -> Option<Arc<dyn Place>> {
        let schema = self.admin.name();
        let options = self.options_of(&self.options(), &schema, "holdover");
        Some(Arc::new(SchemaPlace { admin: Arc::clone(&self.admin), schema, options }))
    }
}

impl fmt::Debug for PostgresHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresHarness").finish_non_exhaustive()
    }
}
