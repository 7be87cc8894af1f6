//! Helpers for the tests of this crate, and the servers that they share: one of each kind, started by the first test
//! that needs it.
#![allow(dead_code, reason = "not every test needs all of it")]

pub(crate) mod work;

use std::process::Command;
use std::time::{Duration, Instant};

use holdover_launcher::shared;
use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_redis::{RedisOptions, RedisStore};
use uuid::Uuid;

/// Returns the URL of the server that all tests share: the one that `HOLDOVER_REDIS_URL` names, or one that the tests
/// start.
pub(crate) fn redis_url() -> String {
    shared::redis_url().to_owned()
}

/// Returns the URL of the cluster that all tests share: the one that `HOLDOVER_REDIS_CLUSTER_URL` names, or one that
/// the tests start.
pub(crate) fn cluster_url() -> String {
    shared::redis_cluster_url().to_owned()
}

pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// The longest time that a test waits for something.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// Waits until `so` returns true. Panics after `WAIT_MAX`.
pub(crate) fn wait_until(so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < WAIT_MAX, "it is not so after {WAIT_MAX:?}");
        std::thread::yield_now();
    }
}

/// Repeats a call until it succeeds or fails for good. Panics after `WAIT_MAX`.
pub(crate) async fn answered<T>(call: impl AsyncFn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let began = Instant::now();
    loop {
        match call().await {
            Err(error) if error.retry != Retry::Never => {
                assert!(began.elapsed() < WAIT_MAX, "after {WAIT_MAX:?}: {error}");
            }
            answer => return answer,
        }
    }
}

/// Runs a command with `redis-cli` and returns its output.
pub(crate) fn cli(url: &str, command: &[&str]) -> String {
    let output = Command::new("redis-cli").args(["-u", url]).args(command).output().expect("redis-cli");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns how often a server has received a command.
pub(crate) fn calls(url: &str, command: &str) -> u64 {
    let said = cli(url, &["INFO", "commandstats"]);
    let line = said.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:")));
    let calls = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse().ok();
    line.and_then(calls).unwrap_or(0)
}

/// Returns options for a store with a new namespace.
pub(crate) fn options(url: &str) -> RedisOptions {
    let namespace = format!("test:{}", Uuid::new_v4().simple());
    RedisOptions::from_url(url).expect("a URL").namespace(namespace).expect("a namespace")
}

/// Returns all keys in the namespace that match the pattern after the partition.
pub(crate) fn keys(url: &str, namespace: &str, pattern: &str) -> Vec<String> {
    let found = cli(url, &["--scan", "--pattern", &format!("{{{namespace}:*}}:{pattern}")]);
    found.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Opens a store in a new namespace, and returns both.
pub(crate) async fn store_with_namespace(url: &str) -> (RedisStore, String) {
    let namespace = format!("own:{}", Uuid::new_v4().simple());
    let options = options(url).namespace(&namespace).unwrap();
    (RedisStore::open(options).await.unwrap(), namespace)
}

pub(crate) fn key(id: &str) -> SessionKey {
    SessionKey::new(TenantId::new("tenant").unwrap(), SessionId::new(id).unwrap())
}

pub(crate) fn new_session(key: &SessionKey) -> NewSession {
    NewSession {
        key: key.clone(),
        incarnation: Incarnation(Uuid::new_v4()),
        operation: OperationId::new(format!("create-{}", Uuid::new_v4())).unwrap(),
        queue: QueueLabel::new("queue").unwrap(),
        labels: [("agent", "a")].into_iter().collect(),
        definition: Payload::new("definition"),
        format: StateFormat(1),
        items: vec![],
        start: Start::WithItems,
    }
}

pub(crate) fn claim_one(run: &str) -> ClaimOne {
    ClaimOne {
        run: RunId::new(run).unwrap(),
        worker: WorkerId::new("worker").unwrap(),
        lease: LEASE,
        expected_version: None,
        items: vec![],
    }
}

pub(crate) fn claim_due(runs: usize) -> ClaimDue {
    ClaimDue {
        runs: (0..runs).map(|_| RunId::new(Uuid::new_v4().to_string()).unwrap()).collect(),
        worker: WorkerId::new("worker").unwrap(),
        lease: LEASE,
        queues: Queues::All,
        newest_format: StateFormat(1),
        tenant: None,
    }
}

pub(crate) fn commit(operation: &str) -> Commit {
    Commit::new(OperationId::new(operation).unwrap())
}

pub(crate) fn saying(operation: &str, text: &str) -> Commit {
    Commit { messages: vec![NewMessage::Inline(Payload::new(text.to_owned()))], ..commit(operation) }
}

/// Creates session `id` and claims it.
pub(crate) async fn claimed(store: &RedisStore, id: &str) -> Claim {
    let start = Start::Claimed(claim_one(&format!("run of {id}")));
    let created = store.create_session(NewSession { start, ..new_session(&key(id)) }).await.unwrap();
    let CreateOutcome::Created { claim: Some(claim), .. } = created else {
        panic!("not claimed: {created:?}")
    };
    *claim
}

/// Creates session `id`, opens pending call `p` in it, and suspends it until the call is answered.
pub(crate) async fn parked(store: &RedisStore, id: &str) {
    let claim = claimed(store, id).await;
    let open = NewPending {
        id: PendingId::new("p").unwrap(),
        call: CallId::new("c").unwrap(),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: None,
        body: Payload::new("?"),
    };
    let release = Some(Release::To { status: SessionStatus::Suspended, deadline: None, wake_on: 0 });
    let parking = Commit { open: vec![open], release, ..commit("park") };
    store.commit(&claim.fence, parking).await.unwrap();
}

pub(crate) async fn said(store: &RedisStore, key: &SessionKey) -> Vec<String> {
    let all = MessageRange::new(MessageSeq(1), MessageSeq(u64::MAX));
    let messages = store.read_all_messages(key, &[all]).await.unwrap();
    messages.iter().map(|message| String::from_utf8(message.payload.bytes().to_vec()).unwrap()).collect()
}

pub(crate) fn setting(store: &RedisStore, name: &str) -> Option<String> {
    let settings = store.capabilities().settings;
    settings.into_iter().find(|(setting, _)| setting == name).map(|(_, value)| value)
}
