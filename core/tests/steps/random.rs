//! Random scenarios: random models, people, clocks and crashes, in random order.
//!
//! To play more of them: `HOLDOVER_CASES=20000 cargo test -p holdover-core --test steps random`.
//!
//! Requirements: A40, A41, A42, B06, B07, B14, B21, B28, B49, C19, C34, C42, C51, C52, C56, C57, D19, D23, H18, U04, U08.

use std::sync::atomic::{AtomicUsize, Ordering};

use holdover_core::agent::{AtMax, Compaction, Fallback, OnDoubt, OnTrip};
use holdover_core::engine::ATTEMPTS_MAX;
use holdover_core::hook::HookPoint;
use holdover_core::letter::LetterCause;
use holdover_core::machine::DoneReason;
use holdover_core::message::{SignalBody, WhileAsking};
use holdover_core::store::{PendingKind, SessionStatus};
use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;
use serde_json::json;

use crate::bench::Bench;
use crate::world::state_rules;

mod checks;
mod story;
mod world;

use story::{Happens, happens, thought};
use world::World;

/// Plays a first message in this session, hands it over with a second, and returns the session that takes over.
fn handed_over(source: &Bench, draft: bool) -> Bench {
    let mut world = World::new(source, 0);
    world.happen(&Happens::Say(None));
    world.come_to_rest();
    let bench = source.hand_off("word 2", draft);
    bench.signal(&SignalBody::Resume);
    bench
}

fn cases() -> u32 {
    std::env::var("HOLDOVER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

/// Returns the number of threads that play scenarios. Each thread draws its own scenarios.
fn threads() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1))
}

/// The number of turns of all scenarios that were given up because their runs died.
static POISONED: AtomicUsize = AtomicUsize::new(0);

/// Requirements: A42, B06, B07, B28, B49, C19, C34, C51, C52, C56, C57, D19, D23, U04, U08.
#[test]
fn whatever_happens_every_session_comes_to_rest_and_its_transcript_is_whole() {
    std::thread::scope(|scope| (0..threads()).for_each(|_| drop(scope.spawn(play))));
    let poisoned = POISONED.load(Ordering::Relaxed);
    assert!(poisoned > 0 || cases() < 200, "no session was poisoned in {} scenarios", cases());
}

#[test]
fn c52_a_session_whose_runs_die_is_tried_again_by_a_person_and_comes_to_rest() {
    let bench = Bench::new();
    let mut world = World::new(&bench, 0);
    for what in [Happens::Say(None), Happens::Crashes { runs: ATTEMPTS_MAX }, Happens::GoOn { actions: 1 }] {
        world.happen(&what);
    }
    assert_eq!((bench.status(), bench.asked().kind), (SessionStatus::Failed, PendingKind::DeadLetter));
    world.come_to_rest();
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    assert_eq!(world.letters().len(), 1);
    world.check();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases().div_ceil(threads()),
        max_shrink_iters: 2_000,
        failure_persistence: None,
        // Drawing a story takes a good part of its time. This generator is the fastest.
        rng_algorithm: RngAlgorithm::XorShift,
        ..ProptestConfig::default()
    })]

    fn play(
        provisions: bool,
        hooked: bool,
        sync: bool,
        falls_back: bool,
        observes: bool,
        context in prop::option::of(60..300_u64),
        thoughts in prop::collection::vec(thought(), 0..8),
        denies: bool,
        few in prop::option::of(prop::sample::select(vec![AtMax::Stop, AtMax::Ask])),
        schema: bool,
        (early, handed, asks) in any::<(bool, Option<bool>, bool)>(),
        story in prop::collection::vec(happens(), 0..120),
    ) {
        let fresh = Bench::with(|agent| {
            agent.provisions = provisions;
            if let Some(at_max) = few {
                agent.limits.max_steps = 2;
                agent.at_max = at_max;
            }
            if schema {
                let log = json!({ "type": "array", "maxItems": 3 });
                agent.state = state_rules(json!({ "properties": { "log": log } }));
            }
            agent.state.bytes_max = 250;
            agent.early_reads = early;
            if hooked {
                agent.hooks = [HookPoint::AfterStep, HookPoint::AgentEnd, HookPoint::Transition].into();
            }
            if falls_back {
                agent.fallback = vec![Fallback { model: "other".into(), prices: None }];
            }
            if asks {
                agent.in_doubt = OnDoubt::Ask;
            }
            if observes {
                agent.retries.on_trip = OnTrip::Observe;
            }
            if denies {
                agent.on_message_while_asking = WhileAsking::Deny;
            }
            if sync {
                agent.durability = holdover_core::agent::Durability::Sync;
            }
            // The context is small, so old messages are summarised and cleared again and again.
            if let Some(context_tokens) = context {
                agent.compaction = Compaction::default().context_tokens(context_tokens).kept_turns(1).clear_results_over(3).kept_results(1).summarise_results(true);
            }
        });
        // The session is new or takes over from another. In that case it already has two messages.
        let (bench, heard) = match handed {
            None => (fresh, 0),
            Some(draft) => (handed_over(&fresh, draft), 2),
        };
        let mut world = World::new(&bench, heard);
        world.thoughts = thoughts.into_iter();
        world.happen(&Happens::Say(None));
        for what in &story {
            world.happen(what);
        }
        world.come_to_rest();
        if bench.session().unread > 0 {
            // Notes wake no session. They are taken with the next message.
            world.happen(&Happens::Say(None));
            world.come_to_rest();
        }
        world.check();
        let died = world.letters().iter().filter(|letter| letter.cause == LetterCause::Poisoned).count();
        POISONED.fetch_add(died, Ordering::Relaxed);
    }
}
