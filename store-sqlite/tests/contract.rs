//! The life of one session, and the rows that remain. The conformance suite tests the whole contract.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

mod support;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::*;
use support::*;

#[tokio::test]
async fn a_turn_with_a_parked_call_reads_back_as_it_was_written() {
    let folder = Folder::new();
    let clock = hand_clock();
    let store =
        holdover_store_sqlite::SqliteStore::open(folder.options().clock(clock.clone())).await.unwrap();
    clock.to(1_000);
    let key = key_of("t%", "S_1 ");
    let new = NewSession { items: vec![message("m1", "hello")], ..new_session(&key) };
    let created = store.create_session(new.clone()).await.unwrap();
    assert_eq!(created, CreateOutcome::Created { version: Version(1), claim: None });
    assert_eq!(store.create_session(new).await.unwrap(), created);

    let claims = store.claim_due(claim_due(&["r1", "r2"])).await.unwrap();
    let [claim] = claims.as_slice() else { panic!("{claims:?}") };
    assert_eq!(claim.inbox.len(), 1);
    assert_eq!(claim.session.lease.as_ref().unwrap().ends, Timestamp::from_ms(11_000));
    assert!(store.claim_due(claim_due(&["r3"])).await.unwrap().is_empty());

    let call = |id: &str| CallId::new(id).unwrap();
    let staged = |id: &str, text: &'static str| StagedResult { call: call(id), payload: Payload::new(text) };
    let staging = Staging { results: vec![staged("b", "B"), staged("a", "")], starts: vec![call("c")] };
    let outcome = store.stage_result(&claim.fence, staging.clone()).await.unwrap();
    assert!(matches!(outcome, StageOutcome::Staged(_)), "{outcome:?}");
    let other = Staging { results: vec![staged("z", "Z"), staged("a", "other")], starts: vec![] };
    let outcome = store.stage_result(&claim.fence, other).await.unwrap();
    assert_eq!(outcome, StageOutcome::Conflict { call: call("a") });
    let session = store.load_session(&key).await.unwrap().unwrap();
    assert_eq!(session.staged.results, [staged("a", ""), staged("b", "B")]);
    assert_eq!(session.staged.starts, [call("c")]);

    let pending = PendingId::new("p").unwrap();
    let parked = Commit {
        expected_version: Some(Version(2)),
        state: Some(NewState { format: StateFormat(1), payload: Payload::new("state \0 1e400") }),
        messages: vec![
            NewMessage::Promote(call("a")),
            NewMessage::Inline(Payload::new("said")),
            NewMessage::Promote(call("b")),
        ],
        events: vec![Payload::new("e1"), Payload::new("e2")],
        open: vec![NewPending {
            id: pending.clone(),
            call: call("d"),
            kind: PendingKind::Approval,
            needed: 1,
            deadline: Some(Timestamp::from_ms(5_000)),
            body: Payload::new("may I?"),
        }],
        consumed: vec![InboxSeq(1)],
        inbox_seen: Some(InboxSeq(1)),
        release: Some(Release::To {
            status: SessionStatus::Suspended,
            deadline: Some(Timestamp::from_ms(5_000)),
            wake_on: 0,
        }),
        ..commit("c1")
    };
    let first = store.commit(&claim.fence, parked.clone()).await.unwrap();
    assert_eq!(receipt(first.clone()).version, Version(3));
    assert_eq!(store.commit(&claim.fence, parked).await.unwrap(), first);
    assert_eq!(messages(&store, &key).await, ["", "said", "B"]);
    let session = store.load_session(&key).await.unwrap().unwrap();
    assert_eq!(session.state, Some(Payload::new("state \0 1e400")));
    assert_eq!(session.staged, Staged::default());
    assert_eq!((session.unread, session.alarm), (0, Some(Timestamp::from_ms(5_000))));
    assert!(store.read_inbox(&key, InboxSeq(0), 9).await.unwrap().items.is_empty());

    let listed = store.list_pending(&PendingQuery::all(key.tenant.clone())).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.items[0].body, Payload::new("may I?"));
    let answer = |item: &str| InboxItem {
        kind: ItemKind::Answer { pending: pending.clone(), settles: false },
        incarnation: Some(claim.fence.incarnation),
        ..message(item, "yes")
    };
    assert_eq!(store.deliver(&key, answer("a1")).await.unwrap(), Delivery::Accepted { seq: InboxSeq(2) });
    assert_eq!(store.deliver(&key, answer("a1")).await.unwrap(), Delivery::Duplicate { seq: InboxSeq(2) });
    assert_eq!(store.deliver(&key, answer("a2")).await.unwrap(), Delivery::AlreadyAnswered);
    assert_eq!(
        store.deliver(&key, message("m1", "hello")).await.unwrap(),
        Delivery::Duplicate { seq: InboxSeq(1) }
    );
    assert_eq!(
        store.deliver(&key, message("m1", "other")).await.unwrap(),
        Delivery::Conflict { seq: InboxSeq(1) }
    );

    let claims = store.claim_due(claim_due(&["r4"])).await.unwrap();
    let [claim] = claims.as_slice() else { panic!("{claims:?}") };
    assert_eq!((claim.found, claim.pending[0].answered), (SessionStatus::Suspended, 1));
    let close = Commit { close: vec![pending.clone()], ..commit("c2") };
    let outcome = store.commit(&claim.fence, close.clone()).await.unwrap();
    assert_eq!(outcome, CommitOutcome::AnswerWaiting { pending: pending.clone() });
    let close = Commit {
        inbox_seen: Some(InboxSeq(2)),
        consumed: vec![InboxSeq(2)],
        run: Some(RunEnd { outcome: OutcomeKind::Completed, detail: Payload::new("{}") }),
        release: to(SessionStatus::Idle),
        ..close
    };
    receipt(store.commit(&claim.fence, close).await.unwrap());
    assert!(store.list_pending(&PendingQuery::all(key.tenant.clone())).await.unwrap().items.is_empty());
    assert_eq!(store.deliver(&key, answer("a3")).await.unwrap(), Delivery::NotPending);

    let runs = store.list_runs(&key, PageRequest::default()).await.unwrap().items;
    assert_eq!(runs.iter().map(|run| run.run.as_str()).collect::<Vec<_>>(), ["r1", "r4"]);
    assert_eq!(runs[0].end.as_ref().unwrap().outcome, OutcomeKind::Lost);
    assert_eq!(runs[1].end.as_ref().unwrap().detail, Some(Payload::new("{}")));

    let EventPage::Events { events, next, more, .. } =
        store.read_events(&key, &EventCursor::START, 1).await.unwrap()
    else {
        panic!("no events")
    };
    assert_eq!((events[0].payload.clone(), more), (Payload::new("e1"), true));
    assert_eq!(store.delete_session(&key, Deletion::UNLESS_ACTIVE).await.unwrap(), DeleteOutcome::Deleted);
    assert_eq!(store.read_events(&key, &next, 1).await.unwrap(), EventPage::NotFound);
    let again = NewSession {
        incarnation: Incarnation(uuid::Uuid::from_u128(2)),
        operation: OperationId::new("again").unwrap(),
        ..new_session(&key)
    };
    store.create_session(again).await.unwrap();
    assert_eq!(store.read_events(&key, &next, 1).await.unwrap(), EventPage::Gone);
}

