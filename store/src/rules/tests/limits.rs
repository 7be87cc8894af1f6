//! Tests of the limits on sizes, and of arguments that make no sense.

use super::*;
use crate::ids::{CallId, InterruptId, ItemKey, KindName, PendingId};
use crate::{
    Capabilities, ClaimOne, CommitSurvives, DeltaBatch, Interrupt, LEASE_MAX, NewFork, NewMessage,
    NewPending, NewState, OutcomeKind, PendingKind, RunEnd, SharedBy, StoreError, StoreErrorKind,
};

/// Capabilities that allow 10 bytes for each payload and 25 for each call.
fn small() -> Capabilities {
    Capabilities {
        backend: "small".into(),
        commit_survives: CommitSurvives::Nothing,
        shared_by: SharedBy::Process,
        change_hints_across_processes: false,
        forks: true,
        retention: true,
        payload_bytes_max: 10,
        commit_bytes_max: 25,
        settings: vec![],
    }
}

fn of(bytes: usize) -> Payload {
    Payload::new("x".repeat(bytes))
}

fn said(bytes: usize) -> InboxItem {
    InboxItem { payload: of(bytes), ..message(Wake::Now) }
}

fn answer() -> InboxItem {
    let kind = ItemKind::Answer { pending: PendingId::new("p").unwrap(), settles: false };
    InboxItem { kind, ..said(1) }
}

fn new(definition: usize, items: &[usize]) -> NewSession {
    NewSession {
        key: row().key,
        incarnation: row().incarnation,
        operation: OperationId::new("create").unwrap(),
        queue: QueueLabel::new("q").unwrap(),
        labels: Labels::default(),
        definition: of(definition),
        format: StateFormat(1),
        items: items.iter().copied().map(said).collect(),
        start: Start::WithItems,
    }
}

fn claiming(items: Vec<InboxItem>) -> Start {
    Start::Claimed(ClaimOne {
        run: RunId::new("r").unwrap(),
        worker: WorkerId::new("w").unwrap(),
        lease: LEASE,
        expected_version: None,
        items,
    })
}

fn fork([definition, state, message, event]: [usize; 4]) -> NewFork {
    NewFork {
        source: row().incarnation,
        key: row().key,
        incarnation: Incarnation(Uuid::from_u128(2)),
        operation: OperationId::new("fork").unwrap(),
        queue: QueueLabel::new("q").unwrap(),
        labels: Labels::default(),
        definition: of(definition),
        status: SessionStatus::Idle,
        state: NewState { format: StateFormat(1), payload: of(state) },
        messages: vec![of(message)],
        events: vec![of(event)],
    }
}

/// Returns a commit with payloads of these sizes, in bytes, in its six places for payloads.
fn full([message, state, stage, event, open, run]: [usize; 6]) -> Commit {
    Commit {
        messages: vec![NewMessage::Inline(of(message)), NewMessage::Promote(CallId::new("a").unwrap())],
        state: Some(NewState { format: StateFormat(1), payload: of(state) }),
        stage: vec![StagedResult { call: CallId::new("c").unwrap(), payload: of(stage) }],
        events: vec![of(event)],
        open: vec![pending(of(open), 1)],
        run: Some(RunEnd { outcome: OutcomeKind::Completed, detail: of(run) }),
        ..commit(None)
    }
}

fn pending(body: Payload, needed: u32) -> NewPending {
    NewPending {
        id: PendingId::new("p").unwrap(),
        call: CallId::new("c").unwrap(),
        kind: PendingKind::Approval,
        needed,
        deadline: None,
        body,
    }
}

fn kind(answer: Result<(), StoreError>) -> Option<StoreErrorKind> {
    answer.err().map(|error| error.kind)
}

/// Checks the limits of a call whose payloads have the sizes that `ask` gets: each payload may have 10 bytes
/// but not 11, and all together 25 but not 26.
fn check<const N: usize>(ask: impl Fn([usize; N]) -> Result<(), StoreError>) {
    for place in 0..N {
        let alone = |bytes| std::array::from_fn(|at| if at == place { bytes } else { 0 });
        assert_eq!(kind(ask(alone(10))), None, "place {place}");
        assert_eq!(kind(ask(alone(11))), Some(StoreErrorKind::TooLarge), "place {place}");
    }
    // Every payload counts: the sum is too large whichever of them has the last byte.
    let base = |total: usize| std::array::from_fn(|at| total / N + usize::from(at < total % N));
    if N > 2 {
        assert_eq!(kind(ask(base(25))), None);
        for place in 0..N {
            let mut sizes = base(25);
            sizes[place] += 1;
            assert_eq!(kind(ask(sizes)), Some(StoreErrorKind::TooLarge), "place {place}");
        }
    }
}

