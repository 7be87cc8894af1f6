//! Lists by label, and lists of one session's parts. They take a bounded number of commands however many
//! sessions there are, also after a store of an older format was upgraded.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_launcher::{Launcher, Relay};
use holdover_store::ids::TenantId;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    Claim, Commit, CommitOutcome, CreateOutcome, Deletion, EventCursor, EventPage, NewPending, NewSession,
    PageCursor, PageRequest, PendingKind, PendingQuery, Retry, SessionQuery, StateStore,
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

fn call(id: &str, kind: PendingKind, deadline: Option<i64>) -> NewPending {
    NewPending {
        id: id.parse().unwrap(),
        call: "call".parse().unwrap(),
        kind,
        needed: 1,
        deadline: deadline.map(|ms| Timestamp::from_ms((1 << 50) + ms)),
        body: Payload::new("{}"),
    }
}

/// Creates a session with these open calls, and returns the claim of its run.
async fn asking(store: &RedisStore, id: &str, open: Vec<NewPending>) -> Claim {
    let claim = claimed(store, id).await;
    let saved = store.commit(&claim.fence, Commit { open, ..commit("one") }).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    claim
}

fn kind_query(kind: PendingKind, limit: u32) -> PendingQuery {
    let mut query = PendingQuery { kind: Some(kind), ..PendingQuery::all(key("s").tenant) };
    query.page.limit = std::num::NonZeroU32::new(limit);
    query
}

/// Returns session and id of the calls of a kind, in pages of `limit`.
async fn of_kind(store: &RedisStore, kind: PendingKind, limit: u32) -> Vec<String> {
    let (mut query, mut found) = (kind_query(kind, limit), Vec::new());
    loop {
        let page = store.list_pending(&query).await.unwrap();
        found.extend(page.items.iter().map(|call| format!("{} {}", call.key.id, call.id)));
        query.page.after = page.next;
        if query.page.after.is_none() {
            return found;
        }
    }
}

#[tokio::test]
async fn calls_of_a_kind_are_listed_by_deadline_until_they_are_closed_or_their_session_is_gone() {
    use PendingKind::{Approval, DeadLetter};
    for url in [redis_url(), cluster_url()] {
        let (store, namespace) = store_with_namespace(&url).await;
        let one = vec![
            call("late", DeadLetter, None),
            call("first", DeadLetter, Some(1)),
            call("approval", Approval, Some(1)),
            call("past", DeadLetter, Some(-(1 << 51))),
        ];
        let claim = asking(&store, "a", one).await;
        asking(&store, "b", vec![call("second", DeadLetter, Some(2)), call("approval", Approval, None)])
            .await;
        let letters = ["a past", "a first", "b second", "a late"];
        for limit in 1..=5 {
            assert_eq!(of_kind(&store, DeadLetter, limit).await, letters, "by {limit}");
        }
        assert_eq!(of_kind(&store, Approval, 9).await, ["a approval", "b approval"]);
        let close = ["late", "past"].map(|id| id.parse().unwrap()).to_vec();
        store.commit(&claim.fence, Commit { close, ..commit("two") }).await.unwrap();
        assert_eq!(of_kind(&store, DeadLetter, 9).await, ["a first", "b second"]);
        let whole = Rebuilt { sessions: 2, ..Rebuilt::default() };
        assert_eq!(store.rebuild_indexes().await.unwrap(), whole, "no entry is missing or left over");
        store.delete_session(&key("a"), Deletion::FORCE).await.unwrap();
        assert_eq!(of_kind(&store, DeadLetter, 9).await, ["b second"]);
        asking(&store, "a", vec![call("first", Approval, Some(1))]).await;
        assert_eq!(of_kind(&store, DeadLetter, 9).await, ["b second"]);
        assert_eq!(of_kind(&store, Approval, 9).await, ["a first", "b approval"]);
        assert_eq!(store.rebuild_indexes().await.unwrap(), whole, "no entry is missing or left over");
        for id in ["a", "b"] {
            store.delete_session(&key(id), Deletion::FORCE).await.unwrap();
        }
        if !url.contains("cluster") {
            assert_eq!(keys(&url, &namespace, "kinds:*"), Vec::<String>::new(), "nothing is left");
        }
    }
}

