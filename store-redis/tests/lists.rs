//! Lists by label, and lists of one session's parts. They take a bounded number of commands however many
//! sessions there are, also after a store of an older format was upgraded.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_launcher::{Launcher, Relay};
use holdover_store::ids::TenantId;
use holdover_store::payload::Payload;
use holdover_store::{
    Commit, CreateOutcome, Deletion, EventCursor, EventPage, NewPending, NewSession, PageRequest,
    PendingKind, PendingQuery, Retry, SessionQuery, StateStore,
};
use holdover_store_redis::{Rebuilt, RedisStore};
use support::{
    calls, claimed, cli, cluster_url, commit, key, keys, new_session, options, redis_url,
    store_with_namespace,
};
use uuid::Uuid;

type Labels<'a> = &'a [(&'a str, &'a str)];

fn query(labels: Labels<'_>) -> SessionQuery {
    let labels = labels.iter().copied().collect();
    SessionQuery { labels, ..SessionQuery::all(TenantId::new("tenant").unwrap()) }
}

async fn listed(store: &RedisStore, labels: Labels<'_>) -> Vec<String> {
    let page = store.list_sessions(&query(labels)).await.unwrap();
    assert_eq!(page.next, None);
    let mut ids: Vec<_> = page.items.iter().map(|summary| summary.key.id.to_string()).collect();
    ids.sort();
    ids
}

async fn put(store: &RedisStore, id: &str, labels: Labels<'_>) {
    let new = NewSession { labels: labels.iter().copied().collect(), ..new_session(&key(id)) };
    let created = store.create_session(new).await.unwrap();
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
}

