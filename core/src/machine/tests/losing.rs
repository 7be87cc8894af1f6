//! Calls that were out, or were sent before, when their turn failed or was forked: those that may have acted end in
//! doubt.

use super::*;

/// Returns the end of a call of this class that was in this state, once the turn failed or was forked.
fn ends(state: CallState, effect: EffectClass, input: &Input) -> CallState {
    let mut batch = batch(&[state]);
    batch.calls[0].effect = effect;
    let machine = at(AgentState::Executing { batch });
    let moved = transition(&machine, input, &FACTS).unwrap();
    left(&moved.effects).expect("the step is closed")
}

/// Returns the state of the first call of the step that is closed.
fn left(effects: &[Effect]) -> Option<CallState> {
    let closed = |effect: &Effect| {
        if let Effect::CloseStep(batch) = effect { Some(batch.calls[0].state.clone()) } else { None }
    };
    effects.iter().find_map(closed)
}

#[test]
fn what_is_out_ends_in_doubt_when_its_turn_fails_or_is_forked_unless_it_only_reads() {
    let out = [CallState::Preparing, CallState::Executing, CallState::CleaningUp];
    for (input, reason) in [
        (Input::Failed { error: error() }, CancelReason::SystemDisposed),
        (Input::Forked, CancelReason::SystemDisposed),
    ] {
        for state in &out {
            for effect in [EffectClass::Idempotent, EffectClass::AtMostOnce] {
                assert_eq!(ends(state.clone(), effect, &input), CallState::InDoubt, "{effect:?} {state:?}");
            }
            let reads = ends(state.clone(), EffectClass::ReadOnly, &input);
            assert_eq!(reads, CallState::Cancelled { reason }, "{state:?}");
        }
    }
}

#[test]
fn what_was_sent_before_and_waits_ends_in_doubt_when_its_turn_fails_or_is_forked() {
    for input in [Input::Failed { error: error() }, Input::Forked] {
        for state in [CallState::Queued, CallState::Approved, to_be_tried_again()] {
            let mut batch = batch(std::slice::from_ref(&state));
            batch.calls[0].effect = EffectClass::Idempotent;
            batch.calls[0].sent_before = true;
            let moved = transition(&at(AgentState::Executing { batch }), &input, &FACTS).unwrap();
            assert_eq!(left(&moved.effects), Some(CallState::InDoubt), "{state:?}");
        }
    }
}
