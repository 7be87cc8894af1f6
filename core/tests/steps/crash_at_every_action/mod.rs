//! Crash at every action (INV-08, INV-11 to INV-15, INV-18, INV-20).
//!
//! One mixed scenario is first played to its end without a fault. Then, for every k, it is played again in a fresh
//! store. The run stops for good right after its k-th action was performed and before it gets the reply. Time passes
//! until the lease is over, and other runs finish the work. The expected transcript and sends are derived from the
//! action at which the run stopped, never from the stopped run. The whole is repeated for every k with a run that is
//! told to leave its session to another run.
//!
//! Requirements: A57, B45, B46, C17, C33, C47, C54, D11, U03.

mod children;
mod driver;
mod expect;
mod scenario;
mod sends;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdover_core::engine::Drain;
use holdover_core::machine::CallState;
use holdover_store_memory::{Limits, MemoryStore};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};

use driver::{Fault, Place, Point, Story};
use expect::Expected;

use crate::world::VirtualClock;

/// The number of actions in a run without a fault, with each call of a group counted singly. A change of this number is
/// a change in what the engine does: look at the list of actions before you change it.
const ACTIONS: usize = 106;

/// The kinds of actions that the scenario must contain. A test fails if one of them never happens.
const ACTION_KINDS: [&str; 15] = [
    "call_model",
    "commit",
    "consult",
    "exit",
    "provision",
    "read",
    "run_calls",
    "sleep",
    "stage",
    "start_children",
    "stop_calls",
    "stop_model",
    "summarise",
    "tear_down",
    "tell_others",
];

async fn sweep<P: Place>(fresh: impl Fn(VirtualClock) -> P) {
    let calm = Story::tell(fresh(VirtualClock::default()), None).await;
    let points: Vec<Point> = calm.points.clone();
    assert_covers(&calm);
    assert_eq!(calm.end, Expected::calm().end, "the end without a fault");
    assert_eq!(points.len(), ACTIONS, "number of actions: {:#?}", names(&points));
    for stop in 1..=points.len() {
        let told = Story::tell(fresh(VirtualClock::default()), Some((stop, Fault::Dies))).await;
        let at = &points[stop - 1];
        assert!(told.fault_fired, "stop {stop} ({at:?}): the run was not stopped");
        let expected = Expected::after(&points, stop);
        assert_eq!(told.end, expected.end, "stopped after action {stop}: {at:?}");
        expected.check_world(&told.sends, stop, at);
        told.check_invariants();
    }
}

/// Checks that another run goes on wherever a run is told to leave, and that the outcome is the same as with one run.
/// No call is in doubt, no call is sent twice, and no run takes over from a dead one.
async fn sweep_of_drains<P: Place>(drains: &[Drain], fresh: impl Fn(VirtualClock) -> P) {
    let expected = Expected::calm();
    for &drain in drains {
        for at in 1..=ACTIONS {
            let fault = Some((at, Fault::Drains(drain)));
            let told = Story::tell(fresh(VirtualClock::default()), fault).await;
            assert!(told.fault_fired, "{drain:?} after action {at}: the run was not told");
            let point = &told.points[at - 1];
            assert_eq!(told.end, expected.end, "{drain:?} after action {at}: {point:?}");
            for (call, tool, least, _) in &expected.sends {
                let count = told.sends.iter().filter(|send| send.call == *call).count();
                assert_eq!(
                    count, *least,
                    "{drain:?} after action {at} ({point:?}): sends of {tool} ({call})"
                );
            }
            told.check_invariants();
        }
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
    // `named_signals` sweeps a wait for a signal by itself.
    let missing: Vec<&&str> = all.difference(&states).filter(|state| **state != "awaiting_signal").collect();
    assert!(missing.is_empty(), "call states that never occurred: {missing:?}");
    let classes: BTreeMap<&str, usize> = story.sends.iter().fold(BTreeMap::new(), |mut count, send| {
        *count.entry(send.effect.as_str()).or_default() += 1;
        count
    });
    assert_eq!(classes.len(), 3, "effect classes sent: {classes:?}");
}

/// A place in memory. Its data does not survive its process, so here the process goes on and only the run dies.
struct Memory(VirtualClock, MemoryStore);

impl Place for Memory {
    type Store = MemoryStore;

    fn clock(&self) -> &VirtualClock {
        &self.0
    }

    async fn open(&self) -> MemoryStore {
        self.1.clone()
    }
}

/// A place in a file. After a crash the file is opened again; the old handle is dropped without being closed.
struct File(VirtualClock, tempfile::TempDir);

impl Place for File {
    type Store = SqliteStore;

    fn clock(&self) -> &VirtualClock {
        &self.0
    }

    async fn open(&self) -> SqliteStore {
        let options = SqliteOptions::new(self.1.path().join("sessions.db")).clock(Arc::new(self.0.clone()));
        SqliteStore::open(options).await.expect("opened")
    }
}

#[tokio::test(flavor = "current_thread")]
async fn memory_ends_as_promised_wherever_it_stops() {
    sweep(|clock| Memory(clock.clone(), MemoryStore::with(clock, Limits::default()))).await;
}

/// Requirements: A57, B45, B46, C17, C33, C47, C54, D11, U03.
#[tokio::test(flavor = "current_thread")]
async fn sqlite_ends_as_promised_wherever_it_stops() {
    sweep(|clock| File(clock, tempfile::tempdir().expect("a folder"))).await;
}

#[tokio::test(flavor = "current_thread")]
async fn memory_ends_as_if_nothing_was_wherever_a_run_is_told_to_leave() {
    let all = [Drain::Calls, Drain::Step, Drain::Turn];
    sweep_of_drains(&all, |clock| Memory(clock.clone(), MemoryStore::with(clock, Limits::default()))).await;
}

#[tokio::test(flavor = "current_thread")]
async fn sqlite_ends_as_if_nothing_was_wherever_a_run_is_told_to_leave() {
    sweep_of_drains(&[Drain::Calls], |clock| File(clock, tempfile::tempdir().expect("a folder"))).await;
}
