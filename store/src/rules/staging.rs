//! The decision on a staging, and when staged results are dropped.

use super::SessionRow;
use crate::ids::Fence;
use crate::{Commit, Release, SessionStatus, StageOutcome, StagedResult, Staging};

impl SessionRow {
    /// Decides a staging. `there` are the results that are staged, at least those of the calls that it names.
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
    /// Whether nothing is staged after this commit, because it leaves the session idle, and an idle session
    /// owes nothing. A result that was not promoted by then was a late repeat.
    pub fn ends_staging(&self) -> bool {
        matches!(self.release, Some(Release::To { status: SessionStatus::Idle, .. }))
    }
}
