//! Helpers for the tests of this crate: a store in a fresh folder, a clock that tests move, and short values.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::Poll;
use std::time::Duration;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::time::{Clock, Timestamp};
use holdover_store::*;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// SQL that turns the newest schema back into schema 8.
pub(crate) const BACK_TO_8: &str = "DROP INDEX pending_kind; PRAGMA user_version = 8";

macro_rules! back_to_6 {
    () => {
        "DROP INDEX pending_kind; DROP TABLE holdover_removed; CREATE TABLE label_before (sid INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (sid, name)) \
         STRICT, WITHOUT ROWID; INSERT INTO label_before SELECT sid, name, value FROM label; DROP TABLE label; \
         ALTER TABLE label_before RENAME TO label; PRAGMA user_version = 6; "
    };
}

/// SQL that turns the newest schema back into schema 6.
pub(crate) const BACK_TO_6: &str = back_to_6!();

/// SQL that turns the newest schema back into schema 5.
pub(crate) const BACK_TO_5: &str = concat!(
    back_to_6!(),
    "DROP INDEX session_due; DROP INDEX session_turn; DROP INDEX session_due_interrupted; \
     DROP INDEX session_turn_interrupted; DROP INDEX session_life; ALTER TABLE session DROP COLUMN last_interrupt; \
     CREATE INDEX session_due ON session (queue, alarm) WHERE alarm IS NOT NULL; \
     CREATE INDEX session_due_interrupted ON session (alarm) WHERE alarm IS NOT NULL AND interrupt IS NOT NULL; \
     PRAGMA user_version = 5"
);

/// A clock that moves only when a test moves it.
#[derive(Default)]
pub(crate) struct HandClock(AtomicI64);

impl HandClock {
    pub(crate) fn to(&self, ms: i64) {
        self.0.store(ms, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}

/// A folder on a disk. `/tmp` may be in memory, where the store promises less.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("holdover.db")
    }

    pub(crate) fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.file())
    }

    pub(crate) async fn store(&self) -> SqliteStore {
        SqliteStore::open(self.options()).await.unwrap()
    }

    /// Returns a connection to the file that bypasses the store, to damage it or to inspect it.
    pub(crate) async fn raw(&self) -> SqliteConnection {
        sqlx::sqlite::SqliteConnectOptions::new().filename(self.file()).connect().await.unwrap()
    }

    pub(crate) async fn sql(&self, sql: &'static str) -> u64 {
        let mut conn = self.raw().await;
        let rows = sqlx::raw_sql(sql).execute(&mut conn).await.unwrap().rows_affected();
        conn.close().await.unwrap();
        rows
    }
}

pub(crate) fn hand_clock() -> Arc<HandClock> {
    Arc::new(HandClock::default())
}

pub(crate) fn key(id: &str) -> SessionKey {
    key_of("tenant", id)
}

pub(crate) fn key_of(tenant: &str, id: &str) -> SessionKey {
    SessionKey::new(TenantId::new(tenant).unwrap(), id.parse::<SessionId>().unwrap())
}

pub(crate) fn new_session(key: &SessionKey) -> NewSession {
    NewSession {
        key: key.clone(),
        incarnation: Incarnation(Uuid::from_u128(1)),
        operation: OperationId::new("create").unwrap(),
        queue: QueueLabel::new("queue").unwrap(),
        labels: [("agent", "a")].into_iter().collect(),
        definition: Payload::new("definition"),
        format: StateFormat(1),
        items: vec![],
        start: Start::WithItems,
    }
}

pub(crate) fn message(key: &str, text: &str) -> InboxItem {
    InboxItem {
        key: ItemKey::new(key).unwrap(),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::new(text.to_owned()),
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

pub(crate) fn claim_due(runs: &[&str]) -> ClaimDue {
    ClaimDue {
        runs: runs.iter().map(|run| RunId::new(run).unwrap()).collect(),
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

pub(crate) fn saying(operation: &str, text: impl AsRef<[u8]>) -> Commit {
    let payload = Payload::new(text.as_ref().to_vec());
    Commit { messages: vec![NewMessage::Inline(payload)], ..commit(operation) }
}

pub(crate) fn to(status: SessionStatus) -> Option<Release> {
    Some(Release::To { status, deadline: None, wake_on: 0 })
}

/// Creates session `id` and claims it.
pub(crate) async fn claimed(store: &SqliteStore, id: &str) -> Claim {
    let key = key(id);
    let created = store.create_session(new_session(&key)).await.unwrap();
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
    let outcome = store.claim_session(&key, claim_one("run-1")).await.unwrap();
    let ClaimOutcome::Claimed(claim) = outcome else { panic!("not claimed: {outcome:?}") };
    *claim
}

pub(crate) fn receipt(outcome: CommitOutcome) -> Receipt {
    let CommitOutcome::Committed(receipt) = outcome else { panic!("not committed: {outcome:?}") };
    receipt
}

pub(crate) async fn messages(store: &SqliteStore, key: &SessionKey) -> Vec<String> {
    let all = MessageRange::new(MessageSeq(1), MessageSeq(u64::MAX));
    let messages = store.read_all_messages(key, &[all]).await.unwrap();
    messages.iter().map(|m| String::from_utf8(m.payload.bytes().to_vec()).unwrap()).collect()
}

/// Makes the writes of `asked` form one group. While they are queued, the database is locked, and a renewal of `gate`
/// waits for the lock in a group of its own before them.
pub(crate) async fn in_one_group<T>(
    store: &SqliteStore,
    file: &Path,
    gate: &Claim,
    asked: impl Future<Output = T>,
) -> T {
    let mut holder = sqlx::sqlite::SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.unwrap();
    let begun = store.writer_counts().groups;
    let gate = async { store.renew_lease(&gate.fence, LEASE).await.unwrap() };
    let grouped = async {
        while store.writer_counts().groups == begun {
            tokio::task::yield_now().await;
        }
        let mut asked = std::pin::pin!(asked);
        // One poll queues all the writes at once.
        let early = std::future::poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx))).await;
        assert!(early.is_pending(), "the database is held");
        sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
        asked.await
    };
    let (_, answer) = tokio::join!(gate, grouped);
    holder.close().await.unwrap();
    answer
}

/// Counts the occurrences of `words` in the files of the folder.
pub(crate) fn times(folder: &Folder, words: &str) -> usize {
    let files = std::fs::read_dir(folder.path()).unwrap();
    let files = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    files.map(|bytes| bytes.windows(words.len()).filter(|part| *part == words.as_bytes()).count()).sum()
}

/// Makes other writes until the files no longer contain `words`; returns false if 100 writes are not enough. The
/// store empties its log after a write if no other write is queued. The next write here may be queued before the
/// store checks that, so one write is not always enough.
pub(crate) async fn is_erased(store: &SqliteStore, folder: &Folder, words: &str) -> bool {
    for nth in 0..100 {
        if times(folder, words) == 0 {
            return true;
        }
        store.create_session(new_session(&key(&format!("write-{nth}")))).await.unwrap();
    }
    false
}