#[tokio::test]
async fn a_deleted_session_leaves_nothing_but_its_tombstone() {
    let folder = Folder::new();
    let store = folder.store().await;
    let claim = claimed(&store, "s").await;
    let call = CallId::new("c").unwrap();
    let full = Commit {
        state: Some(NewState { format: StateFormat(1), payload: Payload::new("state") }),
        events: vec![Payload::new("event")],
        checkpoint: true,
        stage: vec![StagedResult { call: call.clone(), payload: Payload::new("result") }],
        open: vec![NewPending {
            id: PendingId::new("p").unwrap(),
            call: call.clone(),
            kind: PendingKind::ClientTool,
            needed: 1,
            deadline: None,
            body: Payload::new("body"),
        }],
        ..saying("c1", "message")
    };
    receipt(store.commit(&claim.fence, full).await.unwrap());
    let mark = Staging { results: vec![], starts: vec![call] };
    store.stage_result(&claim.fence, mark).await.unwrap();
    let deltas = DeltaBatch { stream: 1, first: 1, deltas: vec![Payload::new("delta")] };
    store.append_deltas(&claim.fence, deltas).await.unwrap();
    store.deliver(&claim.fence.key, message("m", "text")).await.unwrap();

    let mut raw = folder.raw().await;
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('tombstone', 'holdover_removed')";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut raw).await.unwrap();
    assert_eq!(tables.len(), 14);
    for left in [1, 0] {
        for table in &tables {
            let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
            let rows: i64 = sqlx::query_scalar(sql).fetch_one(&mut raw).await.unwrap();
            assert_eq!(rows, left, "rows in {table}");
        }
        let key = &claim.fence.key;
        if left == 1 {
            assert_eq!(
                store.delete_session(key, Deletion::UNLESS_ACTIVE).await.unwrap(),
                DeleteOutcome::Active
            );
            assert_eq!(store.delete_session(key, Deletion::FORCE).await.unwrap(), DeleteOutcome::Deleted);
        }
    }
    let tombstones: i64 =
        sqlx::query_scalar("SELECT count(*) FROM tombstone").fetch_one(&mut raw).await.unwrap();
    assert_eq!(tombstones, 1);
    let late = store.commit(&claim.fence, commit("late")).await.unwrap();
    assert_eq!(late, CommitOutcome::StaleFence { applied: Applied::Unknown });
}

