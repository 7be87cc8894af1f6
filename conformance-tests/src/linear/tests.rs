use holdover_store::ids::{InboxSeq, SessionKey};
use holdover_store::time::Timestamp;
use holdover_store::{Delivery, InboxPage, NewSession, Retry, Start, StoreErrorKind};

use super::*;
use crate::fixture::{key, message, new_session};
use crate::model::Model;
use crate::script::{Answer, Request};

const NOW: Timestamp = Timestamp::from_ms(1_800_000_000_000);

fn session() -> SessionKey {
    key("s")
}

/// Returns a model with one session at rest.
fn created() -> Model {
    let mut model = Model::new(NOW);
    model.create(&new_session("s"));
    model
}

fn event(asked: u64, answered: u64, request: Request, answer: Answer) -> Event {
    Event {
        by: 0,
        asked,
        answered: Some(answered),
        heard: Heard::Answer(Box::new(request), Box::new(answer)),
    }
}

fn deliver(asked: u64, answered: u64) -> Event {
    let accepted = Answer::from(Delivery::Accepted { seq: InboxSeq(1) });
    event(asked, answered, Request::Deliver(session(), message("m")), accepted)
}

fn deliver_without_answer(asked: u64) -> Event {
    let request = Box::new(Request::Deliver(session(), message("m")));
    Event { by: 0, asked, answered: None, heard: Heard::Nothing(request) }
}

/// Makes a read of the inbox that shows the item, or nothing.
fn read(asked: u64, answered: u64, shows: bool) -> Event {
    let mut model = created();
    if shows {
        model.deliver(&session(), &message("m"));
    }
    let items = model.snapshot(&session()).inbox;
    event(
        asked,
        answered,
        Request::ReadInbox(session(), InboxSeq(0), 10),
        InboxPage::new(items, false).into(),
    )
}

fn fits(events: &[Event]) -> bool {
    match search(events, &created(), true) {
        Verdict::Fits(_) => true,
        Verdict::FitsNot => false,
        Verdict::Undecided => panic!("undecided"),
    }
}

#[test]
fn who_reads_beside_a_write_may_see_it_and_nobody_after_him_may_not() {
    assert!(fits(&[deliver(1, 6), read(2, 3, false), read(4, 5, true)]));
    assert!(!fits(&[deliver(1, 6), read(2, 3, true), read(4, 5, false)]));
    assert!(fits(&[deliver(1, 6), read(2, 5, true), read(3, 4, false)]));
}

#[test]
fn whoever_asks_after_the_answer_sees_what_was_written() {
    assert!(!fits(&[deliver(1, 2), read(3, 4, false)]));
    assert!(fits(&[deliver(1, 3), read(2, 4, false)]));
    assert!(!fits(&[read(1, 2, true), deliver(3, 4)]));
}

#[test]
fn what_has_no_answer_happened_at_any_time_after_its_call_or_never() {
    assert!(fits(&[deliver_without_answer(1), read(2, 3, false), read(4, 5, true)]));
    assert!(fits(&[deliver_without_answer(1), read(2, 3, false)]));
    assert!(!fits(&[deliver_without_answer(1), read(2, 3, true), read(4, 5, false)]));
    assert!(!fits(&[read(1, 2, true), deliver_without_answer(3)]));
}

#[test]
fn more_operations_than_can_be_looked_at_are_undecided() {
    let many: Vec<Event> = (0..=OPERATIONS_MAX as u64).map(|at| read(2 * at, 2 * at + 1, false)).collect();
    assert!(matches!(search(&many, &created(), true), Verdict::Undecided));
}

#[test]
fn the_shortest_beginning_is_told_without_what_it_does_not_need() {
    let history = [read(1, 2, false), deliver(3, 4), read(5, 6, true), read(7, 8, false), read(9, 10, true)];
    let shown = Counterexample::of(&history, &created(), true).expect("it fits no order").to_string();
    for part in ["3..4", "7..8", "(2 that change nothing", "would be answered otherwise", "unread: 1"] {
        assert!(shown.contains(part), "{part:?} is missing in\n{shown}");
    }
    for part in ["1..2", "5..6", "9..10"] {
        assert!(!shown.contains(part), "{part:?} is not needed in\n{shown}");
    }
}

fn asked(asked: u64, answered: u64, request: Request, answer: Answer) -> Asked {
    Asked { by: 0, asked, answered, request, answer: Some(answer) }
}

fn claim_due() -> Request {
    Request::ClaimDue(holdover_store::ClaimDue {
        runs: vec![crate::fixture::id("run")],
        worker: crate::fixture::id("worker"),
        lease: std::time::Duration::from_secs(10),
        queues: holdover_store::Queues::All,
        newest_format: holdover_store::ids::StateFormat(9),
        tenant: None,
    })
}

#[test]
fn that_nothing_is_due_is_said_only_while_nobody_writes() {
    let due = NewSession { start: Start::At(Timestamp::EPOCH), ..new_session("s") };
    let mut start = Model::new(NOW);
    start.create(&due);
    let nothing = || asked(1, 4, claim_due(), Vec::<holdover_store::Claim>::new().into());
    let alone = project(&[nothing()], &session());
    assert!(matches!(search(&alone, &start, true), Verdict::FitsNot));
    let accepted = Answer::from(Delivery::Accepted { seq: InboxSeq(1) });
    let write = asked(2, 3, Request::Deliver(session(), message("m")), accepted);
    assert_eq!(project(&[nothing(), write], &session()).len(), 1, "the write alone");
}

#[test]
fn an_error_says_what_it_says() {
    let refused = |kind, retry| {
        let answer = Answer::Refused(kind, retry);
        project(&[asked(1, 2, Request::Deliver(session(), message("m")), answer)], &session())
    };
    assert!(refused(StoreErrorKind::Unavailable, Retry::Later).is_empty(), "nothing was done");
    let unknown = refused(StoreErrorKind::Unavailable, Retry::OutcomeUnknown);
    assert_eq!(unknown.iter().map(|event| event.answered).collect::<Vec<_>>(), [None]);
    assert!(!fits(&refused(StoreErrorKind::Backend, Retry::Never)), "it is no answer");
}
