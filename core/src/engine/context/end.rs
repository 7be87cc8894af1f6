//! The end of a run.

use crate::engine::RunOutcome;
use crate::engine::rest::draining::Drain;
use crate::store::Release;

/// Whether a run is on its way out, and how.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// How far it goes on, once it was told to leave the session to another run.
    pub(crate) draining: Option<Drain>,
    /// Whether it has given up on an error, so that a second one ends it at once.
    pub(crate) given_up: bool,
    /// How it ends once its last commit is acknowledged.
    pub(crate) leaving: Option<RunOutcome>,
    /// How its last commit leaves the session, until that is asked for.
    pub(crate) release: Option<Release>,
    /// How it has ended.
    pub(crate) exit: Option<RunOutcome>,
}

impl End {
    /// The run leaves the session so, with its next commit.
    pub(crate) fn leave(&mut self, outcome: RunOutcome, release: Release) {
        self.leaving = Some(outcome);
        self.release = Some(release);
    }

    /// Whether nothing starts any more.
    pub(crate) fn starts_nothing(&self) -> bool {
        self.draining == Some(Drain::Calls)
    }
}
