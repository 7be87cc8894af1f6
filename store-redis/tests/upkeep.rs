//! Lost indexes are rebuilt, corrupt records are named, and numbers too large for scripts are refused.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU32;

use futures::future::join_all;
use holdover_launcher::Launcher;
use holdover_store::ids::{InboxSeq, MessageSeq, QueueLabel, StateFormat, TenantId};
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    ClaimDue, Commit, DeleteOutcome, Deletion, EventCursor, EventPage, EventPlace, MessageRange, NewSession,
    PendingQuery, Queues, Release, Remove, RetentionRule, Retry, SessionQuery, SessionStatus, Start,
    StateStore, StoreErrorKind,
};
use holdover_store_redis::{Rebuilt, RedisStore};
use support::{
    claim_due, claimed, cli, commit, key, keys, new_session, options, parked, redis_url, saying,
    store_with_namespace, wait_until,
};

#[tokio::test]
async fn indexes_that_were_lost_are_made_anew() {
    let url = redis_url();
    let (store, namespace) = store_with_namespace(&url).await;
    let tenant = TenantId::new("tenant").unwrap();
    for number in 0..40 {
        let due = NewSession {
            start: Start::At(Timestamp::from_ms(number)),
            ..new_session(&key(&format!("due{number}")))
        };
        store.create_session(due).await.unwrap();
    }
    parked(&store, "parked").await;
    let sessions = store.list_sessions(&SessionQuery::all(tenant.clone())).await.unwrap();
    let pending = store.list_pending(&PendingQuery::all(tenant.clone())).await.unwrap();
    assert_eq!((sessions.items.len(), pending.items.len()), (41, 1));

    let mut lost = Vec::new();
    for pattern in ["due", "turns", "sessions:*", "pending:*", "kinds:*", "resting"] {
        lost.extend(keys(&url, &namespace, pattern));
    }
    for index in &lost {
        cli(&url, &["DEL", index]);
    }
    // Adds an index entry without a session.
    let stale = lost.iter().find(|index| index.ends_with(":due")).unwrap();
    cli(&url, &["ZADD", stale, "0", "queue nobody"]);
    assert_eq!(store.list_sessions(&SessionQuery::all(tenant.clone())).await.unwrap().items, []);

    cli(&url, &["DEL", stale]);
    let rebuilt = store.rebuild_indexes().await.unwrap();
    // Each due session gets its entries in the list, by alarm and by tenant. The parked session gets its
    // entry in the list and the two entries of its pending call.
    assert_eq!(rebuilt, Rebuilt { sessions: 41, added: 40 * 3 + 3, ..Rebuilt::default() });
    assert_eq!(store.list_sessions(&SessionQuery::all(tenant.clone())).await.unwrap(), sessions);
    assert_eq!(store.list_pending(&PendingQuery::all(tenant)).await.unwrap(), pending);
    let claims = store.claim_due(claim_due(100)).await.unwrap();
    let names: Vec<_> = claims.iter().map(|claim| claim.fence.key.id.to_string()).collect();
    let expected: Vec<_> = (0..40).map(|number| format!("due{number}")).collect();
    assert_eq!(names, expected, "all of them, soonest alarm first over all 64 partitions");
    let again = store.rebuild_indexes().await.unwrap();
    assert_eq!(again, Rebuilt { sessions: 41, ..Rebuilt::default() });
}

