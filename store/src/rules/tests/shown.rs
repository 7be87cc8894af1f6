//! Tests of the rules for lists, retention, forks and change hints.

use super::*;
use crate::ids::{CheckpointId, ItemKey};
use crate::payload::Digest;
use crate::{
    CURSOR_BYTES_MAX, CheckpointQuery, ClaimOne, CreateOutcome, ForkOutcome, InboxPage, MessageRange,
    NewFork, NewState, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX, PageCursor, PageRequest, PendingKind, PendingQuery,
    Remove, RetentionRule, SessionQuery, StoreErrorKind, StoredItem, TimeRange,
};
use std::num::NonZeroU32;

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

fn two() -> NonZeroU32 {
    2.try_into().unwrap()
}

#[test]
fn a_list_shows_what_every_filter_lets_through() {
    let row = SessionRow { created_at: at(10), updated_at: at(20), ..row() };
    let labels: Labels = [("user", "kim"), ("tag", "")].into_iter().collect();
    let all = SessionQuery::all(tenant("t"));
    let check = |query: SessionQuery, listed| assert_eq!(row.listed(&labels, &query), listed, "{query:?}");
    check(all.clone(), true);
    check(SessionQuery::all(tenant("T")), false);
    let with = |status: &[SessionStatus]| SessionQuery { status: status.to_vec(), ..all.clone() };
    check(with(&[SessionStatus::Failed, SessionStatus::Idle]), true);
    check(with(&[SessionStatus::Failed]), false);
    let queue = |name: &str| SessionQuery { queue: Some(QueueLabel::new(name).unwrap()), ..all.clone() };
    check(queue("q"), true);
    check(queue("p"), false);
    let labelled =
        |wanted: &[(&str, &str)]| SessionQuery { labels: wanted.iter().copied().collect(), ..all.clone() };
    check(labelled(&[("user", "kim"), ("tag", "")]), true);
    check(labelled(&[("user", "kim"), ("tag", "x")]), false);
    check(labelled(&[("user", "Kim")]), false);
    check(labelled(&[("agent", "")]), false);
    for (range, created, changed) in [
        (TimeRange::since(at(10)), true, true),
        (TimeRange::since(at(11)), false, true),
        (TimeRange::since(at(21)), false, false),
        (TimeRange::before(at(10)), false, false),
        (TimeRange::before(at(11)), true, false),
        (TimeRange::before(at(21)), true, true),
    ] {
        check(SessionQuery { created: range, ..all.clone() }, created);
        check(SessionQuery { changed: range, ..all.clone() }, changed);
    }
}

#[test]
fn retention_is_about_sessions_that_rest_with_nothing_waiting_in_them() {
    let rested = || SessionRow { updated_at: at(10), ..row() };
    for status in SessionStatus::ALL {
        let quiet = !matches!(status, SessionStatus::Active | SessionStatus::Suspended);
        assert_eq!(SessionRow { status, ..rested() }.quiet(), quiet, "{status}");
    }
    assert!(!SessionRow { alarm: Some(at(99)), ..rested() }.quiet());
    assert!(!SessionRow { unread: 1, ..rested() }.quiet());
    assert!(!SessionRow { interrupt: Some(stop("i", InterruptKind::Abort)), ..rested() }.quiet());

    let rule = |unchanged_since| RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: at(unchanged_since),
        remove: Remove::Sessions,
        limit: two(),
        after: None,
    };
    assert!(rested().purgeable(&rule(11)) && !rested().purgeable(&rule(10)), "since is not before");
    assert!(!SessionRow { unread: 1, ..rested() }.purgeable(&rule(11)));
    let with = |status: &[SessionStatus]| RetentionRule { status: status.to_vec(), ..rule(11) };
    assert!(rested().purgeable(&with(&[SessionStatus::Failed, SessionStatus::Idle])));
    assert!(!rested().purgeable(&with(&[SessionStatus::Failed])));
    let of = |name: &str| RetentionRule { tenant: Some(tenant(name)), ..rule(11) };
    assert!(rested().purgeable(&of("t")) && !rested().purgeable(&of("other")));
}

