//! A damaged record is reported with its name, affects nothing else, and never causes a panic.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

mod support;

use std::num::NonZeroU32;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::*;
use support::*;

fn corrupt<T: std::fmt::Debug>(result: Result<T, StoreError>, key: &SessionKey, says: &str) {
    let error = result.expect_err("it is corrupt");
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Corrupt, Retry::Never), "{error}");
    assert_eq!(error.key.as_deref(), Some(key), "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[tokio::test]
async fn a_corrupt_payload_is_isolated() {
    let folder = Folder::new();
    let store = folder.store().await;
    let (bad, good) = (claimed(&store, "bad").await, claimed(&store, "good").await);
    for claim in [&bad, &good] {
        let said = Commit { events: vec![Payload::new("event")], ..saying("c1", "first") };
        receipt(store.commit(&claim.fence, said).await.unwrap());
        let said = saying("c2", "second");
        receipt(store.commit(&claim.fence, said).await.unwrap());
    }
    let damage = "UPDATE message SET payload = x'00' WHERE seq = 1 \
         AND sid = (SELECT sid FROM session WHERE id = 'bad')";
    assert_eq!(folder.sql(damage).await, 1);
    let key = &bad.fence.key;
    let range = |from, to| [MessageRange::new(MessageSeq(from), MessageSeq(to))];
    corrupt(store.read_messages(key, &range(1, 2)).await, key, "payload");
    assert_eq!(
        store.read_messages(key, &range(2, 2)).await.unwrap().messages[0].payload,
        Payload::new("second")
    );
    assert_eq!(messages(&store, &good.fence.key).await, ["first", "second"]);
    assert!(store.load_session(key).await.unwrap().is_some());
    let more = saying("c3", "third");
    receipt(store.commit(&bad.fence, more).await.unwrap());
}

#[tokio::test]
async fn events_that_do_not_go_with_their_sizes_are_corrupt() {
    let folder = Folder::new();
    let store = folder.store().await;
    let claim = claimed(&store, "s").await;
    let events = vec![Payload::new("one"), Payload::new("two")];
    let said = Commit { events, ..commit("c1") };
    receipt(store.commit(&claim.fence, said).await.unwrap());
    for (damage, says) in [
        ("UPDATE event SET sizes = '[3]'", "sizes"),
        ("UPDATE event SET sizes = '[3,4]'", "sizes"),
        ("UPDATE event SET sizes = '[1,1,4]'", "sizes"),
        ("UPDATE event SET sizes = '[3,-3]'", "sizes"),
        ("UPDATE event SET sizes = '{'", "sizes"),
        ("UPDATE event SET sizes = NULL, payload = x'00'", "payload"),
    ] {
        assert_eq!(folder.sql(damage).await, 1, "{damage}");
        let key = &claim.fence.key;
        corrupt(store.read_events(key, &EventCursor::START, 10).await, key, says);
    }
}

#[tokio::test]
async fn unknown_words_and_broken_records_are_corrupt() {
    let folder = Folder::new();
    let store = folder.store().await;
    let claim = claimed(&store, "s").await;
    let key = &claim.fence.key;
    receipt(store.commit(&claim.fence, commit("c")).await.unwrap());
    for (damage, repair, says) in [
        ("UPDATE session SET status = 'asleep'", "UPDATE session SET status = 'active'", "status"),
        ("UPDATE session SET found = ''", "UPDATE session SET found = 'idle'", "found"),
        (
            "UPDATE session SET incarnation = x'01'",
            "UPDATE session SET incarnation = x'00000000000000000000000000000001'",
            "incarnation",
        ),
        ("UPDATE session SET epoch = -1", "UPDATE session SET epoch = 1", "epoch"),
        (
            "UPDATE session SET last_claim = 'a' || char(10)",
            "UPDATE session SET last_claim = 'run-1'",
            "last_claim",
        ),
    ] {
        assert_eq!(folder.sql(damage).await, 1, "{damage}");
        corrupt(store.load_session(key).await, key, says);
        // A handle that has just written the session need not read it. A new handle must.
        corrupt(folder.store().await.renew_lease(&claim.fence, LEASE).await, key, says);
        corrupt(store.claim_session(key, claim_one("r")).await, key, says);
        assert_eq!(folder.sql(repair).await, 1, "{repair}");
        assert!(store.load_session(key).await.unwrap().is_some());
    }
    folder.sql("UPDATE session SET last_commit = '{'").await;
    corrupt(folder.store().await.commit(&claim.fence, commit("c2")).await, key, "last_commit");
    // The session can always be deleted.
    assert_eq!(store.delete_session(key, Deletion::FORCE).await.unwrap(), DeleteOutcome::Deleted);
}

#[tokio::test]
async fn a_due_session_that_cannot_be_read_holds_up_nobody() {
    let folder = Folder::new();
    let store = folder.store().await;
    for (n, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let at = Timestamp::from_ms(i64::try_from(n).unwrap());
        store.create_session(NewSession { start: Start::At(at), ..new_session(&key(id)) }).await.unwrap();
    }
    folder.sql("UPDATE session SET found = 'x' WHERE id = 'a'").await;
    folder
        .sql("UPDATE definition SET payload = x'00' WHERE sid = (SELECT sid FROM session WHERE id = 'b')")
        .await;
    let claims = store.claim_due(claim_due(&["r1", "r2"])).await.unwrap();
    let ids: Vec<_> = claims.iter().map(|claim| claim.fence.key.id.as_str()).collect();
    assert_eq!(ids, ["c", "d"]);
    assert!(store.claim_due(claim_due(&["r3"])).await.unwrap().is_empty());
    let b = store.list_sessions(&SessionQuery::all(key("b").tenant)).await;
    assert_eq!(
        b.unwrap().items.iter().find(|s| s.key.id.as_str() == "b").unwrap().epoch,
        Epoch(0),
        "not claimed"
    );
}

#[tokio::test]
async fn a_pending_call_that_cannot_be_read_costs_no_other_its_place_in_the_list() {
    let folder = Folder::new();
    let store = folder.store().await;
    for id in ["a", "b", "c", "d"] {
        let claim = claimed(&store, id).await;
        let open = NewPending {
            id: PendingId::new("p").unwrap(),
            call: CallId::new("call").unwrap(),
            kind: PendingKind::Approval,
            needed: 1,
            deadline: None,
            body: Payload::new("may I?"),
        };
        let parked = Commit { open: vec![open], release: to(SessionStatus::Suspended), ..commit("c1") };
        receipt(store.commit(&claim.fence, parked).await.unwrap());
    }
    folder.sql("UPDATE pending SET incarnation = x'00' WHERE session = 'b'").await;
    folder.sql("UPDATE pending SET digest = x'00' WHERE session = 'c'").await;
    for limit in [1, 2, 4] {
        let mut query = PendingQuery::all(key("a").tenant);
        query.page.limit = NonZeroU32::new(limit);
        let mut listed = Vec::new();
        loop {
            let page = store.list_pending(&query).await.unwrap();
            listed.extend(page.items.into_iter().map(|call| call.key.id.to_string()));
            query.page.after = page.next;
            if query.page.after.is_none() {
                break;
            }
        }
        assert_eq!(listed, ["a", "d"], "{limit} a page");
    }
    corrupt(store.claim_session(&key("b"), claim_one("r")).await, &key("b"), "incarnation");
}

#[tokio::test]
async fn a_session_that_cannot_be_read_costs_no_other_its_place_in_a_list_or_its_purge() {
    let folder = Folder::new();
    let store = folder.store().await;
    for id in ["a", "b", "c", "d"] {
        store.create_session(new_session(&key(id))).await.unwrap();
    }
    assert_eq!(folder.sql("UPDATE session SET incarnation = x'00' WHERE id IN ('b', 'd')").await, 2);
    for labels in [Labels::default(), [("agent", "a")].into_iter().collect()] {
        for limit in [1, 2, 4] {
            let mut query = SessionQuery { labels: labels.clone(), ..SessionQuery::all(key("a").tenant) };
            query.page.limit = NonZeroU32::new(limit);
            let mut listed = Vec::new();
            loop {
                let page = store.list_sessions(&query).await.unwrap();
                listed.extend(page.items.into_iter().map(|session| session.key.id.to_string()));
                query.page.after = page.next;
                if query.page.after.is_none() {
                    break;
                }
            }
            listed.sort();
            assert_eq!(listed, ["a", "c"], "{limit} a page, {labels:?}");
        }
    }
    let mut rule = RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Sessions,
        limit: NonZeroU32::MIN,
        after: None,
    };
    let mut removed = 0;
    loop {
        let report = store.purge(&rule).await.unwrap();
        removed += report.sessions;
        rule.after = report.next;
        if rule.after.is_none() {
            break;
        }
    }
    assert_eq!(removed, 2);
    assert_eq!(folder.sql("UPDATE session SET epoch = epoch").await, 2, "what cannot be read stays");
}

#[tokio::test]
async fn a_name_that_is_no_text_holds_up_nobody() {
    let folder = Folder::new();
    let store = folder.store().await;
    for (n, id) in ["a", "b", "c"].into_iter().enumerate() {
        let at = Timestamp::from_ms(i64::try_from(n).unwrap());
        store.create_session(NewSession { start: Start::At(at), ..new_session(&key(id)) }).await.unwrap();
    }
    assert_eq!(folder.sql("UPDATE session SET id = CAST(x'ff' AS TEXT) WHERE id = 'a'").await, 1);
    assert_eq!(folder.sql("UPDATE session SET queue = CAST(x'ff' AS TEXT) WHERE id = 'b'").await, 1);
    let claims = store.claim_due(claim_due(&["r1"])).await.unwrap();
    assert_eq!(claims.iter().map(|claim| claim.fence.key.id.as_str()).collect::<Vec<_>>(), ["c"]);
}
