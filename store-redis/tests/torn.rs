//! Sessions that are partly unreadable: some operations are refused, and no other session is delayed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU32;

use holdover_store::ids::{ItemKey, TenantId};
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    CheckpointQuery, ClaimOne, Commit, CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, InboxItem,
    ItemKind, Labels, NewSession, NewState, Release, Remove, RetentionRule, SessionQuery, SessionStatus,
    Start, StateStore, StoreErrorKind, Wake,
};
use holdover_store_redis::{Rebuilt, RedisStore};
use support::{
    claim_due, claim_one, claimed, cli, commit, key, keys, new_session, parked, redis_url, saying,
    store_with_namespace,
};

/// A store with keys that the test damages directly.
struct Torn {
    store: RedisStore,
    url: String,
    namespace: String,
}

impl Torn {
    async fn new() -> Self {
        let url = redis_url();
        let (store, namespace) = store_with_namespace(&url).await;
        Self { store, url, namespace }
    }

    fn cli(&self, command: &[&str]) -> String {
        cli(&self.url, command)
    }

    fn row(&self, id: &str) -> String {
        keys(&self.url, &self.namespace, &format!("s:6:tenant{id}")).remove(0)
    }

    /// Returns a key that belongs to the present incarnation of a session.
    fn own(&self, id: &str, name: &str) -> String {
        let row = self.row(id);
        let life = self.cli(&["HGET", &row, "life"]);
        format!("{}:{life}:{name}", row.split(":s:").next().unwrap())
    }

    /// Replaces a key by one of another type. The original is kept under its name with `:whole` appended.
    fn tear(&self, key: &str) {
        if self.cli(&["EXISTS", key]) == "1" {
            self.cli(&["RENAME", key, &format!("{key}:whole")]);
        }
        self.cli(&["SET", key, "of another type"]);
    }

    fn mend(&self, key: &str) {
        self.cli(&["DEL", key]);
        if self.cli(&["EXISTS", &format!("{key}:whole")]) == "1" {
            self.cli(&["RENAME", &format!("{key}:whole"), key]);
        }
    }
}

fn due_at(id: &str, ms: i64) -> NewSession {
    NewSession { start: Start::At(Timestamp::from_ms(ms)), ..new_session(&key(id)) }
}

#[tokio::test]
async fn a_session_of_which_a_claim_cannot_be_read_is_not_claimed() {
    let torn = Torn::new().await;
    parked(&torn.store, "s").await;
    let item = InboxItem {
        key: ItemKey::new("item").unwrap(),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::new("item"),
    };
    let (row, inbox) = (torn.row("s"), torn.own("s", "inbox"));
    let all = || [torn.cli(&["HGETALL", &row]), torn.cli(&["HGETALL", &inbox])];
    let before = all();
    for name in ["labels", "payloads", "staged", "starts", "open", "pending"] {
        let own = torn.own("s", name);
        torn.tear(&own);
        for items in [vec![], vec![item.clone()]] {
            let claim = ClaimOne { items, ..claim_one(&format!("run of {name}")) };
            let error = torn.store.claim_session(&key("s"), claim).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Corrupt, "{name}: {error}");
            assert_eq!(all(), before, "{name}: nothing is claimed");
        }
        torn.mend(&own);
    }
    torn.cli(&["HSET", &torn.own("s", "pending"), "fp", "torn"]);
    let error = torn.store.claim_session(&key("s"), claim_one("run of facts")).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
    assert_eq!(all(), before);
}

#[tokio::test]
async fn a_session_that_is_due_and_cannot_be_claimed_costs_no_run() {
    let torn = Torn::new().await;
    let names = ["runs", "labels"];
    for (ms, name) in (1..).zip(names) {
        torn.store.create_session(due_at(name, ms)).await.unwrap();
        torn.tear(&torn.own(name, name));
    }
    torn.store.create_session(due_at("sound", 9)).await.unwrap();
    let epochs = || names.map(|name| torn.cli(&["HGET", &torn.row(name), "epoch"]));
    let before = epochs();
    let claims = torn.store.claim_due(claim_due(1)).await.unwrap();
    let due: Vec<_> = claims.iter().map(|claim| claim.fence.key.clone()).collect();
    assert_eq!(due, [key("sound")]);
    assert_eq!(epochs(), before, "none of the others is claimed");
}