#[test]
fn a_rule_is_about_sessions_that_rest_and_its_cursor_goes_on_in_the_same_rule() {
    let rule = RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: at(5),
        remove: Remove::Sessions,
        limit: two(),
        after: None,
    };
    for status in SessionStatus::ALL {
        let asked = RetentionRule { status: vec![SessionStatus::Idle, status], ..rule.clone() };
        let refused = asked.check().map_err(|error| error.kind);
        let expected = if status.at_rest() { Ok(None) } else { Err(StoreErrorKind::InvalidArgument) };
        assert_eq!(refused, expected, "{status}");
    }
    let after = Some(PageCursor::at(rule.digest(), b"place"));
    let next = RetentionRule { after: after.clone(), limit: 9.try_into().unwrap(), ..rule.clone() };
    assert_eq!(next.check().unwrap(), Some(b"place".to_vec()), "whatever its limit");
    for other in [
        RetentionRule { tenant: Some(tenant("t")), ..rule.clone() },
        RetentionRule { status: vec![SessionStatus::Idle], ..rule.clone() },
        RetentionRule { unchanged_since: at(6), ..rule.clone() },
        RetentionRule { remove: Remove::Checkpoints { keep: two() }, ..rule.clone() },
    ] {
        let refused = RetentionRule { after: after.clone(), ..other }.check().unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::InvalidArgument);
    }
}

#[test]
fn a_cursor_is_bound_to_every_filter_of_its_list() {
    let key = row().key;
    let other = SessionKey::new(tenant("t"), SessionId::new("other").unwrap());
    let all = SessionQuery::all(tenant("t"));
    let open = PendingQuery::all(tenant("t"));
    let digests: Vec<Digest> = vec![
        all.digest(),
        SessionQuery::all(tenant("other")).digest(),
        SessionQuery { status: vec![SessionStatus::Idle], ..all.clone() }.digest(),
        SessionQuery { queue: Some(QueueLabel::new("q").unwrap()), ..all.clone() }.digest(),
        SessionQuery { labels: [("a", "b")].into_iter().collect(), ..all.clone() }.digest(),
        open.digest(),
        PendingQuery::all(tenant("other")).digest(),
        PendingQuery { session: Some(key.id.clone()), ..open.clone() }.digest(),
        PendingQuery { kind: Some(PendingKind::Approval), ..open.clone() }.digest(),
        PendingQuery { kind: Some(PendingKind::ClientTool), ..open.clone() }.digest(),
        CheckpointQuery::all(key.clone()).digest(),
        CheckpointQuery::all(other.clone()).digest(),
        CheckpointQuery::one(key.clone(), CheckpointId(1)).digest(),
        CheckpointQuery::one(key.clone(), CheckpointId(2)).digest(),
        crate::runs_digest(&key),
        crate::runs_digest(&other),
    ];
    for (at, digest) in digests.iter().enumerate() {
        assert!(!digests[..at].contains(digest), "{at}");
    }
    let page = PageRequest::first(two());
    assert_eq!(
        SessionQuery { page: page.clone(), ..all.clone() }.digest(),
        all.digest(),
        "but not to its page"
    );
    assert_eq!(PendingQuery { page: page.clone(), ..open.clone() }.digest(), open.digest());
    let checkpoints = CheckpointQuery::all(key);
    assert_eq!(CheckpointQuery { page, ..checkpoints.clone() }.digest(), checkpoints.digest());
}

#[test]
fn a_page_has_fifty_rows_unless_asked_and_two_hundred_at_most() {
    let rows = |limit: u32| PageRequest::first(limit.try_into().unwrap()).rows();
    assert_eq!(PageRequest::default().rows(), PAGE_ROWS_DEFAULT);
    assert_eq!([rows(1), rows(PAGE_ROWS_MAX), rows(PAGE_ROWS_MAX + 1)], [1, PAGE_ROWS_MAX, PAGE_ROWS_MAX]);
}