#[tokio::test]
async fn what_is_due_is_found_behind_many_alarms_that_this_worker_may_not_claim() {
    const NEWER: usize = 5_000;
    const GHOSTS: usize = 15_000;
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let store =
        RedisStore::open(options(&server.url()).namespace("due").unwrap().partitions(1)).await.unwrap();
    let due = |id: &str, at: i64, format: u32| NewSession {
        start: Start::At(Timestamp::from_ms(at)),
        format: StateFormat(format),
        ..new_session(&key(id))
    };
    let numbers: Vec<usize> = (0..NEWER).collect();
    for numbers in numbers.chunks(100) {
        let newer = numbers.iter().map(|number| store.create_session(due(&format!("newer{number}"), 1, 2)));
        join_all(newer).await.into_iter().for_each(|made| drop(made.unwrap()));
    }
    // Adds index entries without sessions, which the walk must also pass.
    let add = format!(
        "for number = 1, {GHOSTS} do
           local head, at = 'queue\\0' .. '0000000001\\0', string.format('1%016.0f', 1)
           redis.call('ZADD', KEYS[1], 0, head .. at .. 'tenant\\0ghost' .. number)
           redis.call('ZADD', KEYS[2], 0, head .. 'tenant\\0' .. at .. 'ghost' .. number)
         end"
    );
    cli(&server.url(), &["EVAL", &add, "2", "{due:0}:due", "{due:0}:turns"]);
    store.create_session(due("one", 2, 1)).await.unwrap();
    store.create_session(due("two", 3, 1)).await.unwrap();
    for queues in [Queues::All, Queues::Named(vec![QueueLabel::new("queue").unwrap()])] {
        let claims = store.claim_due(ClaimDue { queues, ..claim_due(1) }).await.unwrap();
        assert_eq!(claims.len(), 1, "of those that are left");
    }
    assert_eq!(store.claim_due(claim_due(1)).await.unwrap(), [], "and then none");
}

#[tokio::test]
async fn an_entry_that_stands_for_nothing_is_taken_out() {
    let url = redis_url();
    let (store, namespace) = store_with_namespace(&url).await;
    store
        .create_session(NewSession { start: Start::At(Timestamp::from_ms(1)), ..new_session(&key("s")) })
        .await
        .unwrap();
    for index in ["due", "turns"].iter().flat_map(|index| keys(&url, &namespace, index)) {
        let entry = cli(&url, &["--no-raw", "ZRANGE", &index, "0", "-1"]);
        assert!(entry.contains("tenant"), "{entry}");
    }
    for row in keys(&url, &namespace, "s:*") {
        cli(&url, &["DEL", &row]);
    }
    assert_eq!(store.claim_due(claim_due(1)).await.unwrap(), []);
    let rebuilt = store.rebuild_indexes().await.unwrap();
    assert_eq!(rebuilt, Rebuilt { removed: 5, ..Rebuilt::default() });
}

#[tokio::test]
async fn a_rebuild_counts_the_sessions_that_it_skips() {
    let url = redis_url();
    let (store, namespace) = store_with_namespace(&url).await;
    store.create_session(new_session(&key("s"))).await.unwrap();
    let row = keys(&url, &namespace, "s:*").remove(0);
    // Copies the row to another partition, and gives the copy another token. The rebuild reads the token of the copy,
    // but the session has its own, as if others wrote it between every read and the write that follows.
    let (tag, names) = row.split_once(":s:").unwrap();
    let partition = if tag.ends_with(":0}") { 1 } else { 0 };
    let copy = format!("{{{namespace}:{partition}}}:s:{names}");
    assert_eq!(cli(&url, &["COPY", &row, &copy]), "1");
    cli(&url, &["HSET", &copy, "token", "0000000000000001"]);
    let rebuilt = store.rebuild_indexes().await.unwrap();
    assert_eq!(rebuilt, Rebuilt { sessions: 2, skipped: 1, ..Rebuilt::default() });
    cli(&url, &["DEL", &copy]);
    assert_eq!(store.rebuild_indexes().await.unwrap(), Rebuilt { sessions: 1, ..Rebuilt::default() });
}

