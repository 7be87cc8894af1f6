//! Searching for a script on which a store and the model differ, and making it short.

use proptest::prelude::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use tokio::sync::{mpsc, oneshot};

use super::compare::{Compare, Story, play};
use crate::bench::Bench;
use crate::failure::{CaseResult, Failure};
use crate::script::{Coverage, List, Powers, Script, Scripts};
use holdover_core::store::StateStore;

/// How many scripts there are, unless the variable `HOLDOVER_CASES` says so.
const SCRIPTS: u32 = 16;
const OPERATIONS_MAX: usize = 80;
/// How many times as many may be played until everything was reached.
const MORE_TO_COVER: u32 = 10;
/// How often a script that fails is made shorter.
const SHRINKS_MAX: u32 = 3_000;

/// A script to be played, and where to say how it went: how far it came, and whether it agreed.
type Asked = (Script, oneshot::Sender<(usize, Went)>);

/// How a script went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Went {
    Agreed,
    Differed,
    /// It agreed, and no more are needed.
    Enough,
}

/// When the search is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// So many scripts were played.
    Played,
    /// Everything was reached, or many times as many were played.
    Covered,
}

impl Until {
    fn scripts(self) -> u32 {
        let set = std::env::var("HOLDOVER_CASES").ok().and_then(|text| text.parse().ok());
        let scripts: u32 = set.unwrap_or(SCRIPTS);
        match self {
            Self::Played => scripts,
            Self::Covered => scripts.max(SCRIPTS).saturating_mul(MORE_TO_COVER),
        }
    }
}

/// Plays as many scripts as there are, and answers what was reached. `Err`: the shortest script that was
/// found on which the store and the model differ.
pub(super) async fn search(
    t: &Bench,
    compare: Compare,
    story: Story,
    until: Until,
    mut reached: Coverage,
) -> CaseResult<(Powers, Coverage)> {
    let (ask, mut asked) = mpsc::unbounded_channel::<Asked>();
    let seed = t.seed();
    // What proptest draws from cannot be held across an await, so it has a thread of its own.
    let drawing = tokio::task::spawn_blocking(move || draw(seed, until.scripts(), &ask));
    let powers = Powers::of(&t.store.capabilities(), t.moves_time());
    while let Some((script, answer)) = asked.recv().await {
        let played = play(t.another().await, &script, compare, story, &mut reached).await;
        // Nobody listens any more if the search was given up.
        let _ =
            answer.send((played.steps, went(&played.result, until, || reached.missing(powers).is_empty())));
    }
    let found = drawing.await.map_err(|error| Failure::new(format!("no scripts were drawn: {error}")))?;
    let Err(script) = found else {
        return Ok((powers, reached));
    };
    t.forget_history();
    let again = play(t.another().await, &script, compare, story, &mut reached).await;
    let shown = shown(&script);
    Err(match again.result {
        Err(failure) => Failure::new(format!("{}\n  the shortest script found:\n{shown}", failure.text())),
        Ok(()) => {
            Failure::new(format!("expected the same answers each time\n    found others at times:\n{shown}"))
        }
    })
}

fn went(result: &CaseResult, until: Until, covered: impl FnOnce() -> bool) -> Went {
    match (result, until) {
        (Err(_), _) => Went::Differed,
        (Ok(()), Until::Covered) if covered() => Went::Enough,
        (Ok(()), Until::Covered | Until::Played) => Went::Agreed,
    }
}

/// As code, to be kept among the regressions.
fn shown(script: &Script) -> String {
    let steps = script.iter().map(|step| format!("        {step:?},\n"));
    format!("    list([\n{}    ])", steps.collect::<String>())
}

/// Draws scripts and has them played. `Err`: one that failed, made short.
fn draw(seed: u64, cases: u32, ask: &mpsc::UnboundedSender<Asked>) -> Result<(), Script> {
    let config = Config {
        cases,
        // The first is the end.
        max_global_rejects: 0,
        max_shrink_iters: SHRINKS_MAX,
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let strategy = Scripts::sequential_strategy(OPERATIONS_MAX / 2..=OPERATIONS_MAX)
        .prop_map(|(_, steps, seen)| (List(steps), seen));
    let ended = TestRunner::new_with_rng(config, rng).run(&strategy, |(script, seen)| {
        let (answer, answered) = oneshot::channel();
        let lost = |_| TestCaseError::reject("the case was given up");
        ask.send((script, answer)).map_err(|_| TestCaseError::reject("the case was given up"))?;
        let (steps, went) = answered.blocking_recv().map_err(lost)?;
        if let Some(seen) = seen {
            seen.store(steps, std::sync::atomic::Ordering::SeqCst);
        }
        match went {
            Went::Agreed => Ok(()),
            Went::Differed => Err(TestCaseError::fail("they differ")),
            Went::Enough => Err(TestCaseError::reject("everything was reached")),
        }
    });
    match ended {
        Err(TestError::Fail(_, (script, _))) => Err(script),
        Ok(()) | Err(TestError::Abort(_)) => Ok(()),
    }
}
