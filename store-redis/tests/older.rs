//! Sessions written before tokens existed: they can be read and go on. Once this version has written them, the older
//! version can no longer read or write them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::{SystemTime, UNIX_EPOCH};

use holdover_store::ids::{InterruptId, SessionId, TenantId};
use holdover_store::time::Timestamp;
use holdover_store::{
    CommitOutcome, CreateOutcome, Deletion, Interrupt, InterruptKind, NewSession, SessionStatus, Start,
    StateStore,
};
use holdover_store_redis::{RedisOptions, RedisStore};
use support::{claim_due, claimed, cli, commit, key, new_session, options, redis_url, said, saying};
use uuid::Uuid;

/// A store with one partition on a server.
struct Left {
    url: String,
    tag: String,
    options: RedisOptions,
}

impl Left {
    fn new() -> Self {
        let (url, namespace) = (redis_url(), format!("older:{}", Uuid::new_v4().simple()));
        let options = options(&url).namespace(&namespace).unwrap().partitions(1);
        Self { url, tag: format!("{{{namespace}:0}}"), options }
    }

    async fn open(&self) -> RedisStore {
        RedisStore::open(self.options.clone()).await.unwrap()
    }

    fn cli(&self, command: &[&str]) -> String {
        cli(&self.url, command)
    }

    fn row(&self, id: &str) -> String {
        format!("{}:s:6:tenant{id}", self.tag)
    }

    /// Rewrites a session's row as a version before tokens wrote it.
    fn age(&self, id: &str) {
        let row = self.row(id);
        let version = self.cli(&["HGET", &row, "session_version"]);
        let life = self.cli(&["HGET", &row, "life"]);
        self.cli(&["HSET", &row, "version", &version, "opened", "0"]);
        if self.cli(&["HEXISTS", &row, "interrupt_reason"]) == "1" {
            let reason = self.cli(&["HGET", &row, "interrupt_reason"]);
            self.cli(&["HSET", &format!("{}:{life}:payloads", self.tag), "reason", &reason]);
        }
        self.cli(&["HDEL", &row, "session_version", "token", "lives", "interrupt_reason"]);
    }

    fn is_old(&self, id: &str) -> bool {
        let has = |field| self.cli(&["HEXISTS", &self.row(id), field]) == "1";
        assert_ne!(has("version"), has("session_version"));
        assert_ne!(has("version"), has("token"));
        has("version")
    }
}

#[tokio::test]
async fn an_old_row_is_read_and_goes_on_and_its_old_field_is_gone_with_the_first_write() {
    let left = Left::new();
    let store = left.open().await;
    let claim = claimed(&store, "s").await;
    store.commit(&claim.fence, saying("one", "first")).await.unwrap();
    let interrupt = Interrupt {
        id: InterruptId::new("i").unwrap(),
        kind: InterruptKind::Soft,
        reason: "enough".into(),
        at: Timestamp::from_ms(1),
        incarnation: None,
    };
    store.request_interrupt(&key("s"), interrupt).await.unwrap();
    let whole = store.load_session(&key("s")).await.unwrap();
    left.age("s");
    for store in [&store, &left.open().await] {
        assert_eq!(store.load_session(&key("s")).await.unwrap(), whole);
        assert!(left.is_old("s"), "reading changes nothing");
    }
    // The data that this handle holds of the session is no longer valid.
    let repeated = store.commit(&claim.fence, saying("one", "first")).await.unwrap();
    assert!(matches!(repeated, CommitOutcome::Committed(_)), "{repeated:?}");
    let saved = store.commit(&claim.fence, saying("two", "second")).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    assert!(!left.is_old("s"));
    assert_eq!(said(&left.open().await, &key("s")).await, ["first", "second"]);
}

#[tokio::test]
async fn old_rows_that_are_due_are_claimed_at_the_first_look() {
    let left = Left::new();
    let store = left.open().await;
    for number in 0..5 {
        let id = format!("s{number}");
        let start = Start::At(Timestamp::from_ms(number));
        store.create_session(NewSession { start, ..new_session(&key(&id)) }).await.unwrap();
        left.age(&id);
    }
    let claims = left.open().await.claim_due(claim_due(3)).await.unwrap();
    let ids: Vec<&str> = claims.iter().map(|claim| claim.fence.key.id.as_str()).collect();
    assert_eq!(ids, ["s0", "s1", "s2"]);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|number| left.is_old(&format!("s{number}"))),
        [false, false, false, true, true]
    );
}

#[tokio::test]
async fn what_was_deleted_before_is_not_made_again() {
    let left = Left::new();
    let store = left.open().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let bury = |kind: &str, id: &SessionId, name: &str| {
        let tenant = TenantId::new("tenant").unwrap();
        let session = format!("6:{tenant}{}:{id}", id.as_str().len());
        let grave = format!("{}:buried:{kind}:{session}{name}", left.tag);
        left.cli(&["SET", &grave, &now.as_millis().to_string(), "PX", "86400000"]);
    };
    for (id, by_operation) in [("life", false), ("operation", true)] {
        let new = new_session(&key(id));
        match by_operation {
            false => bury("i", &new.key.id, &new.incarnation.to_string()),
            true => bury("o", &new.key.id, new.operation.as_str()),
        }
        for store in [&store, &left.open().await, &store] {
            let late = store.create_session(new.clone()).await.unwrap();
            assert_eq!(late, CreateOutcome::Deleted, "{id}");
        }
        assert_eq!(store.load_session(&key(id)).await.unwrap(), None);
        // A new creation of the session succeeds, and the late one is still recognised as deleted.
        let made = store.create_session(new_session(&key(id))).await.unwrap();
        assert!(matches!(made, CreateOutcome::Created { .. }), "{made:?}");
        assert_eq!(store.create_session(new).await.unwrap(), CreateOutcome::Deleted, "{id}");
    }
}

#[tokio::test]
async fn a_deletion_by_an_older_program_is_no_loss() {
    let left = Left::new();
    let store = left.open().await;
    let claim = claimed(&store, "s").await;
    let grave = format!("{}:buried:i:6:tenant1:s{}", left.tag, claim.fence.incarnation);
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().to_string();
    left.cli(&["SET", &grave, &at, "PX", "86400000"]);
    left.cli(&["DEL", &left.row("s")]);
    let late = store.commit(&claim.fence, commit("late")).await.unwrap();
    assert!(matches!(late, CommitOutcome::StaleFence { .. }), "{late:?}");
}

#[tokio::test]
async fn what_is_left_of_a_deleted_session_lies_under_its_key() {
    let left = Left::new();
    let store = left.open().await;
    store.create_session(new_session(&key("s"))).await.unwrap();
    store.delete_session(&key("s"), Deletion::FORCE).await.unwrap();
    let fields = left.cli(&["HKEYS", &left.row("s")]);
    let mut fields: Vec<&str> = fields.lines().collect();
    fields.sort_unstable();
    assert_eq!(fields, ["lives", "token"]);
    assert_eq!(left.cli(&["ZCARD", &format!("{}:dead", left.tag)]), "1");
    let made = store.create_session(new_session(&key("s"))).await.unwrap();
    assert!(matches!(made, CreateOutcome::Created { .. }), "{made:?}");
    assert_eq!(left.cli(&["ZCARD", &format!("{}:dead", left.tag)]), "0");
    let session = store.load_session(&key("s")).await.unwrap().unwrap();
    assert_eq!(session.status, SessionStatus::Idle);
}