#[tokio::test]
async fn the_calls_of_a_session_that_cannot_be_read_leave_the_lists_by_kind_when_it_is_removed() {
    let url = redis_url();
    let (store, namespace) = store_with_namespace(&url).await;
    asking(&store, "s", vec![call("p", PendingKind::DeadLetter, Some(1))]).await;
    assert_eq!(keys(&url, &namespace, "kinds:*").len(), 1);
    cli(&url, &["HSET", &keys(&url, &namespace, "s:*")[0], "session_version", "many"]);
    store.delete_session(&key("s"), Deletion::FORCE).await.unwrap();
    assert_eq!(keys(&url, &namespace, "kinds:*"), Vec::<String>::new());
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
    for id in ["c", "d"] {
        asking(&store, id, vec![call("p", PendingKind::DeadLetter, Some(1))]).await;
    }
    let claim = claimed(&store, "own").await;
    let open = vec![call("p1", PendingKind::Approval, Some(-1)), call("p2", PendingKind::Approval, Some(-2))];
    let opened = Commit { open, events: vec![Payload::new("{}")], ..commit("one") };
    store.commit(&claim.fence, opened).await.unwrap();
    // Many more sessions of the tenant with the common label, each with an approval.
    let add = "
        for number = 1, tonumber(ARGV[1]) do
          local place = string.format('1%016.0f', number)
          redis.call('ZADD', KEYS[1], 0, place .. 'crowd' .. number)
          redis.call('ZADD', KEYS[2], 0, '5:agent1:x' .. place .. 'crowd' .. number)
          redis.call('ZADD', KEYS[3], 0, place .. '\\0crowd' .. number .. '\\0p')
          redis.call('ZADD', KEYS[4], 0, '8:approval' .. place .. '\\0crowd' .. number .. '\\0p')
        end";
    for partition in 0..4 {
        let [sessions, labels, pending, kinds] = ["sessions", "labels", "pending", "kinds"]
            .map(|index| format!("{{crowd:{partition}}}:{index}:tenant"));
        cli(&url, &["EVAL", add, "4", &sessions, &labels, &pending, &kinds, &NUMBER.to_string()]);
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

    assert_eq!(of_kind(&store, PendingKind::DeadLetter, 10).await, ["c p", "d p"]);
    check("calls of a kind", [1 + 2 * 2, 4, 2]);
    assert_eq!(of_kind(&store, PendingKind::InDoubt, 10).await, Vec::<String>::new());
    check("calls of a kind that none has", [1, 4, 0]);

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
    assert_eq!(cli(&url, &["HGET", &meta, "format"]), "4");
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

/// The cursor that programs of format 3 give after the call `p` of the session `s3` in a list of dead letters.
const CURSOR: &str = "021102ce3f06e364f764ff1f8edea4b1b7008004000000000003733300706ac15cad";

#[tokio::test]
async fn calls_of_format_3_are_listed_by_kind_and_a_walk_that_began_before_goes_on() {
    use PendingKind::{Approval, DeadLetter};
    let (url, namespace) = (redis_url(), format!("third:{}", Uuid::new_v4().simple()));
    let options = options(&url).namespace(&namespace).unwrap().partitions(4);
    let before = RedisStore::open(options.clone()).await.unwrap();
    for nth in 0..10 {
        let calls = vec![call("p", DeadLetter, Some(nth)), call("q", Approval, Some(nth))];
        asking(&before, &format!("s{nth}"), calls).await;
    }
    let meta = format!("{{{namespace}}}:meta");
    let index = keys(&url, &namespace, "kinds:*");
    assert!(!index.is_empty());
    index.iter().for_each(|index| drop(cli(&url, &["DEL", index])));
    cli(&url, &["HSET", &meta, "format", "3"]);
    cli(&url, &["HDEL", &meta, "kinds"]);

    let store = RedisStore::open(options.clone()).await.unwrap();
    assert_eq!(cli(&url, &["HGET", &meta, "format"]), "4");
    assert_eq!(cli(&url, &["HGET", &meta, "labels"]), "1", "format 3 has all of them");
    assert_eq!(cli(&url, &["HGET", &meta, "kinds"]), "");
    // A handle from before the upgrade cannot open a call that the index would miss.
    let late = before.create_session(new_session(&key("late"))).await.unwrap_err();
    assert_eq!(late.retry, Retry::Never, "{late}");
    let mut letters: Vec<_> = (0..10).map(|nth| format!("s{nth} p")).collect();
    assert_eq!(of_kind(&store, DeadLetter, 3).await, letters);
    store.delete_session(&key("s0"), Deletion::FORCE).await.unwrap();
    asking(&store, "new", vec![call("p", DeadLetter, Some(99))]).await;
    letters.remove(0);
    letters.push("new p".to_owned());
    assert_eq!(of_kind(&store, DeadLetter, 3).await, letters);
    let mut rest = kind_query(DeadLetter, 3);
    let page = store.list_pending(&rest).await.unwrap();
    assert_eq!(page.next.as_ref().map(PageCursor::as_str), Some(CURSOR), "programs of format 3 give it, too");
    rest.page.after = page.next;

    // After a rebuild, calls are found by the index.
    let rebuilt = store.rebuild_indexes().await.unwrap();
    assert_eq!(rebuilt, Rebuilt { sessions: 10, added: 9 * 2, ..Rebuilt::default() });
    assert_eq!(cli(&url, &["HGET", &meta, "kinds"]), "1");
    let store = RedisStore::open(options).await.unwrap();
    for index in keys(&url, &namespace, "pending:*") {
        cli(&url, &["DEL", &index]);
    }
    assert_eq!(of_kind(&store, DeadLetter, 3).await, letters, "along it alone");
    assert_eq!(of_kind(&store, Approval, 20).await.len(), 9);
    let page = store.list_pending(&rest).await.unwrap().items;
    let page: Vec<_> = page.iter().map(|call| format!("{} {}", call.key.id, call.id)).collect();
    assert_eq!(page, letters[3..6], "the walk that began before");
}

#[tokio::test]
async fn calls_of_an_earlier_format_are_still_listed_by_kind_after_an_accepted_loss() {
    use PendingKind::DeadLetter;
    let (url, namespace) = (redis_url(), format!("lost:{}", Uuid::new_v4().simple()));
    let options = options(&url).namespace(&namespace).unwrap().partitions(4);
    let before = RedisStore::open(options.clone()).await.unwrap();
    for nth in 0..10 {
        asking(&before, &format!("s{nth}"), vec![call("p", DeadLetter, Some(nth))]).await;
    }
    // As format 3 left it. Then the node with the parameters of the store is emptied.
    let meta = format!("{{{namespace}}}:meta");
    let index = keys(&url, &namespace, "kinds:*");
    assert!(!index.is_empty());
    index.iter().for_each(|index| drop(cli(&url, &["DEL", index])));
    cli(&url, &["DEL", &meta]);

    let refused = RedisStore::open(options.clone()).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("went back in time"), "{refused}");
    let store = RedisStore::open(options.accept_loss()).await.unwrap();
    let letters: Vec<_> = (0..10).map(|nth| format!("s{nth} p")).collect();
    assert_eq!(of_kind(&store, DeadLetter, 3).await, letters);
    for flag in ["lives", "labels", "kinds"] {
        assert_eq!(cli(&url, &["HGET", &meta, flag]), "", "{flag}");
    }
}
