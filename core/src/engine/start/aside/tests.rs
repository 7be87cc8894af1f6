use std::sync::Arc;

use super::super::tests::{claim, facts, item};
use super::*;
use crate::engine::{STATE_FORMAT, StepIterator};
use crate::machine::Machine;
use crate::store::{Interrupt, InterruptKind, NewPending, StagedResult};
use crate::time::Timestamp;
use crate::words::agent::AgentSpec;
use crate::words::ids::{CallId, Epoch, InterruptId, StateFormat};

/// Returns a claim of a session in turn 3, with a message, in a state with this name.
fn in_state(name: &str) -> Claim {
    let mut state = serde_json::to_value(Machine::default()).unwrap();
    state["state"]["state"] = name.into();
    state["turn"]["number"] = 3.into();
    state["turn"]["began"] = 8.into();
    let mut claim = claim();
    claim.fence.epoch = Epoch(5);
    claim.session.state = Some(Payload::json(&state).unwrap());
    claim.session.format = StateFormat(1);
    claim.session.last_item = InboxSeq(4);
    claim.inbox = vec![item(2), item(4)];
    claim
}

fn refused(claim: &Claim) -> StartError {
    StepIterator::start(claim.clone(), Arc::new(AgentSpec::new("a")), facts()).expect_err("it cannot be read")
}

fn aside(claim: &Claim) -> Option<Commit> {
    set_aside(claim, &refused(claim), &facts())
}

/// Returns the letter that the commit opens, as the store keeps it.
fn opened(claim: &Claim, commit: &Commit) -> PendingCall {
    let [NewPending { id, call, kind, needed, deadline, body }] = &commit.open[..] else {
        panic!("one letter: {commit:?}")
    };
    PendingCall {
        key: claim.fence.key.clone(),
        incarnation: claim.fence.incarnation,
        id: id.clone(),
        call: call.clone(),
        kind: kind.clone(),
        needed: *needed,
        answered: 0,
        last_answer: InboxSeq(0),
        deadline: *deadline,
        body: body.clone(),
        opened_at: claim.now,
    }
}

#[test]
fn c03_a_session_in_a_state_without_a_handler_fails_with_a_letter_and_keeps_its_bytes_and_items() {
    let claim = in_state("dreaming");
    let commit = aside(&claim).unwrap();
    let written = commit.state.clone().unwrap();
    assert_eq!((Some(&written.payload), written.format), (claim.session.state.as_ref(), STATE_FORMAT_ASKING));
    let letter = Letter::of(&opened(&claim, &commit)).unwrap();
    assert_eq!(letter.error, ErrorInfo::new("engine.unreadable", "no handler for state `dreaming`"));
    assert_eq!((letter.cause, letter.attempts), (LetterCause::Unreadable, 1));
    assert_eq!((letter.first_run, letter.last_run), (Epoch(5), Epoch(5)));
    assert_eq!((letter.turn, letter.after_message), (TurnNumber(3), MessageSeq(8)));
    let end = commit.run.unwrap();
    assert_eq!((end.outcome, end.detail.parse::<ErrorInfo>().unwrap()), (OutcomeKind::Failed, letter.error));
    let rests = Release::To { status: SessionStatus::Failed, deadline: None, wake_on: 0 };
    assert_eq!((commit.release, commit.inbox_seen), (Some(rests), Some(InboxSeq(4))));
    assert_eq!((commit.consumed, commit.close, commit.messages), (Vec::new(), Vec::new(), Vec::new()));
    assert_eq!((commit.checkpoint, commit.expected_version), (false, Some(claim.session.version)));
}

