//! The decision on a staging, and when staged results are dropped.

use super::SessionRow;
use crate::ids::Fence;
use crate::{Commit, Release, SessionStatus, StageOutcome, StagedResult, Staging};

impl SessionRow {
    /// Decides a staging. `there` must contain the staged results of the calls in `staging`; it may contain
    /// others.
    ///
    /// `Ok`: write these results and every start mark, and answer [`StageOutcome::Staged`] with a
    /// [`receipt`](Self::receipt); the row stays as it is. `Err`: write nothing; answer with it.
    pub fn stage<'a>(
        &self,
        fence: &Fence,
        staging: &'a Staging,
        there: &[StagedResult],
    ) -> Result<Vec<&'a StagedResult>, StageOutcome> {
        if !self.admits(fence) {
            return Err(StageOutcome::StaleFence);
        }
        let mut fresh: Vec<&StagedResult> = Vec::new();
        for result in &staging.results {
            match there.iter().chain(fresh.iter().copied()).find(|first| first.call == result.call) {
                Some(first) if first.payload != result.payload => {
                    return Err(StageOutcome::Conflict { call: result.call.clone() });
                }
                Some(_) => {}
                None => fresh.push(result),
            }
        }
        Ok(fresh)
    }
}

impl Commit {
    /// Whether this commit drops everything staged, because it leaves the session idle. A result that was not
    /// promoted by then is a late repeat.
    pub fn ends_staging(&self) -> bool {
        matches!(self.release, Some(Release::To { status: SessionStatus::Idle, .. }))
    }
}