#[tokio::test]
async fn an_interrupted_session_is_due_in_every_queue_and_for_every_format() {
    let folder = Folder::new();
    let store = folder.store().await;
    let claim = claimed(&store, "s").await;
    let park = Commit { release: to(SessionStatus::Suspended), ..commit("park") };
    receipt(store.commit(&claim.fence, park).await.unwrap());
    let elsewhere = |run: &str| ClaimDue {
        queues: Queues::Named(vec![QueueLabel::new("elsewhere").unwrap()]),
        newest_format: StateFormat(0),
        ..claim_due(&[run])
    };
    assert!(store.claim_due(elsewhere("r2")).await.unwrap().is_empty());
    let interrupt = Interrupt {
        id: InterruptId::new("i").unwrap(),
        kind: InterruptKind::Soft,
        reason: "enough \0".into(),
        at: Timestamp::from_ms(7),
        incarnation: Some(claim.fence.incarnation),
    };
    let asked = store.request_interrupt(&claim.fence.key, interrupt.clone()).await.unwrap();
    assert_eq!(asked, InterruptOutcome::Requested);
    let claims = store.claim_due(elsewhere("r3")).await.unwrap();
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].interrupt(), Some(&interrupt));
    let handed = store.take_interrupt(&claims[0].fence).await.unwrap();
    assert_eq!(handed, InterruptCheck::Waiting(interrupt));
    assert_eq!(store.take_interrupt(&claim.fence).await.unwrap(), InterruptCheck::StaleFence);
}

