//! Staging: makes results durable before their step is finished.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::{Facts, names};
use super::super::read::Want;
use super::super::row::{Kind, Row, RowKey};
use crate::ids::Fence;
use crate::{StageOutcome, Staging};

/// Stages results and start marks.
pub(in super::super) struct Stage<'a> {
    pub(in super::super) fence: &'a Fence,
    pub(in super::super) staging: &'a Staging,
}

impl Stage<'_> {
    fn calls(&self) -> Vec<RowKey> {
        self.staging.results.iter().map(|result| Row::staged(&result.call)).collect()
    }
}

impl Ask for Stage<'_> {
    type Outcome = StageOutcome;

    fn fence(&self) -> Option<&Fence> {
        Some(self.fence)
    }

    fn wants(&self) -> Vec<Want> {
        vec![Want::names(Kind::Staged, names(&self.calls()))]
    }

    fn decide(&self, facts: &Facts) -> Decision<StageOutcome> {
        let Some(row) = facts.row() else { return Decision::Answer(StageOutcome::StaleFence) };
        if row.admits(self.fence) && !self.calls().iter().all(|call| facts.knows(call)) {
            return Decision::Need(self.wants());
        }
        match row.stage(self.fence, self.staging, &facts.staged()) {
            Err(refused) => Decision::Answer(refused),
            Ok(fresh) => {
                let mut draft = Draft::of(Some(row), row.clone());
                fresh.into_iter().for_each(|result| draft.put(Row::Staged(result.clone())));
                let mut starts: Vec<_> = self.staging.starts.iter().collect();
                starts.sort();
                starts.dedup();
                starts.into_iter().for_each(|call| draft.put(Row::Start(call.clone())));
                Decision::write(draft, StageOutcome::Staged(row.receipt(facts.now)))
            }
        }
    }
}