#[tokio::test]
async fn what_is_deleted_is_not_listed_by_its_labels_and_its_next_life_is_by_its_own() {
    for url in [redis_url(), cluster_url()] {
        let (store, namespace) = store_with_namespace(&url).await;
        for (id, user) in [("a", "kim"), ("b", "lee"), ("c", "kim")] {
            put(&store, id, &[("agent", "x"), ("user", user), ("all\0", "")]).await;
        }
        assert_eq!(listed(&store, &[("user", "kim")]).await, ["a", "c"]);
        assert_eq!(listed(&store, &[("agent", "x"), ("all\0", ""), ("user", "lee")]).await, ["b"]);
        store.delete_session(&key("a"), Deletion::FORCE).await.unwrap();
        assert_eq!(listed(&store, &[("user", "kim")]).await, ["c"]);
        put(&store, "a", &[("user", "lee")]).await;
        assert_eq!(listed(&store, &[("user", "kim")]).await, ["c"]);
        assert_eq!(listed(&store, &[("user", "lee")]).await, ["a", "b"]);
        assert_eq!(store.rebuild_indexes().await.unwrap(), Rebuilt { sessions: 3, ..Rebuilt::default() });
        for id in ["a", "b", "c"] {
            store.delete_session(&key(id), Deletion::FORCE).await.unwrap();
        }
        if !url.contains("cluster") {
            assert_eq!(keys(&url, &namespace, "labels:*"), Vec::<String>::new(), "nothing is left");
        }
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_read_leaves_the_lists_of_its_labels_when_it_is_removed() {
    let url = redis_url();
    let (store, namespace) = store_with_namespace(&url).await;
    put(&store, "s", &[("user", "kim")]).await;
    assert_eq!(keys(&url, &namespace, "labels:*").len(), 1);
    cli(&url, &["HSET", &keys(&url, &namespace, "s:*")[0], "session_version", "many"]);
    store.delete_session(&key("s"), Deletion::FORCE).await.unwrap();
    assert_eq!(keys(&url, &namespace, "labels:*"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_few_take_few_commands_however_many_sessions_there_are() {
    const NUMBER: usize = 6_000;
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let url = server.url();
    let relay = Relay::to(url.trim_start_matches("redis://")).unwrap();
    let through = options(&format!("redis://{}", relay.address())).namespace("crowd").unwrap().partitions(4);
    let store = RedisStore::open(through).await.unwrap();
    for id in ["a", "b"] {
        put(&store, id, &[("agent", "x"), ("user", "kim")]).await;
    }
    let claim = claimed(&store, "own").await;
    let call = |nth: i64| NewPending {
        id: format!("p{nth}").parse().unwrap(),
        call: "call".parse().unwrap(),
        kind: PendingKind::Approval,
        needed: 1,
        deadline: Some(holdover_store::time::Timestamp::from_ms((1 << 50) - nth)),
        body: Payload::new("{}"),
    };
    let open = vec![call(1), call(2)];
    let opened = Commit { open, events: vec![Payload::new("{}")], ..commit("one") };
    store.commit(&claim.fence, opened).await.unwrap();
    // Many more sessions of the tenant with the common label, each with a pending call.
    let add = "
        for number = 1, tonumber(ARGV[1]) do
          local place = string.format('1%016.0f', number)
          redis.call('ZADD', KEYS[1], 0, place .. 'crowd' .. number)
          redis.call('ZADD', KEYS[2], 0, '5:agent1:x' .. place .. 'crowd' .. number)
          redis.call('ZADD', KEYS[3], 0, place .. '\\0crowd' .. number .. '\\0p')
        end";
    for partition in 0..4 {
        let [sessions, labels, pending] =
            ["sessions", "labels", "pending"].map(|index| format!("{{crowd:{partition}}}:{index}:tenant"));
        cli(&url, &["EVAL", add, "3", &sessions, &labels, &pending, &NUMBER.to_string()]);
    }
    let counts = || {
        let walks = calls(&url, "zrangebylex") + calls(&url, "zrevrangebylex") + calls(&url, "zlexcount");
        [relay.exchanges(), walks, calls(&url, "hgetall")]
    };
    let mut before = counts();
    let mut check = |what: &str, most: [u64; 3]| {
        let now = counts();
        let took = [0, 1, 2].map(|at| now[at] - before[at]);
        before = counts();
        let fits = took.iter().zip(most).all(|(took, most)| *took <= most);
        assert!(fits, "{what}: {took:?} exchanges, walks and hashes, at most {most:?}");
    };
    assert_eq!(listed(&store, &[("user", "kim")]).await, ["a", "b"]);
    check("by a label", [1, 4, 2 * 2]);
    assert_eq!(listed(&store, &[("agent", "x"), ("user", "kim")]).await, ["a", "b"]);
    check("by one that all have, too", [1, 4 * 3, 2 * 2]);
    assert_eq!(listed(&store, &[("user", "lee")]).await, Vec::<String>::new());
    check("by one that none has", [1, 4, 0]);

    let of_session = PendingQuery { session: Some(key("own").id), ..PendingQuery::all(key("own").tenant) };
    let calls = store.list_pending(&of_session).await.unwrap().items;
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["p2", "p1"]);
    check("calls of a session", [3, 0, 4]);
    assert_eq!(store.list_runs(&key("own"), PageRequest::default()).await.unwrap().items.len(), 1);
    check("runs of a session", [2, 0, 2]);
    let page = store.read_events(&key("own"), &EventCursor::START, 10).await.unwrap();
    assert!(matches!(page, EventPage::Events { events, .. } if events.len() == 1));
    check("events of a session", [2, 0, 2]);
}

#[tokio::test]
async fn sessions_of_format_2_are_found_by_their_labels() {
    let (url, namespace) = (redis_url(), format!("second:{}", Uuid::new_v4().simple()));
    let options = options(&url).namespace(&namespace).unwrap().partitions(4);
    let before = RedisStore::open(options.clone()).await.unwrap();
    for nth in 0..20 {
        put(&before, &format!("s{nth:02}"), &[("agent", "x"), ("user", ["kim", "lee"][nth % 2])]).await;
    }
    let meta = format!("{{{namespace}}}:meta");
    let index = keys(&url, &namespace, "labels:*");
    assert_eq!(index.len(), 4);
    index.iter().for_each(|index| drop(cli(&url, &["DEL", index])));
    cli(&url, &["HSET", &meta, "format", "2"]);
    cli(&url, &["HDEL", &meta, "labels"]);

    let store = RedisStore::open(options.clone()).await.unwrap();
    assert_eq!(cli(&url, &["HGET", &meta, "format"]), "3");
    assert_eq!(cli(&url, &["HGET", &meta, "lives"]), "1", "format 2 has all of them");
    // A handle from before the upgrade cannot create a session that the index would miss.
    let late = before.create_session(new_session(&key("late"))).await.unwrap_err();
    assert_eq!(late.retry, Retry::Never, "{late}");
    let of_kim: Vec<_> = (0..20).step_by(2).map(|nth| format!("s{nth:02}")).collect();
    assert_eq!(listed(&store, &[("user", "kim")]).await, of_kim);
    store.delete_session(&key("s00"), Deletion::FORCE).await.unwrap();
    put(&store, "new", &[("user", "kim")]).await;
    let now: Vec<_> = ["new".to_owned()].into_iter().chain(of_kim.into_iter().skip(1)).collect();
    assert_eq!(listed(&store, &[("user", "kim")]).await, now);

    // After a rebuild, sessions are found by the index.
    let rebuilt = store.rebuild_indexes().await.unwrap();
    assert_eq!(rebuilt, Rebuilt { sessions: 20, added: 19 * 2, ..Rebuilt::default() });
    assert_eq!(cli(&url, &["HGET", &meta, "labels"]), "1");
    let store = RedisStore::open(options).await.unwrap();
    for index in keys(&url, &namespace, "sessions:*") {
        cli(&url, &["DEL", &index]);
    }
    assert_eq!(listed(&store, &[("user", "kim")]).await, now, "along it alone");
    assert_eq!(listed(&store, &[("agent", "x"), ("user", "kim")]).await, now[1..]);
}
