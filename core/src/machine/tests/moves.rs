//! `transition` gives equal results for equal arguments and returns effects as values, and each state owns
//! only its own data.
//!
//! Requirements: A02, A03, A12, B08, B09, B13.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn move_of(state: AgentState, input: &Input) -> Transition {
    transition(&at(state), input, &FACTS).expect("it is in the table")
}

fn turn_requested() -> Input {
    Input::TurnRequested {
        request: TurnRequest::Message,
        provisions: true,
        after: MessageSeq(0),
        asks_in_doubt: false,
        procedure: Box::default(),
        planned: false,
    }
}

#[test]
fn a02_what_must_be_done_is_a_value_beside_the_next_state() {
    let step = StepNumber(1);
    let entry = MessageSeq(2);
    let streaming = AgentState::Streaming { step, attempt: 3, entry };
    let executing = AgentState::Executing { batch: batch(&[CallState::Executing]) };
    let first = CallId::new("call-0").unwrap();
    let returned = Input::Call {
        call: first.clone(),
        input: CallInput::Returned { ok: true, stop: false, broken: false },
    };
    let stop = Ending::stopped(InterruptKind::Soft);
    let answered = inputs()
        .into_iter()
        .find(|input| matches!(input, Input::ModelAnswered { calls, .. } if !calls.is_empty()));
    let closed =
        AgentState::TearingDown { ending: Ending::of(DoneReason::ModelStop), left: Teardown::default() };

    let expected = [
        (AgentState::Idle, turn_requested(), vec![Effect::AnnounceTurn, Effect::Provision]),
        (
            AgentState::Thinking { step, attempt: 3 },
            Input::ModelCalled { entry, withheld: Vec::new() },
            vec![Effect::CallModel { step, attempt: 3, entry }],
        ),
        (streaming.clone(), answered.unwrap(), vec![Effect::Consult(vec![first.clone()])]),
        (
            streaming,
            Input::Interrupted { kind: InterruptKind::Soft, cause: StopCause::Asked },
            vec![Effect::StopModel],
        ),
        (
            executing.clone(),
            Input::Interrupted { kind: InterruptKind::Soft, cause: StopCause::Asked },
            vec![Effect::StopCalls(vec![first], CancelReason::UserCancelled)],
        ),
        (executing, returned, vec![Effect::CloseStep(batch(&[CallState::Done]))]),
        (closed, Input::TornDown, vec![Effect::AnnounceEnd(Ending::of(DoneReason::ModelStop))]),
    ];
    for (state, input, effects) in expected {
        let told = format!("{} on {}", state.kind().as_str(), input.kind().as_str());
        let moved = move_of(state.clone(), &input);
        assert_eq!(moved.effects, effects, "{told}");
        assert!(moved.moved && moved.next.state != state, "{told}");
    }
    // Surroundings are freed however the turn ends.
    let mut held = at(AgentState::Steering { from: SteeringFrom::Resumed });
    held.turn.provisioned = true;
    let steered = Input::Steered {
        stop: Some(stop),
        no_output: false,
        tokens: 0,
        results: None,
        cleared: None,
        asks: None,
        usage: Usage::default(),
        corrected: false,
    };
    let ended = transition(&held, &steered, &FACTS).unwrap();
    assert_eq!(ended.effects, [Effect::TearDown]);
}

#[test]
fn a03_the_same_machine_input_and_facts_have_the_same_next_machine_and_effects() {
    let copy = |machine: &Machine, input: &Input| -> (Machine, Input) {
        let text = |value: &str| value.to_owned();
        let machine = text(&serde_json::to_string(machine).unwrap());
        let input = text(&serde_json::to_string(input).unwrap());
        (serde_json::from_str(&machine).unwrap(), serde_json::from_str(&input).unwrap())
    };
    let mut first = Vec::new();
    for state in states() {
        for input in inputs() {
            let machine = at(state.clone());
            let decided = transition(&machine, &input, &FACTS);
            first.push((machine, input, decided));
        }
    }
    // Each handler runs alone, in another order, in another thread, and on copies that were stored and read.
    std::thread::spawn(move || {
        for (machine, input, decided) in first.into_iter().rev() {
            let (machine, input) = copy(&machine, &input);
            assert_eq!(transition(&machine, &input, &FACTS), decided, "{machine:?} on {input:?}");
        }
    })
    .join()
    .expect("the same");
}

/// Returns the names of all fields that a state has in any sample.
fn fields() -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut fields: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for state in states() {
        let stored = serde_json::to_value(&state).unwrap();
        let names = stored.as_object().unwrap().keys().filter(|name| *name != "state").cloned();
        fields.entry(state.kind().as_str()).or_default().extend(names);
    }
    let retried = serde_json::to_value(AgentState::Thinking { step: StepNumber(1), attempt: 2 }).unwrap();
    assert_eq!(retried["attempt"], 2);
    fields
}