#[tokio::test]
async fn what_is_corrupt_is_named_and_nothing_is_written() {
    let url = redis_url();
    let (store, namespace) = store_with_namespace(&url).await;
    let claim = claimed(&store, "s").await;
    let row = keys(&url, &namespace, "s:*").remove(0);
    let version = cli(&url, &["HGET", &row, "session_version"]);

    // A key of another type, which the commit would meet only after its first write.
    let runs = keys(&url, &namespace, "*:runs").remove(0);
    let events = runs.replace(":runs", ":events");
    cli(&url, &["SET", &events, "no hash"]);
    let both = Commit { events: vec![Payload::new("event")], ..saying("one", "said") };
    let error = store.commit(&claim.fence, both.clone()).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
    assert_eq!(cli(&url, &["HGET", &row, "session_version"]), version);
    assert_eq!(keys(&url, &namespace, "*:messages"), Vec::<String>::new(), "no half of the commit");
    cli(&url, &["DEL", &events]);
    store.commit(&claim.fence, both).await.unwrap();

    for (field, value) in
        [("session_version", "many"), ("status", "asleep"), ("lease_ends", "x"), ("epoch", "1e99")]
    {
        let whole = cli(&url, &["HGET", &row, field]);
        cli(&url, &["HSET", &row, field, value]);
        let error = store.load_session(&claim.fence.key).await.unwrap_err();
        assert_eq!(
            (error.kind, error.key.as_deref()),
            (StoreErrorKind::Corrupt, Some(&claim.fence.key)),
            "{error}"
        );
        cli(&url, &["HSET", &row, field, &whole]);
    }
    cli(&url, &["HDEL", &row, "queue"]);
    let error = store.load_session(&claim.fence.key).await.unwrap_err();
    assert!(error.to_string().contains("queue: it is missing"), "{error}");
}

#[tokio::test]
async fn what_is_corrupt_holds_up_nobody_and_can_be_deleted() {
    let url = redis_url();
    let (store, namespace) = store_with_namespace(&url).await;
    let tenant = TenantId::new("tenant").unwrap();
    let row = |id: &str| keys(&url, &namespace, &format!("s:6:tenant{id}")).remove(0);
    // Each session is damaged in another way; the last row is not a hash at all.
    let torn = ["session_version", "incarnation", "life", "queue", "created_at", "status", "facts", "type"];
    for id in torn.iter().chain(&["good"]) {
        parked(&store, id).await;
    }
    for field in &torn[..6] {
        cli(&url, &["HSET", &row(field), field, if *field == "incarnation" { "no id" } else { "many" }]);
    }
    cli(&url, &["HDEL", &row("queue"), "queue"]);
    let life = cli(&url, &["HGET", &row("facts"), "life"]);
    let tag = row("facts").split(":s:").next().unwrap().to_owned();
    cli(&url, &["HSET", &format!("{tag}:{life}:pending"), "fp", "torn"]);
    let is_no_hash = row("type");
    cli(&url, &["DEL", &is_no_hash]);
    cli(&url, &["SET", &is_no_hash, "text"]);

    for id in ["rests", "goes"] {
        store.create_session(new_session(&key(id))).await.unwrap();
    }
    cli(&url, &["HSET", &row("rests"), "epoch", "x"]);
    let rule = RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Sessions,
        limit: NonZeroU32::new(100).unwrap(),
        after: None,
    };
    assert_eq!(store.purge(&rule).await.unwrap().sessions, 1);
    let listed = async || {
        let sessions = store.list_sessions(&SessionQuery::all(tenant.clone())).await.unwrap().items;
        let pending = store.list_pending(&PendingQuery::all(tenant.clone())).await.unwrap().items;
        let sessions: Vec<String> = sessions.iter().map(|it| it.key.id.to_string()).collect();
        (sessions, pending.iter().map(|it| it.key.id.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(listed().await, (vec!["good".to_owned(), "facts".to_owned()], vec!["good".to_owned()]));
    let rebuilt = store.rebuild_indexes().await.unwrap();
    let left = Rebuilt { sessions: 10, unreadable: 9, ..Rebuilt::default() };
    assert_eq!(rebuilt, left, "nothing is taken for stale");

    for id in torn.into_iter().chain(["rests"]) {
        let deleted = store.delete_session(&key(id), Deletion::FORCE).await.unwrap();
        assert_eq!(deleted, DeleteOutcome::Deleted, "{id}");
        assert_eq!(store.load_session(&key(id)).await.unwrap(), None, "{id}");
        claimed(&store, id).await;
    }
    store.rebuild_indexes().await.unwrap();
    assert_eq!(store.rebuild_indexes().await.unwrap(), Rebuilt { sessions: 10, ..Rebuilt::default() });
}

#[tokio::test]
async fn numbers_beyond_what_a_script_counts_are_after_everything_or_refused() {
    let (store, _) = store_with_namespace(&redis_url()).await;
    let claim = claimed(&store, "s").await;
    let key = &claim.fence.key;
    store.commit(&claim.fence, saying("one", "said")).await.unwrap();
    let (last, most) = ((1 << 53) - 1, u64::MAX);
    for from in [last, last + 1, most - 1, most] {
        let range = MessageRange::new(MessageSeq(from), MessageSeq(most));
        assert!(store.read_messages(key, &[range]).await.unwrap().messages.is_empty(), "{from}");
        assert!(store.read_inbox(key, InboxSeq(from), 1).await.unwrap().items.is_empty(), "{from}");
        let place = EventPlace { after: holdover_store::ids::EventSeq(from), within: None };
        let cursor = EventCursor::at(claim.fence.incarnation, place);
        let page = store.read_events(key, &cursor, 1).await.unwrap();
        assert!(matches!(page, EventPage::Events { events, .. } if events.is_empty()), "{from}");
    }
    let fence = holdover_store::ids::Fence { epoch: holdover_store::ids::Epoch(most), ..claim.fence.clone() };
    let stale = store.commit(&fence, commit("stale")).await.unwrap();
    assert!(format!("{stale:?}").starts_with("StaleFence"), "{stale:?}");

    let never = Timestamp::from_ms(i64::MAX);
    let start = Start::At(never);
    let error =
        store.create_session(NewSession { start, ..new_session(&support::key("t")) }).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::InvalidArgument, "{error}");
    let release = Some(Release::To { status: SessionStatus::Suspended, deadline: Some(never), wake_on: 0 });
    let parked = Commit { release, ..commit("parked") };
    let error = store.commit(&claim.fence, parked).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::InvalidArgument, "{error}");
}

