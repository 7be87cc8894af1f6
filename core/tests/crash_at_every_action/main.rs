//! Crash at every action (INV-08, INV-11 to INV-15, INV-18, INV-20).
//!
//! One mixed scenario is driven to its end without a fault. Then, for every k, a fresh store: the run
//! stops for good right after its k-th action was performed and before it learns so, time passes until the
//! lease is over, and other runs finish the work. What must then be found, in the transcript and in the
//! world, is derived from the action that was stopped at and never read off the stopped run.

mod driver;
mod expect;
mod scenario;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdover_core::machine::CallState;
use holdover_core::store::StateStore;
use holdover_store_memory::{Limits, MemoryStore};

use driver::{Point, Story};
use expect::Expected;
use world::VirtualClock;

/// Actions of the scenario when nothing goes wrong, every call of a group counted by itself. A change here
/// is a change of what the engine does: look at the list before changing the number.
const ACTIONS: usize = 80;

/// Every kind of action of the engine as it is. A test fails if one of them never happened.
const ACTION_KINDS: [&str; 12] = [
    "call_model",
    "commit",
    "consult",
    "exit",
    "provision",
    "read",
    "run_call",
    "sleep",
    "stage_result",
    "stop_calls",
    "stop_model",
    "tear_down",
];

async fn sweep<S: StateStore>(open: impl AsyncFn(VirtualClock) -> (Arc<S>, Box<dyn std::any::Any>)) {
    let clock = VirtualClock::default();
    let (store, guard) = open(clock.clone()).await;
    let calm = Story::tell(store, clock, None).await;
    drop(guard);
    let points: Vec<Point> = calm.points.clone();
    assert_covers(&calm);
    assert_eq!(calm.end, Expected::calm().end, "the end without a fault");
    assert_eq!(points.len(), ACTIONS, "number of actions: {:#?}", names(&points));
    for stop in 1..=points.len() {
        let clock = VirtualClock::default();
        let (store, guard) = open(clock.clone()).await;
        let told = Story::tell(store, clock, Some(stop)).await;
        drop(guard);
        let at = &points[stop - 1];
        assert!(told.fault_fired, "stop {stop} ({at:?}): the run was not stopped");
        let expected = Expected::after(&points, stop);
        assert_eq!(told.end, expected.end, "stopped after action {stop}: {at:?}");
        expected.check_world(&told.sends, stop, at);
        told.check_invariants();
    }
}

fn names(points: &[Point]) -> Vec<String> {
    points.iter().enumerate().map(|(at, point)| format!("{} {point:?}", at + 1)).collect()
}

fn assert_covers(story: &Story) {
    let kinds: BTreeSet<&str> = story.points.iter().map(|point| point.kind).collect();
    assert_eq!(kinds, ACTION_KINDS.into_iter().collect(), "kinds of actions");
    let states: BTreeSet<&str> = story.call_states.iter().copied().collect();
    let all: BTreeSet<&str> = CallState::NAMES.into_iter().collect();
    let missing: Vec<&&str> = all.difference(&states).collect();
    assert!(missing.is_empty(), "call states that never occurred: {missing:?}");
    let classes: BTreeMap<&str, usize> = story.sends.iter().fold(BTreeMap::new(), |mut count, send| {
        *count.entry(send.effect.as_str()).or_default() += 1;
        count
    });
    assert_eq!(classes.len(), 3, "effect classes sent: {classes:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn memory_ends_as_promised_wherever_it_stops() {
    sweep(async |clock: VirtualClock| {
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::with(clock, Limits::default()));
        (store, Box::new(()) as Box<dyn std::any::Any>)
    })
    .await;
}