#[tokio::test]
async fn due_sessions_come_across_queues_in_turn_within_the_limit_and_the_tenant() {
    let folder = Folder::new();
    let clock = hand_clock();
    let store =
        holdover_store_sqlite::SqliteStore::open(folder.options().clock(clock.clone())).await.unwrap();
    for (tenant, id, queue, at) in [
        ("b", "s1", "q1", 30),
        ("a", "s2", "q2", 10),
        ("b", "s0", "q3", 20),
        ("a", "s9", "q1", 20),
        ("a", "s3", "q1", 99),
    ] {
        let new = NewSession {
            queue: QueueLabel::new(queue).unwrap(),
            start: Start::At(Timestamp::from_ms(at)),
            ..new_session(&key_of(tenant, id))
        };
        store.create_session(new).await.unwrap();
    }
    clock.to(50);
    let ids = |claims: Vec<Claim>| claims.iter().map(|c| c.fence.key.to_string()).collect::<Vec<_>>();
    let of_b = ClaimDue { tenant: Some(TenantId::new("b").unwrap()), ..claim_due(&["r1"]) };
    assert_eq!(ids(store.claim_due(of_b).await.unwrap()), ["b/s0"]);
    assert_eq!(ids(store.claim_due(claim_due(&["r2", "r3"])).await.unwrap()), ["a/s2", "b/s1"]);
    let rest = store.claim_due(claim_due(&["r4", "r5", "r6"])).await.unwrap();
    assert_eq!(ids(rest), ["a/s9"]);
}

#[tokio::test]
async fn a_claim_that_comes_back_after_its_lease_is_none() {
    let folder = Folder::new();
    let store = folder.store().await;
    let key = key("s");
    let new = NewSession { start: Start::At(Timestamp::from_ms(0)), ..new_session(&key) };
    store.create_session(new).await.unwrap();
    let none = std::time::Duration::ZERO;
    let claims = store.claim_due(ClaimDue { lease: none, ..claim_due(&["r1"]) }).await.unwrap();
    assert!(claims.is_empty(), "{claims:?}");
    let outcome = store.claim_session(&key, ClaimOne { lease: none, ..claim_one("r2") }).await.unwrap();
    assert_eq!(outcome, ClaimOutcome::LeaseEnded);
    // Both claims took place, so the next one is a takeover.
    let claims = store.claim_due(claim_due(&["r3"])).await.unwrap();
    assert_eq!((claims[0].fence.epoch, claims[0].found), (Epoch(3), SessionStatus::Active));
}

#[tokio::test]
async fn lists_walk_to_the_end_with_every_page_size() {
    let folder = Folder::new();
    let clock = hand_clock();
    let store =
        holdover_store_sqlite::SqliteStore::open(folder.options().clock(clock.clone())).await.unwrap();
    let mut expected = Vec::new();
    for n in 0..5 {
        clock.to(n / 2);
        let new = NewSession {
            labels: [("n", (n % 2).to_string()), ("all\0", "x".into())].into_iter().collect(),
            ..new_session(&key(&format!("s{n}")))
        };
        store.create_session(new).await.unwrap();
        expected.insert(0, format!("s{n}"));
    }
    store.create_session(new_session(&key_of("other", "s9"))).await.unwrap();
    for size in 1..=6 {
        let mut query = SessionQuery::all(TenantId::new("tenant").unwrap());
        query.labels = [("all\0", "x")].into_iter().collect();
        query.page.limit = std::num::NonZeroU32::new(size);
        let mut walked = Vec::new();
        loop {
            let page = store.list_sessions(&query).await.unwrap();
            walked.extend(page.items.iter().map(|s| s.key.id.to_string()));
            query.page.after = page.next;
            if query.page.after.is_none() {
                break;
            }
        }
        assert_eq!(walked, expected, "by {size}");
    }
    let mut query = SessionQuery::all(TenantId::new("tenant").unwrap());
    query.page.limit = std::num::NonZeroU32::new(1);
    let next = store.list_sessions(&query).await.unwrap().next;
    query.labels = [("n", "1")].into_iter().collect();
    assert_eq!(store.list_sessions(&query).await.unwrap().items[0].key.id.as_str(), "s3");
    query.page.after = next;
    let refused = store.list_sessions(&query).await.unwrap_err();
    assert_eq!((refused.kind, refused.operation), (StoreErrorKind::InvalidArgument, "list_sessions"));
}
