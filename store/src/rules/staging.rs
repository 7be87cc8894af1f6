//! The rules for staging, and for dropping staged results.

use super::SessionRow;
use crate::ids::Fence;
use crate::{Commit, Release, SessionStatus, StageOutcome, StagedResult, Staging};

impl SessionRow {
    /// Decides a staging. `there` must contain the session's staged results of the calls in `staging`, and
    /// may contain other staged results.
    ///
    /// If it returns `Ok`, write the returned results and every start mark, and return
    /// [`StageOutcome::Staged`] with a [`receipt`](Self::receipt). The row does not change. If it returns
    /// `Err`, write nothing and return that outcome.
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
    /// Returns true if this commit drops all staged results, because it leaves the session idle. A result
    /// that is still staged then is a late repeat.
    pub fn ends_staging(&self) -> bool {
        matches!(self.release, Some(Release::To { status: SessionStatus::Idle, .. }))
    }
}
