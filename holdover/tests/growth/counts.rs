//! The store operations of one step, counted: they are the same early and late in a session.
//!
//! Requirements: C15, H19, U01.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use crate::agent::{self, Answer, DELTA_INTERVAL};
use crate::kinds::{KINDS, Step, place};
use crate::watch::{Cost, Watched};

const DELTAS: &str = "append_deltas";

/// The statements of one batch of deltas.
const STREAMED: usize = 5;

/// The statements of the answer that ends the turn, in one commit that also ends the run.
const ENDING: usize = 11;

const STEPS: u64 = 1_005;
/// The steps whose cost is checked: one of each kind early, and one of each kind late.
const EARLY: RangeInclusive<u64> = 6..=10;
const LATE: RangeInclusive<u64> = 1_001..=1_005;

/// The maximum number of bytes by which late steps may be larger than early ones. Their numbers have more digits: up to 139
/// bytes in all commits of a step.
const DIGITS_MAX: usize = 140;

/// The same, over what is counted for an early step of the kind.
const OVER_MAX: usize = 50;

fn answer(step: u64) -> Answer {
    let Step { asks, words, .. } = KINDS[place(step)];
    // Streaming takes time, so only the checked steps do it.
    let looked_at = EARLY.contains(&step) || LATE.contains(&step);
    Answer { asks, words: if looked_at { words } else { 0 } }
}

/// Requirements: C15, H19, U01.
#[tokio::test]
async fn a_step_costs_as_many_writes_statements_and_bytes_late_as_early() {
    let _alone = crate::ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let store = Watched::deaf(agent::open(folder.path()).await);
    let costs = Arc::new(Mutex::new(Vec::<Cost>::new()));
    let hooks = {
        let costs = Arc::clone(&costs);
        store.hooks(move |cost| costs.lock().unwrap().push(cost))
    };
    agent::run(Arc::new(store.store()), agent::agent(answer, STEPS, hooks)).await;
    store.check_what_time_brought(0);
    let last = store.settled().await;
    // The cost of a step is known once the model is asked for the next one.
    let costs = costs.lock().unwrap();
    let of = |step: u64| costs[usize::try_from(step).unwrap()].clone();
    for (early, late) in EARLY.zip(LATE) {
        for step in [early, late] {
            check(step, of(step), &KINDS[place(step)]);
        }
        let (early, late) = (of(early), of(late));
        if early.provisional == late.provisional {
            assert_eq!(early.statements, late.statements);
        }
        assert!(late.beside <= early.beside + DIGITS_MAX, "{} bytes, then {}", early.beside, late.beside);
    }
    assert_eq!((last.transactions, last.statements.len()), (1, ENDING), "{:#?}", last.statements);
}

#[track_caller]
fn check(step: u64, mut cost: Cost, kind: &Step) {
    let deltas = cost.calls.remove(DELTAS).unwrap_or_default();
    let due = cost.took.as_millis() / DELTA_INTERVAL.as_millis();
    assert!(deltas as u128 <= due, "step {step}: {deltas} times were deltas written, {due} were due");
    assert_eq!(deltas > 0, kind.words > 0, "step {step}: {deltas} times were deltas written");

    let expected: BTreeMap<_, _> = kind.calls.iter().copied().collect();
    assert_eq!(cost.calls, expected, "step {step}");
    assert_eq!(cost.transactions - cost.provisional, kind.synced(), "step {step}");
    assert_eq!(cost.provisional, deltas as u64, "step {step}");
    let statements = kind.statements + deltas * STREAMED;
    assert_eq!(cost.statements.len(), statements, "step {step}: {:#?}", cost.statements);
    let most = kind.beside_max + OVER_MAX;
    assert!(cost.beside <= most, "step {step}: {} bytes beside the transcript", cost.beside);
}
