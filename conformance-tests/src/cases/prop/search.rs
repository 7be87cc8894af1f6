//! Searches for a script on which a store and the model differ, and shortens it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use proptest::test_runner::{TestCaseError, TestError};
use tokio::sync::{mpsc, oneshot};

use super::compare::{Compare, Story, play};
use crate::cases::prelude::*;
use crate::script::{Coverage, Script, strategy};

/// The maximum number of attempts to shorten a failing script.
const SHRINKS_MAX: u32 = 3_000;

/// A script to play, and the channel for its result: the number of steps, and whether the store agreed with the model.
type Asked = (Script, oneshot::Sender<(usize, bool)>);

/// Plays as many scripts as the settings say. Fails with the shortest script found on which the store and the model
/// differ.
pub(super) async fn search(t: &Bench, story: Story) -> CaseResult {
    let (ask, mut asked) = mpsc::unbounded_channel::<Asked>();
    let (seed, scripts) = (t.seed(), t.settings().scripts.get());
    // The state of proptest cannot be held across an await, so proptest runs in a thread of its own.
    let drawing = tokio::task::spawn_blocking(move || draw(seed, scripts, &ask));
    let mut shrinking = Shrinking { differed: false, ends: None };
    while let Some((script, answer)) = asked.recv().await {
        // The send fails if the search was abandoned.
        let _ = answer.send(match shrinking.is_over() {
            true => (script.len(), true),
            false => {
                let played = play(t.another().await, &script, Compare::Rows, story, &mut nobody()).await;
                shrinking.note(t, &played.result);
                (played.steps, played.result.is_ok())
            }
        });
    }
    let found = drawing.await.map_err(|error| Failure::new(format!("no scripts were drawn: {error}")))?;
    let Err(script) = found else {
        return Ok(());
    };
    t.forget_history();
    let again = play(t.another().await, &script, Compare::Rows, story, &mut nobody()).await;
    Err(match again.result {
        Err(failure) => failure.followed_by(&format!("  the shortest script found:\n{}", script.as_code())),
        Ok(()) => Failure::new(format!(
            "expected the same answers each time\n    found others at times:\n{}",
            script.as_code()
        )),
    })
}

/// Returns a coverage whose content is not used.
fn nobody() -> Coverage {
    Coverage::default()
}

/// The time limit of the search for a shorter script: half of the time that is left when the first failing script is
/// found.
struct Shrinking {
    differed: bool,
    ends: Option<Instant>,
}

impl Shrinking {
    fn note(&mut self, t: &Bench, result: &CaseResult) {
        if result.is_err() && !self.differed {
            self.differed = true;
            self.ends = t.half_time();
        }
    }

    /// Returns true if the time is over. Then every further script counts as passed, so that the shortest so far is
    /// used.
    fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends)
    }
}

/// Draws scripts and sends them to be played. Fails with the shortened script if one failed.
fn draw(seed: u64, scripts: u32, ask: &mpsc::UnboundedSender<Asked>) -> Result<(), Script> {
    let mut runner = crate::script::runner(seed, scripts, SHRINKS_MAX);
    let ended = runner.run(&strategy(), |(script, seen)| {
        let (answer, answered) = oneshot::channel();
        ask.send((script, answer)).map_err(|_| given_up())?;
        let (steps, agreed) = answered.blocking_recv().map_err(|_| given_up())?;
        if let Some(seen) = seen {
            AtomicUsize::store(&seen, steps, Ordering::SeqCst);
        }
        if agreed { Ok(()) } else { Err(TestCaseError::fail("they differ")) }
    });
    match ended {
        Err(TestError::Fail(_, (script, _))) => Err(script),
        Ok(()) | Err(TestError::Abort(_)) => Ok(()),
    }
}

fn given_up() -> TestCaseError {
    TestCaseError::reject("the case was given up")
}