#[test]
fn every_payload_of_a_call_has_a_limit_and_so_have_all_together() {
    let small = small();
    let limits = || Limits::of(&small, "test");
    check(|sizes: [usize; 6]| full(sizes).check(&small));
    check(|[state, message, event, more]: [usize; 4]| limits().fork(&fork([state, message, event, more])));
    check(|[definition, one, two]: [usize; 3]| limits().creation(&new(definition, &[one, two])));
    check(|[definition, item, claimed]: [usize; 3]| {
        limits().creation(&NewSession { start: claiming(vec![said(claimed)]), ..new(definition, &[item]) })
    });
    check(|sizes: [usize; 3]| limits().items(&sizes.map(said)));
    check(|sizes: [usize; 3]| {
        let result = |bytes| StagedResult { call: CallId::new("c").unwrap(), payload: of(bytes) };
        limits().staging(&Staging { results: sizes.map(result).into(), starts: vec![] })
    });
    check(|sizes: [usize; 3]| DeltaBatch { stream: 1, first: 1, deltas: sizes.map(of).into() }.check(&small));
    check(|[bytes]: [usize; 1]| limits().delivery(&said(bytes)));
    check(|[bytes]: [usize; 1]| {
        limits().interrupt(&Interrupt {
            reason: "x".repeat(bytes),
            id: InterruptId::new("i").unwrap(),
            kind: InterruptKind::Soft,
            at: at(0),
            incarnation: None,
        })
    });
}

#[test]
fn a_lease_is_at_most_as_long_as_every_store_can_keep() {
    let small = small();
    for (lease, expect) in [
        (Duration::ZERO, None),
        (LEASE_MAX, None),
        (LEASE_MAX + Duration::from_nanos(1), Some(StoreErrorKind::InvalidArgument)),
        (Duration::MAX, Some(StoreErrorKind::InvalidArgument)),
    ] {
        let Start::Claimed(claim) = claiming(vec![]) else { panic!("it is claimed") };
        let claim = ClaimOne { lease, ..claim };
        assert_eq!(kind(Limits::of(&small, "test").lease(lease)), expect, "{lease:?}");
        assert_eq!(kind(Limits::of(&small, "test").claim(&claim)), expect, "{lease:?}");
        let new = NewSession { start: Start::Claimed(claim), ..new(1, &[]) };
        assert_eq!(kind(Limits::of(&small, "test").creation(&new)), expect, "{lease:?}");
    }
}

#[test]
fn one_payload_may_have_as_many_bytes_as_a_call_allows_and_no_more() {
    let even = Capabilities { commit_bytes_max: 10, ..small() };
    assert_eq!(kind(Limits::of(&even, "test").delivery(&said(10))), None);
    let less = Capabilities { commit_bytes_max: 9, ..small() };
    assert_eq!(kind(Limits::of(&less, "test").delivery(&said(10))), Some(StoreErrorKind::TooLarge));
}

#[test]
fn a_page_asks_for_one_row_at_least_and_no_more_than_there_may_be() {
    let rows = |asked| Limits::rows("test", asked, 200).map_err(|error| error.kind);
    assert_eq!(rows(0), Err(StoreErrorKind::InvalidArgument));
    assert_eq!([rows(1), rows(200), rows(201)], [Ok(1), Ok(200), Ok(200)]);
}

#[test]
fn labels_have_a_number_and_texts_a_length() {
    let small = small();
    let ask = |labels: Labels| {
        let created =
            kind(Limits::of(&small, "test").creation(&NewSession { labels: labels.clone(), ..new(0, &[]) }));
        let forked = kind(Limits::of(&small, "test").fork(&NewFork { labels, ..fork([0; 4]) }));
        assert_eq!(created, forked);
        created
    };
    let many = |count: usize| (0..count).map(|name| (name.to_string(), "")).collect::<Labels>();
    let text = |bytes: usize| "x".repeat(bytes);
    assert_eq!(ask(many(32)), None);
    assert_eq!(ask(many(33)), Some(StoreErrorKind::TooLarge));
    assert_eq!(ask([(text(256), text(256))].into_iter().collect()), None);
    assert_eq!(ask([(text(257), text(0))].into_iter().collect()), Some(StoreErrorKind::TooLarge));
    assert_eq!(ask([(text(1), text(257))].into_iter().collect()), Some(StoreErrorKind::TooLarge));
}

