//! The classification of a waiting batch, and the answers that it waits for.

use super::*;
use crate::store::OutcomeKind;

/// Checks every batch of up to three calls, each in one of the relevant states. Together they cover the whole
/// precedence table.
#[test]
fn every_mix_of_states_is_classified_by_the_table() {
    let client = CallState::BlockedOnClient { pending: pending(), deadline: None };
    let due = CallState::Waiting { until: FACTS.now, output: String::new(), stop: false, again: false };
    let kinds = [
        blocked(),
        client,
        children(true),
        children(false),
        awaiting(),
        waiting(),
        due,
        CallState::Done,
        CallState::Executing,
    ];
    let mut mixes: Vec<Vec<CallState>> = vec![Vec::new()];
    for _ in 0..3 {
        let longer: Vec<Vec<CallState>> = mixes
            .iter()
            .flat_map(|mix| {
                kinds.iter().map(move |kind| [mix.as_slice(), std::slice::from_ref(kind)].concat())
            })
            .collect();
        mixes.extend(longer);
    }
    let mut seen = BTreeSet::new();
    for mix in mixes {
        let has = |holds: &dyn Fn(&CallState) -> bool| mix.iter().any(holds);
        let goes_on = has(&|state| matches!(state, CallState::Executing) || *state == children(false))
            || has(&|state| state.wakes_at().is_some_and(|at| at <= FACTS.now));
        let answers = has(&|state| {
            matches!(state, CallState::BlockedOnUser { .. } | CallState::BlockedOnClient { .. })
        });
        let joins = has(&|state| *state == children(true) || *state == awaiting());
        let timers = has(&|state| matches!(state, CallState::Waiting { .. }));
        let ended = has(&CallState::is_end);
        let expected = match (goes_on, answers, timers, ended) {
            (true, ..) => None,
            (false, false, false, _) if joins => Some(OutcomeKind::SuspendedAwaitingChildren),
            (false, ..) if joins => Some(OutcomeKind::SuspendedStepPartial),
            (false, false, false, _) => None,
            (false, true, true, true) => Some(OutcomeKind::SuspendedStepPartial),
            (false, true, ..) => Some(OutcomeKind::SuspendedClientTool),
            (false, false, true, _) => Some(OutcomeKind::SuspendedUntil),
        };
        let found = classify_suspension(&batch(&mix), FACTS.now).map(|suspension| suspension.kind);
        assert_eq!(found, expected, "{mix:?}");
        seen.insert(found);
    }
    assert_eq!(seen.len(), 5, "every class occurred: {seen:?}");
}

#[test]
fn the_earliest_instant_wakes_it_and_everything_owed_is_named() {
    let early = CallState::BlockedOnUser { pending: pending(), deadline: Some(Timestamp::from_ms(8)) };
    let suspension = classify_suspension(&batch(&[waiting(), early]), FACTS.now).expect("parked");
    assert_eq!(suspension.until, Some(Timestamp::from_ms(8)));
    let owed: Vec<OwedKind> = suspension.owed.iter().map(|owed| owed.kind).collect();
    assert_eq!(owed, [OwedKind::Timer, OwedKind::Approval]);
}
