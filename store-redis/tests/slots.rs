//! A cluster slot that moves to another node while sessions are written.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use holdover_launcher::Launcher;
use holdover_store::ids::ItemKey;
use holdover_store::payload::Payload;
use holdover_store::{Commit, CommitOutcome, InboxItem, ItemKind, Retry, StateStore, StoreErrorKind, Wake};
use holdover_store_redis::RedisStore;
use support::{claimed, cli, key, new_session, options, said, saying};

/// Returns the index of the node that serves a slot, and the ids of all nodes in order.
fn owner(urls: &[String], slot: &str) -> (usize, Vec<String>) {
    let ids: Vec<String> = urls.iter().map(|url| cli(url, &["CLUSTER", "MYID"])).collect();
    let slot: u32 = slot.parse().unwrap();
    let lines = cli(&urls[0], &["CLUSTER", "NODES"]);
    let serves = |line: &&str| {
        line.split(' ').skip(8).any(|range| {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            from.parse::<u32>().is_ok_and(|from| from <= slot) && to.parse::<u32>().is_ok_and(|to| slot <= to)
        })
    };
    let line = lines.lines().find(serves).unwrap();
    (ids.iter().position(|id| line.starts_with(id.as_str())).unwrap(), ids)
}

#[tokio::test]
async fn a_write_to_a_slot_that_moves_changes_nothing_until_it_has_arrived() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    let urls: Vec<String> = cluster.nodes().iter().map(|node| node.url()).collect();
    // One partition, so the slot is known.
    let options = options(&cluster.url()).namespace("moves").unwrap().partitions(1);
    let store = RedisStore::open(options.operation_timeout(Duration::from_secs(2))).await.unwrap();
    let claim = claimed(&store, "s").await;
    store.commit(&claim.fence, saying("one", "before")).await.unwrap();

    // All keys that a commit reads exist, so only keys that it would create can be missing.
    for wake in [Wake::Now, Wake::Count] {
        let item = InboxItem {
            key: ItemKey::new(format!("{wake:?}")).unwrap(),
            kind: ItemKind::Message { wake },
            incarnation: None,
            payload: Payload::new("item"),
        };
        assert!(store.deliver(&claim.fence.key, item).await.unwrap().is_in());
    }

    let slot = cli(&urls[0], &["CLUSTER", "KEYSLOT", "{moves:0}:store"]);
    let (from, ids) = owner(&urls, &slot);
    let to = (from + 1) % urls.len();
    cli(&urls[to], &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &ids[from]]);
    cli(&urls[from], &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &ids[to]]);
    let life = cli(&urls[from], &["HGET", "{moves:0}:s:6:tenants", "life"]);
    let messages = format!("{{moves:0}}:{life}:messages");
    let row = || ["{moves:0}:s:6:tenants", messages.as_str()].map(|key| cli(&urls[from], &["HGETALL", key]));
    let (before, keys_before) = (row(), cli(&urls[from], &["CLUSTER", "GETKEYSINSLOT", &slot, "1000"]));
    assert!(before[0].contains("version") && before[1].contains("before"), "{before:?}");
    // The commit would create the key of the events. While the slot moves, a key that is missing here may
    // exist on the other node.
    let with_event = Commit { events: vec![Payload::new("event")], ..saying("two", "after") };
    let error = store.commit(&claim.fence, with_event.clone()).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    assert!(error.to_string().contains("non local key"), "{error}");
    let keys_after = cli(&urls[from], &["CLUSTER", "GETKEYSINSLOT", &slot, "1000"]);
    assert_eq!((row(), keys_after), (before, keys_before), "no half of the commit");
    let error = store.create_session(new_session(&key("t"))).await.unwrap_err();
    assert_eq!(error.retry, Retry::Later, "{error}");

    // Half of the keys have moved: the commit can run on neither node.
    let port = urls[to].rsplit_once(':').unwrap().1.to_owned();
    let keys = cli(&urls[from], &["CLUSTER", "GETKEYSINSLOT", &slot, "1000"]);
    let keys: Vec<&str> = keys.lines().collect();
    let (first, rest) = keys.split_at(keys.len() / 2);
    let migrate = |keys: &[&str]| {
        for key in keys {
            cli(&urls[from], &["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
        }
    };
    migrate(first);
    let error = store.commit(&claim.fence, with_event.clone()).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");

    migrate(rest);
    for node in [to, from] {
        cli(&urls[node], &["CLUSTER", "SETSLOT", &slot, "NODE", &ids[to]]);
    }
    let outcome = store.commit(&claim.fence, with_event).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    assert_eq!(said(&store, &claim.fence.key).await, ["before", "after"]);
}