/// A kind `Other` with the name of a known kind is refused, because two spellings of one kind would compare as
/// different.
#[test]
fn a_kind_that_is_known_is_not_named_as_another() {
    let small = small();
    let refused = Some(StoreErrorKind::InvalidArgument);
    for (name, expect) in [("message", refused), ("signal", refused), ("answer", refused), ("newer", None)] {
        let other = ItemKind::Other { name: KindName::new(name).unwrap(), wake: Wake::Quiet };
        let item = InboxItem { kind: other, ..said(1) };
        assert_eq!(kind(Limits::of(&small, "test").delivery(&item)), expect, "{name}");
        assert_eq!(kind(Limits::of(&small, "test").items(&[item])), expect, "{name}");
    }
    for (name, expect) in [("approval", refused), ("client_tool", refused), ("newer", None)] {
        let mut commit = full([0; 6]);
        commit.open[0].kind = PendingKind::Other(KindName::new(name).unwrap());
        assert_eq!(kind(commit.check(&small)), expect, "{name}");
        assert_eq!(PendingKind::from_wire(name).unwrap() == commit.open[0].kind, expect.is_none(), "{name}");
    }
    // The JSON that a newer version with a variant of that name writes.
    let json = r#"{"kind":"newer","wake":"quiet"}"#;
    let newer = ItemKind::Other { name: KindName::new("newer").unwrap(), wake: Wake::Quiet };
    assert_eq!(serde_json::from_str::<ItemKind>(json).unwrap(), newer);
    assert_eq!(serde_json::to_string(&newer).unwrap(), json);
    assert_eq!(serde_json::from_str::<PendingKind>(r#""newer""#).unwrap().as_str(), "newer");
    for name in ["", "two words", "a\nb"] {
        assert_eq!(
            (PendingKind::from_wire(name), ItemKind::from_wire(name, Wake::Now)),
            (None, None),
            "{name:?}"
        );
    }
}

#[test]
fn what_comes_with_a_move_is_no_answer_and_meant_for_no_other_life() {
    let small = small();
    let limits = || Limits::of(&small, "test");
    let refused = Some(StoreErrorKind::InvalidArgument);
    assert_eq!(kind(limits().items(&[said(1), answer()])), refused);
    let other = Some(Incarnation(Uuid::from_u128(2)));
    let own = Some(row().incarnation);
    let foreign = |incarnation| {
        let key = ItemKey::new("f").unwrap();
        InboxItem { key, incarnation, ..said(1) }
    };
    for (item, expect) in
        [(answer(), refused), (foreign(other), refused), (foreign(own), None), (foreign(None), None)]
    {
        let first = NewSession { items: vec![said(1), item.clone()], ..new(1, &[]) };
        assert_eq!(kind(limits().creation(&first)), expect, "{item:?}");
        let claimed = NewSession { start: claiming(vec![item.clone()]), ..new(1, &[1]) };
        assert_eq!(kind(limits().creation(&claimed)), expect, "{item:?}");
    }
}

#[test]
fn a_commit_that_has_no_meaning_is_refused() {
    let refused = Some(StoreErrorKind::InvalidArgument);
    let ask = |commit: Commit| kind(commit.check(&small()));
    let stateless = Commit { checkpoint: true, ..commit(None) };
    assert_eq!(ask(stateless), refused);
    assert_eq!(ask(Commit { checkpoint: true, ..full([1; 6]) }), None);
    for status in SessionStatus::ALL {
        let active = status == SessionStatus::Active;
        assert_eq!(ask(commit(to(status, 0))), if active { refused } else { None }, "{status}");
    }
    assert_eq!(ask(commit(Some(Release::GiveBack { alarm: None }))), None);
    let open = |needed| Commit { open: vec![pending(of(1), 1), pending(of(1), needed)], ..commit(None) };
    assert_eq!((ask(open(0)), ask(open(1))), (refused, None));
}

#[test]
fn a_batch_without_deltas_or_with_a_number_of_0_is_refused() {
    let refused = Some(StoreErrorKind::InvalidArgument);
    let ask =
        |stream, first, deltas: Vec<Payload>| kind(DeltaBatch { stream, first, deltas }.check(&small()));
    assert_eq!(ask(1, 1, vec![of(0)]), None);
    assert_eq!(ask(1, 1, vec![]), refused);
    assert_eq!(ask(0, 1, vec![of(1)]), refused);
    assert_eq!(ask(1, 0, vec![of(1)]), refused);
}

#[test]
fn a_fork_rests_and_belongs_to_the_tenant_of_its_source() {
    let refused = Some(StoreErrorKind::InvalidArgument);
    let from = row().key;
    for status in SessionStatus::ALL {
        let rests =
            matches!(status, SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Failed);
        let new = NewFork { status, ..fork([0; 4]) };
        assert_eq!(kind(new.check(&from)), if rests { None } else { refused }, "{status}");
    }
    let other = SessionKey::new(TenantId::new("other").unwrap(), from.id.clone());
    assert_eq!(kind(fork([0; 4]).check(&other)), refused);
}
