//! Chooses scripts that together reach every answer, judged by the model's answers.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use holdover_store::time::Timestamp;
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;

use super::{Coverage, List, Play, Powers, Reached, Script, Scripts};

/// The maximum number of operations in a script. The minimum is half of it.
const OPERATIONS_MAX: usize = 80;
/// The maximum number of scripts that are drawn. Most seeds need fewer than a hundred.
const DRAWN_MAX: usize = 3_000;

/// Creates a runner with a seed, a number of cases, and a maximum number of steps that shorten a failing case.
pub(crate) fn runner(seed: u64, cases: u32, shrinks_max: u32) -> TestRunner {
    let config = Config {
        cases,
        // The first rejected case ends the run.
        max_global_rejects: 0,
        max_shrink_iters: shrinks_max,
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Returns a strategy for scripts, each with a counter in which the caller stores how many operations it played.
pub(crate) fn strategy() -> impl Strategy<Value = (Script, Option<Arc<AtomicUsize>>)> {
    Scripts::sequential_strategy(OPERATIONS_MAX / 2..=OPERATIONS_MAX)
        .prop_map(|(_, steps, seen)| (List(steps), seen))
}

/// The chosen scripts, and the answers that no script reached.
#[derive(Debug)]
pub(crate) struct Cover {
    pub(crate) scripts: Vec<Script>,
    pub(crate) missing: Vec<Reached>,
}

/// Chooses scripts until they reach, together with the `kept` scripts, every answer that a store with these powers must
/// give. Gives up after `DRAWN_MAX` scripts. Each script is played on the model and chosen if it reaches an answer that
/// no earlier one did.
pub(crate) fn cover(seed: u64, powers: Powers, kept: &[Script]) -> Cover {
    let mut reached = Coverage::default();
    kept.iter().for_each(|script| note(&mut reached, script, powers));
    let (mut runner, strategy) = (runner(seed, 0, 0), strategy());
    let (mut scripts, mut missing) = (Vec::new(), reached.missing(powers));
    for _ in 0..DRAWN_MAX {
        if missing.is_empty() {
            break;
        }
        // A strategy that rejects nothing never runs out of values.
        let Ok(tree) = strategy.new_tree(&mut runner) else { break };
        let (script, _) = tree.current();
        let mut then = reached.clone();
        note(&mut then, &script, powers);
        let left = then.missing(powers);
        if left.len() < missing.len() {
            (reached, missing) = (then, left);
            scripts.push(script);
        }
    }
    Cover { scripts, missing }
}

/// Plays a script on the model and notes its answers.
fn note(reached: &mut Coverage, script: &Script, powers: Powers) {
    let mut play = Play::new(powers, Timestamp::from_ms(1_800_000_000_000));
    for (_, op) in script.iter() {
        if play.pass(op).is_none()
            && let Some((request, answer)) = play.ask(op)
        {
            reached.note(&request, &answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::script::{By, Op};

    const ALL: Powers = Powers { forks: true, retention: true, moves_time: true, due_order: true };

    #[test]
    fn every_seed_reaches_everything() {
        for seed in 0..SEEDS {
            let cover = cover(seed, ALL, &[]);
            assert_eq!(cover.missing, [], "seed {seed}");
        }
    }

    #[test]
    fn less_is_asked_of_a_store_that_can_do_less() {
        for powers in [
            Powers { forks: false, ..ALL },
            Powers { retention: false, ..ALL },
            Powers { moves_time: false, ..ALL },
            Powers { due_order: false, ..ALL },
        ] {
            assert_eq!(cover(59, powers, &[]).missing, [], "{powers:?}");
        }
    }

    #[test]
    fn what_is_never_drawn_is_missing() {
        let whole = cover(0, ALL, &[]).scripts;
        let arms: BTreeSet<String> = whole.iter().flat_map(|script| script.iter().map(arm)).collect();
        assert!(arms.len() > 20, "{arms:?}");
        for gone in arms {
            let mut reached = Coverage::default();
            for script in &whole {
                let rest = script.iter().filter(|step| arm(step) != gone).cloned().collect();
                note(&mut reached, &List(rest), ALL);
            }
            assert_ne!(reached.missing(ALL), [], "without {gone}");
        }
    }

    /// Returns the arm of the generator that an operation comes from.
    fn arm((_, op): &(By, Op)) -> String {
        let op = if let Op::Look { at, .. } = op { format!("{at:?}") } else { format!("{op:?}") };
        op.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
    }

    const SEEDS: u64 = 12;
}