#[test]
fn a12_each_state_has_its_own_data_and_nothing_that_is_shared() {
    // `attempt` is left out where it is the first; the samples have no other.
    let own: &[(&str, &[&str])] = &[
        ("idle", &[]),
        ("provisioning", &["request", "parked"]),
        ("thinking", &["step"]),
        ("streaming", &["step", "entry"]),
        ("executing", &["batch"]),
        ("confirming", &["batch"]),
        ("dispatching", &["batch"]),
        ("steering", &["from"]),
        ("compacting", &["why", "step"]),
        ("backing_off", &["step", "attempt", "until", "error"]),
        ("tearing_down", &["ending", "left"]),
        ("done", &["ending", "usage"]),
    ];
    let own: BTreeMap<&str, BTreeSet<String>> = own
        .iter()
        .map(|(state, names)| (*state, names.iter().map(|name| (*name).to_owned()).collect()))
        .collect();
    assert_eq!(fields(), own);
    // Data that all states share is counted outside them, and no state holds the text of a message or of arguments.
    let machine =
        serde_json::to_value(at(AgentState::Executing { batch: batch(&[CallState::Queued]) })).unwrap();
    let call = machine["state"]["batch"]["calls"][0].as_object().unwrap();
    assert!(call["arguments"].is_u64(), "the place of the arguments, not their text: {call:?}");
    for shared in ["turn", "step", "usage"] {
        assert!(machine.get(shared).is_some(), "{shared} stands beside the state");
        assert!(machine["state"].get(shared).is_none(), "{shared} is in no state");
    }
}

#[test]
fn b08_a_machine_that_is_asked_is_not_changed_and_what_follows_belongs_to_the_next_one() {
    for state in states() {
        for input in inputs() {
            let machine = at(state.clone());
            let before = machine.clone();
            let Ok(decided) = transition(&machine, &input, &FACTS) else { continue };
            assert_eq!(machine, before);
            for effect in &decided.effects {
                // The next state is the one that takes the answer to the request.
                let taken_in = match effect {
                    Effect::CallModel { .. } => StateKind::Streaming,
                    Effect::Consult(_) => StateKind::Executing,
                    Effect::Provision => StateKind::Provisioning,
                    Effect::TearDown => StateKind::TearingDown,
                    Effect::AnnounceTurn
                    | Effect::StopModel
                    | Effect::StopCalls(..)
                    | Effect::CloseStep(_)
                    | Effect::StateChanged(_)
                    | Effect::ProcedureMoved(_)
                    | Effect::AnnounceEnd(_) => continue,
                };
                assert_eq!(decided.next.state.kind(), taken_in, "{effect:?} of {input:?}");
            }
        }
    }
}

#[test]
fn b09_a_message_begins_a_turn_without_steering_at_the_first_attempt_and_at_its_own_instant() {
    let mut machine = at(AgentState::Done { ending: Ending::error(error()), usage: Usage::default() });
    machine.turn.steps = 7;
    machine.turn.worked_ms = 9_000;
    machine.turn.answered = true;
    let begun = transition(&machine, &turn_requested(), &FACTS).unwrap().next;
    assert_eq!((begun.turn.number.0, begun.turn.steps, begun.turn.calls), (1, 0, 0));
    assert_eq!((begun.turn.claimed_at, begun.turn.worked_ms, begun.turn.answered), (FACTS.now, 0, false));
    let ready = transition(&begun, &Input::Provisioned, &FACTS).unwrap().next;
    assert_eq!(ready.state, AgentState::Thinking { step: StepNumber(2), attempt: 0 });
    // A turn that is resumed is steered first, because it may be over already.
    let again = Input::TurnRequested {
        request: TurnRequest::Resume,
        provisions: false,
        after: MessageSeq(0),
        asks_in_doubt: false,
        procedure: Box::default(),
        planned: false,
    };
    let begun = transition(&machine, &again, &FACTS).unwrap().next;
    let ready = transition(&begun, &Input::Provisioned, &FACTS).unwrap().next;
    assert_eq!(ready.state, AgentState::Steering { from: SteeringFrom::Resumed });
}

#[test]
fn b13_a_model_is_never_asked_beside_another_and_each_request_has_a_place_of_its_own() {
    let asked = Input::ModelCalled { entry: MessageSeq(5), withheld: Vec::new() };
    for state in states() {
        let thinks = state.kind() == StateKind::Thinking;
        assert_eq!(transition(&at(state), &asked, &FACTS).is_ok(), thinks);
    }
    // A run forgets the model request of a run that died, and asks again.
    let streaming = AgentState::Streaming { step: StepNumber(1), attempt: 1, entry: MessageSeq(2) };
    let found = move_of(streaming, &Input::Claimed { takeover: true });
    assert_eq!(found.next.state, AgentState::Thinking { step: StepNumber(1), attempt: 1 });
    let anew = transition(&found.next, &asked, &FACTS).unwrap();
    let step = StepNumber(1);
    assert_eq!(anew.effects, [Effect::CallModel { step, attempt: 1, entry: MessageSeq(5) }]);
}

#[test]
fn a_refusal_that_cancels_the_rest_leaves_children_to_their_work() {
    let first = CallId::new("call-0").unwrap();
    let beside = [blocked(), children(true), CallState::Approved];
    let rejected = CallInput::Rejected { then: OnDenial::CancelRest, aborts: false };
    let refused = Input::Call { call: first, input: rejected };
    let moved = move_of(AgentState::Executing { batch: batch(&beside) }, &refused);
    let AgentState::Dispatching { batch } = moved.next.state else { panic!("{:?}", moved.next.state) };
    let states: Vec<&CallState> = batch.calls.iter().map(|call| &call.state).collect();
    let cancelled = CallState::Cancelled { reason: CancelReason::UserRejected };
    assert_eq!(states, [&CallState::RejectedByUser, &children(true), &cancelled]);
}