#[tokio::test]
async fn lists_are_in_one_order_over_all_partitions() {
    let (store, _) = store_with_namespace(&redis_url()).await;
    join_all((0..150).map(|number| store.create_session(new_session(&key(&format!("s{number}")))))).await;
    let mut query = SessionQuery::all(TenantId::new("tenant").unwrap());
    query.page.limit = std::num::NonZeroU32::new(7);
    let mut walked = Vec::new();
    loop {
        let page = store.list_sessions(&query).await.unwrap();
        walked.extend(page.items.into_iter().map(|session| (session.created_at, session.key.id)));
        query.page.after = page.next;
        if query.page.after.is_none() {
            break;
        }
    }
    let mut sorted = walked.clone();
    sorted.sort_by(|a, b| b.cmp(a));
    assert_eq!((walked.len(), &walked), (150, &sorted));
}

#[tokio::test]
async fn a_server_without_memory_refuses_what_it_cannot_keep_and_lets_go_of_what_is_deleted() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[("maxmemory", "24mb")]).unwrap();
    let store = RedisStore::open(options(&server.url())).await.unwrap();
    let claim = claimed(&store, "s").await;
    let text = "x".repeat(1 << 20);
    let mut acknowledged = 0;
    let error = loop {
        let operation = format!("commit-{acknowledged}");
        match store.commit(&claim.fence, saying(&operation, &text)).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Full, Retry::Later), "{error}");
    let there = store.load_session(&claim.fence.key).await.unwrap().unwrap();
    assert_eq!(there.last_message, MessageSeq(acknowledged), "nothing of what was refused");
    let deleted = store.delete_session(&claim.fence.key, Deletion::FORCE).await.unwrap();
    assert_eq!(deleted, DeleteOutcome::Deleted);
    // The server frees the removed data in the background.
    wait_until(|| cli(&server.url(), &["INFO", "memory"]).contains("lazyfree_pending_objects:0"));
    claimed(&store, "another").await;
}
