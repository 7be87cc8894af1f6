//! A store of an older format is upgraded when it is opened to write, even if processes are killed meanwhile.
//! From then on, programs of the older version are locked out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::pin::pin;
use std::time::Duration;

use futures::future::join_all;
use holdover_store::ids::{InterruptId, QueueLabel};
use holdover_store::time::Timestamp;
use holdover_store::{
    Claim, Interrupt, InterruptKind, NewSession, Retry, Start, StateStore, StoreError, StoreErrorKind,
};
use holdover_store_redis::{Rebuilt, RedisOptions, RedisStore};
use support::{claim_due, claimed, cli, key, new_session, options, redis_url, said, saying};
use uuid::Uuid;

const PARTITIONS: u16 = 4;

/// The number of due sessions. Two more are not due.
const DUE: i64 = 40;

/// A script that moves a partition's index entries back to where format 1 had them.
const LOWER: &str = "
    local tag = string.sub(KEYS[1], 1, -7)
    for _, member in ipairs(redis.call('ZRANGE', tag .. ':due', 0, -1)) do
      local cut = string.find(member, '\\0', 1, true)
      local queue, place = string.sub(member, 1, cut - 1), string.sub(member, cut + 12)
      if queue == '' then
        local names = string.find(place, '\\0', 18, true)
        local tenant, id = string.sub(place, 18, names - 1), string.sub(place, names + 1)
        queue = redis.call('HGET', tag .. ':s:' .. #tenant .. ':' .. tenant .. id, 'queue')
        redis.call('ZADD', tag .. ':interrupted', 0, place)
      end
      redis.call('ZADD', tag .. ':alarms', 0, place)
      redis.call('ZADD', tag .. ':alarms:' .. queue, 0, place)
    end
    -- What stood for nothing.
    for _, index in ipairs({ 'alarms', 'interrupted' }) do
      redis.call('ZADD', tag .. ':' .. index, 0, '10000000000000001tenant\\0ghost')
    end
    redis.call('DEL', tag .. ':due', tag .. ':turns', tag .. ':lives:tenant', tag .. ':labels:tenant',
      tag .. ':kinds:tenant')
    return redis.call('ZCARD', tag .. ':alarms')";

/// A store as format 1 left it, with a handle from before the upgrade.
struct Left {
    url: String,
    namespace: String,
    options: RedisOptions,
    before: RedisStore,
    claim: Claim,
}

impl Left {
    async fn new() -> Self {
        let (url, namespace) = (redis_url(), format!("raised:{}", Uuid::new_v4().simple()));
        let options = options(&url).namespace(&namespace).unwrap().partitions(PARTITIONS);
        let before = RedisStore::open(options.clone()).await.unwrap();
        let due = (0..DUE).map(|nth| {
            let queue = QueueLabel::new(format!("queue{}", nth % 3)).unwrap();
            let start = Start::At(Timestamp::from_ms(nth));
            before.create_session(NewSession { start, queue, ..new_session(&key(&format!("s{nth:02}"))) })
        });
        join_all(due).await.into_iter().for_each(|made| drop(made.unwrap()));
        let interrupt = Interrupt {
            id: InterruptId::new("i").unwrap(),
            kind: InterruptKind::Soft,
            reason: "enough".into(),
            at: Timestamp::from_ms(1),
            incarnation: None,
        };
        before.request_interrupt(&key("s07"), interrupt).await.unwrap();
        let claim = claimed(&before, "works").await;
        before.create_session(new_session(&key("rests"))).await.unwrap();
        let left = Self { url, namespace, options, before, claim };
        for partition in 0..PARTITIONS {
            let moved = left.cli(&["EVAL", LOWER, "1", &left.key(partition, "store")]);
            assert_ne!(moved, "0");
        }
        left.cli(&["HSET", &left.meta(), "format", "1"]);
        left
    }

    fn cli(&self, command: &[&str]) -> String {
        cli(&self.url, command)
    }

    fn meta(&self) -> String {
        format!("{{{}}}:meta", self.namespace)
    }

    fn key(&self, partition: u16, name: &str) -> String {
        format!("{{{}:{partition}}}:{name}", self.namespace)
    }

    fn fixed(&self, field: &str) -> String {
        self.cli(&["HGET", &self.meta(), field])
    }

    /// Performs the first step of the upgrade.
    fn raise(&self) {
        let (meta, before) = (self.meta(), self.fixed("incarnation"));
        let change = ["format", "4", "incarnation", "raised", "whole", "0", "raised_from", &before];
        self.cli(&[&["HSET", &meta], &change[..]].concat());
        self.cli(&["HDEL", &meta, "lives", "labels", "kinds"]);
    }

    /// Asserts that the upgrade is complete, that nothing of the old format is left, and that the old handle
    /// is refused.
    async fn assert_goes_on(&self, store: RedisStore) {
        assert_eq!([self.fixed("format"), self.fixed("whole"), self.fixed("raised_from")], ["4", "1", ""]);
        let old = format!("{{{}:*}}:", self.namespace);
        for index in ["alarms*", "interrupted"] {
            assert_eq!(self.cli(&["--scan", "--pattern", &format!("{old}{index}")]), "");
        }
        assert_eq!(["lives", "labels", "kinds"].map(|index| self.fixed(index)), ["", "", ""]);
        // Until a rebuild, a session without an alarm is not in the index by life, and no session is in the
        // index by label.
        let whole = Rebuilt { sessions: 42, added: 1 + 42, ..Rebuilt::default() };
        assert_eq!(store.rebuild_indexes().await.unwrap(), whole, "each session stands where it belongs");
        self.assert_is_out().await;

        let claims = store.claim_due(claim_due(100)).await.unwrap();
        let ids: Vec<_> = claims.iter().map(|claim| claim.fence.key.id.to_string()).collect();
        assert_eq!(ids, (0..DUE).map(|nth| format!("s{nth:02}")).collect::<Vec<_>>());
        store.commit(&self.claim.fence, saying("one", "goes on")).await.unwrap();
        assert_eq!(said(&store, &key("works")).await, ["goes on"]);
    }

    /// Asserts that the old handle is refused and changes nothing.
    async fn assert_is_out(&self) {
        for error in [
            self.before.commit(&self.claim.fence, saying("late", "late")).await.map(drop).unwrap_err(),
            self.before.claim_due(claim_due(1)).await.map(drop).unwrap_err(),
            self.before.create_session(new_session(&key("late"))).await.map(drop).unwrap_err(),
            self.before.load_session(&key("works")).await.map(drop).unwrap_err(),
        ] {
            assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
        }
        let late = self.cli(&["--scan", "--pattern", &format!("{{{}:*}}:s:6:tenantlate", self.namespace)]);
        assert_eq!(late, "");
    }
}

#[tokio::test]
async fn sessions_of_format_1_go_on() {
    let left = Left::new().await;
    let store = RedisStore::open(left.options.clone()).await.unwrap();
    left.assert_goes_on(store).await;
    // Opening with `must_exist` also upgrades the store.
    let left = Left::new().await;
    let store = RedisStore::open(left.options.clone().must_exist()).await.unwrap();
    left.assert_goes_on(store).await;
}

#[tokio::test]
async fn who_is_killed_while_it_raises_leaves_the_rest_to_the_next() {
    let mut killed = 0;
    for polls in 1.. {
        let left = Left::new().await;
        let mut open = pin!(RedisStore::open(left.options.clone()));
        let mut ready = false;
        for _ in 0..polls {
            ready = ready || futures::poll!(&mut open).is_ready();
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        if ready {
            break;
        }
        killed += usize::from(!left.fixed("raised_from").is_empty());
        // Meanwhile a read-only open is refused, unless the last request completed the upgrade after all.
        match RedisStore::open(left.options.clone().as_it_is()).await {
            Ok(_) => assert_eq!(left.fixed("whole"), "1"),
            Err(refused) => assert_not_updated(&refused),
        }
        // The first process is dead, or slow and still running: neither blocks the next one.
        let next = RedisStore::open(left.options.clone()).await.unwrap();
        left.assert_goes_on(next).await;
    }
    assert!(killed > 2, "{killed} were killed in the midst of it");
}

fn assert_not_updated(error: &StoreError) {
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
    assert!(error.to_string().contains("has to be updated to format 4"), "{error}");
}

#[tokio::test]
async fn each_step_of_raising_may_be_the_last_of_a_process() {
    // The upgrade has begun, and this many partitions carry the new mark.
    for marked in 0..=PARTITIONS {
        let left = Left::new().await;
        left.raise();
        for partition in 0..marked {
            left.cli(&["SET", &left.key(partition, "store"), "raised"]);
        }
        let store = RedisStore::open(left.options.clone()).await.unwrap();
        assert_eq!(left.fixed("incarnation"), "raised", "it is raised once");
        left.assert_goes_on(store).await;
    }
    // All entries are moved, but the store is not yet marked as upgraded.
    let left = Left::new().await;
    drop(RedisStore::open(left.options.clone()).await.unwrap());
    left.cli(&["HSET", &left.meta(), "whole", "0", "raised_from", "before"]);
    let store = RedisStore::open(left.options.clone()).await.unwrap();
    left.assert_goes_on(store).await;
}

#[tokio::test]
async fn sixteen_handles_raise_one_store() {
    let left = Left::new().await;
    let opened = join_all((0..16).map(|_| RedisStore::open(left.options.clone()))).await;
    let mut stores: Vec<_> = opened.into_iter().map(Result::unwrap).collect();
    for store in &stores {
        assert!(store.load_session(&key("works")).await.unwrap().is_some());
    }
    left.assert_goes_on(stores.remove(0)).await;
}

#[tokio::test]
async fn who_only_looks_raises_nothing() {
    let left = Left::new().await;
    assert_not_updated(&RedisStore::open(left.options.clone().as_it_is()).await.err().unwrap());
    assert_eq!([left.fixed("format"), left.fixed("whole")], ["1", "1"]);
    left.before.commit(&left.claim.fence, saying("one", "goes on")).await.unwrap();
}

#[tokio::test]
async fn a_loss_before_or_while_it_is_raised_is_noticed() {
    for raised in [false, true] {
        let left = Left::new().await;
        if raised {
            left.raise();
        }
        left.cli(&["DEL", &left.key(2, "store")]);
        for _ in 0..2 {
            let error = RedisStore::open(left.options.clone()).await.err().unwrap();
            assert!(error.to_string().contains("the store went back in time"), "{error}");
        }
        assert_eq!(left.fixed("format"), if raised { "4" } else { "1" });
        // Only the mark is lost here.
        let store = RedisStore::open(left.options.clone().accept_loss()).await.unwrap();
        left.assert_goes_on(store).await;
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_moved_too_and_holds_up_nobody() {
    let left = Left::new().await;
    let row = |id: &str| {
        let found = left.cli(&["--scan", "--pattern", &format!("{{{}:*}}:s:6:tenant{id}", left.namespace)]);
        assert_ne!(found, "", "{id}");
        found
    };
    left.cli(&["HSET", &row("s03"), "session_version", "many"]);
    left.cli(&["HDEL", &row("s04"), "queue"]);
    let no_hash = row("s05");
    left.cli(&["DEL", &no_hash]);
    left.cli(&["SET", &no_hash, "text"]);
    let store = RedisStore::open(left.options.clone()).await.unwrap();
    let rebuilt = store.rebuild_indexes().await.unwrap();
    // The old index entry of a session cannot be found without its queue.
    assert_eq!((rebuilt.unreadable, rebuilt.added), (3, 1 + 39), "{rebuilt:?}");
    let again = store.rebuild_indexes().await.unwrap();
    assert_eq!((again.unreadable, again.added, again.removed), (3, 0, 0), "{again:?}");
    let claims = store.claim_due(claim_due(100)).await.unwrap();
    assert_eq!(claims.len(), usize::try_from(DUE).unwrap() - 3);
    // The session is claimed once it can be read.
    left.cli(&["HSET", &row("s03"), "session_version", "1"]);
    let claims = store.claim_due(claim_due(1)).await.unwrap();
    assert_eq!(claims.iter().map(|claim| claim.fence.key.id.as_str()).collect::<Vec<_>>(), ["s03"]);
}

#[tokio::test]
async fn a_handle_that_a_newer_version_shut_out_says_so() {
    let left = Left::new().await;
    let store = RedisStore::open(left.options.clone()).await.unwrap();
    left.cli(&["HSET", &left.meta(), "format", "5", "incarnation", "newer", "whole", "0"]);
    for partition in 0..PARTITIONS {
        left.cli(&["SET", &left.key(partition, "store"), "newer"]);
    }
    for error in [
        store.commit(&left.claim.fence, saying("late", "late")).await.map(drop).unwrap_err(),
        store.claim_due(claim_due(1)).await.map(drop).unwrap_err(),
        store.load_session(&key("works")).await.map(drop).unwrap_err(),
    ] {
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Newer, Retry::Never), "{error}");
        assert!(error.to_string().contains("format 5"), "{error}");
    }
}
