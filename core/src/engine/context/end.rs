//! The end of a run.

use crate::engine::RunOutcome;
use crate::engine::turn::draining::Drain;
use crate::store::Release;

/// Whether a run is about to end, and how.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// How far the run goes on, once it was told to leave the session to another run.
    pub(crate) draining: Option<Drain>,
    /// Whether the run has given up because of an error, so that a second one ends it at once.
    pub(crate) given_up: bool,
    /// The outcome of the run once its last commit is acknowledged.
    pub(crate) leaving: Option<RunOutcome>,
    /// How the last commit leaves the session, until that commit is requested.
    pub(crate) release: Option<Release>,
    /// The outcome of the run, once it has ended.
    pub(crate) exit: Option<RunOutcome>,
}

impl End {
    /// The run stays after all.
    pub(crate) fn stay(&mut self) {
        self.leaving = None;
        self.release = None;
    }

    /// Makes the run leave the session with its next commit.
    pub(crate) fn leave(&mut self, outcome: RunOutcome, release: Release) {
        self.leaving = Some(outcome);
        self.release = Some(release);
    }

    /// Whether nothing starts any more.
    pub(crate) fn starts_nothing(&self) -> bool {
        self.draining == Some(Drain::Calls)
    }
}
