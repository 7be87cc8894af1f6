//! The end of a run.

use crate::engine::RunOutcome;
use crate::engine::turn::draining::Drain;
use crate::store::Release;

/// The state of the end of a run.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// The point up to which the run goes on, once it must leave the session to another run.
    pub(crate) draining: Option<Drain>,
    /// True if the run has given up because of an error. A second error ends the run at once.
    pub(crate) given_up: bool,
    /// The outcome of the run once its last commit is acknowledged.
    pub(crate) leaving: Option<RunOutcome>,
    /// The release of the session in the last commit, until that commit is requested.
    pub(crate) release: Option<Release>,
    /// The outcome of the run, once it has ended.
    pub(crate) exit: Option<RunOutcome>,
}

impl End {
    /// Cancels the end: the run goes on.
    pub(crate) fn stay(&mut self) {
        self.leaving = None;
        self.release = None;
    }

    /// Makes the run leave the session with its next commit.
    pub(crate) fn leave(&mut self, outcome: RunOutcome, release: Release) {
        self.leaving = Some(outcome);
        self.release = Some(release);
    }

    /// Returns true if no new work starts any more.
    pub(crate) fn starts_nothing(&self) -> bool {
        self.draining == Some(Drain::Calls)
    }
}