#[test]
fn c03_the_error_names_what_cannot_be_read_and_no_long_or_odd_name_gets_into_it() {
    let said = |claim: &Claim| aside(claim).unwrap().run.unwrap().detail.parse::<ErrorInfo>().unwrap().detail;
    let long = said(&in_state(&format!("a\u{1b}\n{}", "b".repeat(500))));
    assert!(long.starts_with("no handler for state `a\\u{1b}\\nbbb") && long.len() < 100, "{long}");
    // The handler exists, but the rest of the state is torn.
    let torn = said(&in_state("thinking"));
    assert!(torn.starts_with("cannot read state: missing field `step`"), "{torn}");
    let mut none = in_state("dreaming");
    none.session.state = Some(Payload::new("{ not json"));
    let commit = aside(&none).unwrap();
    assert!(said(&none).starts_with("cannot read state: "), "{}", said(&none));
    let letter = Letter::of(&opened(&none, &commit)).unwrap();
    assert_eq!((letter.turn, letter.after_message), (TurnNumber(0), MessageSeq(0)));
    let mut staged = claim();
    let call = CallId::new("c1-0").unwrap();
    staged.session.staged.results = vec![StagedResult { call, payload: Payload::new("{ not json") }];
    assert!(said(&staged).starts_with("cannot read staged result: call c1-0: "), "{}", said(&staged));
    assert_eq!(aside(&staged).unwrap().state, None, "there is no state");
}

#[test]
fn c03_a_session_that_others_may_read_or_that_would_be_due_at_once_is_not_set_aside() {
    let claim = in_state("dreaming");
    let error = refused(&claim);
    for what in ["state format", "definition", "machine"] {
        assert_eq!(set_aside(&claim, &StartError { what, ..error.clone() }, &facts()), None, "{what}");
    }
    let mut newer = claim.clone();
    newer.session.format = StateFormat(STATE_FORMAT.0 + 1);
    assert_eq!(aside(&newer), None);
    let encrypted = Payload::new(vec![crate::payload::Encoding::AES_256_SIV, 0, 0, 0, 7, 1, 2, 3]);
    type Encode = fn(&mut Claim, Payload);
    let encode: [Encode; 3] = [
        |claim, bytes| claim.session.state = Some(bytes),
        |claim, bytes| claim.session.definition = bytes,
        |claim, payload| {
            let call = CallId::new("c1-0").unwrap();
            claim.session.staged.results = vec![StagedResult { call, payload }];
        },
    ];
    for encode in encode {
        let mut encoded = claim.clone();
        encode(&mut encoded, encrypted.clone());
        assert_eq!(aside(&encoded), None, "another process may have the key");
    }
    for kind in [InterruptKind::Soft, InterruptKind::Abort] {
        let mut stopped = claim.clone();
        let (id, at) = (InterruptId::new("stop").unwrap(), Timestamp::from_ms(7));
        stopped.session.interrupt =
            Some(Interrupt { id, kind, reason: "enough".to_owned(), at, incarnation: None });
        assert_eq!(aside(&stopped), None, "{kind:?}");
    }
    assert!(aside(&claim).is_some());
}

#[test]
fn c03_start_marks_stay_and_a_state_that_older_versions_cannot_read_is_not_written_again() {
    let mut claim = in_state("dreaming");
    claim.session.staged.starts = vec![CallId::new("c1-0").unwrap()];
    assert_eq!(aside(&claim).unwrap().state, None, "a store drops the marks with a new state");
    let mut known = in_state("dreaming");
    known.session.format = STATE_FORMAT;
    assert_eq!(aside(&known).unwrap().state, None);
}

#[test]
fn c03_an_open_letter_stays_and_an_answered_one_gives_way_to_one_that_can_be_answered() {
    let mut claim = in_state("dreaming");
    let mut letter = opened(&claim, &aside(&claim).unwrap());
    claim.fence.epoch = Epoch(6);
    claim.pending = vec![letter.clone()];
    let again = aside(&claim).unwrap();
    assert_eq!((again.open, again.close, again.consumed), (Vec::new(), Vec::new(), Vec::new()));

    letter.answered = 1;
    claim.pending = vec![letter.clone()];
    claim.inbox[1].kind = ItemKind::Answer { pending: letter.id.clone(), settles: false };
    let commit = aside(&claim).unwrap();
    assert_ne!(opened(&claim, &commit).id, letter.id, "a store takes no id twice");
    assert_eq!((commit.close, commit.consumed), (vec![letter.id], vec![InboxSeq(4)]));
}