#[tokio::test]
async fn a_list_a_rebuild_and_a_purge_leave_out_what_they_cannot_read() {
    let torn = Torn::new().await;
    let store = &torn.store;
    for id in ["labels", "open", "checkpoints", "sound"] {
        let claim = claimed(store, id).await;
        for (number, release) in [None, Some(SessionStatus::Idle)].into_iter().enumerate() {
            let state = Some(NewState { format: claim.session.format, payload: Payload::new("state") });
            let release = release.map(|status| Release::To { status, deadline: None, wake_on: 0 });
            let saved = Commit { state, checkpoint: true, release, ..commit(&number.to_string()) };
            store.commit(&claim.fence, saved).await.unwrap();
        }
    }
    let tear = |name: &str| torn.tear(&torn.own(name, name));

    tear("labels");
    let tenant = TenantId::new("tenant").unwrap();
    let labels: Labels = [("agent", "a")].into_iter().collect();
    for query in [SessionQuery::all(tenant.clone()), SessionQuery { labels, ..SessionQuery::all(tenant) }] {
        let listed = store.list_sessions(&query).await.unwrap().items;
        let mut listed: Vec<String> = listed.iter().map(|session| session.key.id.to_string()).collect();
        listed.sort();
        assert_eq!(listed, ["checkpoints", "open", "sound"]);
    }

    tear("open");
    let rebuilt = store.rebuild_indexes().await.unwrap();
    // The index entries of the first session's labels and of the second session's calls cannot be determined.
    assert_eq!(rebuilt, Rebuilt { sessions: 4, unreadable: 2, ..Rebuilt::default() });

    tear("checkpoints");
    let rule = RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Checkpoints { keep: NonZeroU32::MIN },
        limit: NonZeroU32::new(100).unwrap(),
        after: None,
    };
    assert_eq!(store.purge(&rule).await.unwrap().checkpoints, 3, "of all but one");
    let left = store.list_checkpoints(&CheckpointQuery::all(key("sound"))).await.unwrap().items;
    assert_eq!(left.len(), 1);
}

#[tokio::test]
async fn what_a_run_may_hold_is_deleted_only_by_force() {
    let torn = Torn::new().await;
    let claim = claimed(&torn.store, "s").await;
    let row = torn.row("s");
    torn.cli(&["HSET", &row, "status", "asleep"]);
    let error = torn.store.delete_session(&key("s"), Deletion::UNLESS_ACTIVE).await.unwrap_err();
    assert_eq!(
        (error.kind, error.key.as_deref()),
        (StoreErrorKind::Corrupt, Some(&claim.fence.key)),
        "{error}"
    );
    torn.cli(&["HSET", &row, "status", "active"]);
    let kept = torn.store.commit(&claim.fence, saying("one", "said")).await.unwrap();
    assert!(matches!(kept, CommitOutcome::Committed(_)), "{kept:?}");
}

#[tokio::test]
async fn what_is_known_of_a_torn_session_is_remembered_after_it_is_deleted() {
    let torn = Torn::new().await;
    let delete = async |id: &str, field: &str| {
        torn.cli(&["HDEL", &torn.row(id), field]);
        let deleted = torn.store.delete_session(&key(id), Deletion::FORCE).await.unwrap();
        assert_eq!(deleted, DeleteOutcome::Deleted);
    };
    // The incarnation is known, so the run gets `StaleFence`, not the error that the store went back in time.
    let claim = claimed(&torn.store, "run").await;
    delete("run", "created_by").await;
    let late = torn.store.commit(&claim.fence, saying("late", "late")).await.unwrap();
    assert!(matches!(late, CommitOutcome::StaleFence { .. }), "{late:?}");
    // The operation of its creation is known, so the creation is not repeated.
    let new = new_session(&key("made"));
    torn.store.create_session(new.clone()).await.unwrap();
    delete("made", "incarnation").await;
    let again = torn.store.create_session(new).await.unwrap();
    assert!(matches!(again, CreateOutcome::Deleted), "{again:?}");
}