#[test]
fn a_range_of_messages_holds_both_its_ends() {
    let held = |from, to| -> Vec<u64> {
        let range = MessageRange::new(MessageSeq(from), MessageSeq(to));
        (1..9).filter(|seq| range.contains(MessageSeq(*seq))).collect()
    };
    assert_eq!((held(3, 5), held(4, 4), held(5, 4)), (vec![3, 4, 5], vec![4], vec![]));
}

#[test]
fn a_label_is_added_where_it_replaces_one_or_there_is_room() {
    let many = |count: usize| (0..count).map(|name| (name.to_string(), "")).collect::<Labels>();
    let with = |count, name: &str| many(count).with_if_room(name, "x").0;
    assert_eq!(with(31, "new").get("new").map(String::as_str), Some("x"));
    assert_eq!(with(32, "new"), many(32).0);
    assert_eq!(with(32, "7").get("7").map(String::as_str), Some("x"), "a name that is there takes no room");
}

#[test]
fn a_cursor_is_as_long_as_it_may_be_and_no_longer() {
    // The text has two digits for each byte: one byte for the kind, sixteen for the query, four for the
    // checksum.
    let text = |bytes: usize| {
        PageCursor::at(Digest::of(b"q"), &vec![0; bytes - 1 - 16 - 4]).to_string().parse::<PageCursor>()
    };
    assert!(text(CURSOR_BYTES_MAX / 2).is_ok() && text(CURSOR_BYTES_MAX / 2 + 1).is_err());
}

#[test]
fn a_page_of_the_inbox_goes_on_after_its_last_item() {
    let stored = |seq| StoredItem {
        seq: InboxSeq(seq),
        key: ItemKey::new("k").unwrap(),
        kind: ItemKind::Message { wake: Wake::Now },
        payload: Payload::new("m"),
        at: at(0),
    };
    assert_eq!(InboxPage::new(vec![stored(3), stored(7)], true).next, Some(InboxSeq(7)));
    assert_eq!(InboxPage::new(vec![stored(3), stored(7)], false).next, None);
    assert_eq!(InboxPage::new(vec![], false).next, None);
}

#[test]
fn a_claim_says_where_the_inbox_goes_on_while_more_is_unread_than_it_brings() {
    let row = SessionRow { unread: 2, ..claimed(row(), at(0)) };
    let items = |count: u64| -> Vec<StoredItem> {
        let arrival = |seq| Arrival { seq: InboxSeq(seq), wake: Wake::Now, answered: None };
        (1..=count).map(|seq| arrival(seq).stored(message(Wake::Now), at(0))).collect()
    };
    let claim = |row: &SessionRow, inbox, now| {
        let session = row.session(Labels::default(), Payload::new(""), None, crate::Staged::default());
        row.newest_claim(session, vec![], inbox, now)
    };
    let bring = |count| claim(&row, items(count), at(3)).expect("claimed");
    assert_eq!((bring(1).more_inbox_after(), bring(2).more_inbox_after()), (Some(InboxSeq(1)), None));
    assert_eq!((bring(0).now, bring(0).lease_ends), (at(3), at(10_000)));
    assert_eq!(claim(&super::row(), vec![], at(3)), None, "it was never claimed");
}

#[test]
fn a_creation_that_is_repeated_is_answered_as_the_first_time() {
    let new = |operation: &str, start| NewSession {
        key: row().key,
        incarnation: Incarnation(Uuid::from_u128(1)),
        operation: OperationId::new(operation).unwrap(),
        queue: QueueLabel::new("q").unwrap(),
        labels: Labels::default(),
        definition: Payload::new(""),
        format: StateFormat(1),
        items: vec![],
        start,
    };
    let claim = |run: &str| {
        Start::Claimed(ClaimOne {
            run: RunId::new(run).unwrap(),
            worker: WorkerId::new("w").unwrap(),
            lease: LEASE,
            expected_version: None,
            items: vec![],
        })
    };
    let row = SessionRow { version: Version(7), ..claimed(row(), at(0)) };
    let there = CreateOutcome::AlreadyExists {
        incarnation: row.incarnation,
        status: SessionStatus::Active,
        version: Version(7),
    };
    assert_eq!(row.created_before(&new("other", Start::WithItems), at(1)), Err(there));
    let again = |start, now| row.created_before(&new("create", start), at(now));
    for start in [Start::WithItems, Start::At(at(3))] {
        assert_eq!(again(start, 1), Ok((Version(1), false)), "with the version of then");
    }
    assert_eq!(again(claim("r"), 9_999), Ok((Version(2), true)));
    assert_eq!(again(claim("r"), 10_000), Ok((Version(2), false)), "its lease is over");
    assert_eq!(again(claim("other"), 1), Ok((Version(2), false)), "another run holds it by now");
}

#[test]
fn a_creation_names_its_alarm_over_what_its_items_ask_for() {
    let alarm = |start: &Start| {
        let mut row = SessionRow { alarm: Some(at(5)), ..row() };
        row.set_start(start);
        row.alarm
    };
    assert_eq!(alarm(&Start::At(at(9))), Some(at(9)));
    assert_eq!(alarm(&Start::WithItems), Some(at(5)));
}

#[test]
fn a_fork_goes_on_from_its_checkpoint_and_rests_with_nothing_of_its_source() {
    let mut source = SessionRow {
        version: Version(6),
        epoch: Epoch(3),
        format: StateFormat(4),
        last_message: MessageSeq(20),
        last_event: EventSeq(30),
        ..claimed(row(), at(0))
    };
    let checkpoint = source.checkpoint(Payload::new("state"), at(1));
    assert_eq!((checkpoint.id, checkpoint.epoch, checkpoint.at), (CheckpointId(6), Epoch(3), at(1)));
    assert_eq!((checkpoint.last_message, checkpoint.last_event), (MessageSeq(20), EventSeq(30)));
    assert_eq!((checkpoint.incarnation, checkpoint.format), (source.incarnation, StateFormat(4)));
    source.stream.open = true;
    let new = NewFork {
        source: source.incarnation,
        key: SessionKey::new(tenant("t"), SessionId::new("fork").unwrap()),
        incarnation: Incarnation(Uuid::from_u128(2)),
        operation: OperationId::new("fork").unwrap(),
        queue: QueueLabel::new("p").unwrap(),
        labels: Labels::default(),
        definition: Payload::new(""),
        status: SessionStatus::Failed,
        state: NewState { format: StateFormat(5), payload: Payload::new("state") },
        messages: vec![Payload::new("m")],
        events: vec![Payload::new("e"), Payload::new("e")],
    };
    let fork = SessionRow::fork(&checkpoint, &new, at(2));
    let expected = SessionRow {
        key: new.key.clone(),
        incarnation: new.incarnation,
        created_by: new.operation.clone(),
        status: SessionStatus::Failed,
        found: SessionStatus::Failed,
        version: Version(7),
        epoch: Epoch(3),
        queue: new.queue.clone(),
        format: StateFormat(5),
        last_message: MessageSeq(21),
        last_event: EventSeq(32),
        created_at: at(2),
        updated_at: at(2),
        ..row()
    };
    assert_eq!(fork, expected);

    let later = SessionRow { version: Version(9), ..fork };
    assert_eq!(later.forked_before(&new, checkpoint.id), ForkOutcome::Forked { version: Version(7) });
    let other = NewFork { operation: OperationId::new("other").unwrap(), ..new.clone() };
    let there = ForkOutcome::AlreadyExists {
        incarnation: new.incarnation,
        status: SessionStatus::Failed,
        version: Version(9),
    };
    assert_eq!(later.forked_before(&other, checkpoint.id), there);
    assert!(source.is_source(&source.key, &new) && !source.is_source(&new.key, &new));
    let reborn = NewFork { source: Incarnation(Uuid::from_u128(9)), ..new };
    assert!(!source.is_source(&source.key, &reborn), "it is another life");
}
