//! Lease renewals.

use std::time::Duration;

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use crate::LeaseOutcome;
use crate::ids::Fence;

/// Extends the lease of the run that holds the session.
pub(in super::super) struct Renew<'a> {
    pub(in super::super) fence: &'a Fence,
    pub(in super::super) lease: Duration,
}

impl Ask for Renew<'_> {
    type Outcome = LeaseOutcome;

    fn fence(&self) -> Option<&Fence> {
        Some(self.fence)
    }

    fn wants(&self) -> Vec<Want> {
        Vec::new()
    }

    fn decide(&self, facts: &Facts) -> Decision<LeaseOutcome> {
        let Some(before) = facts.row() else { return Decision::Answer(LeaseOutcome::StaleFence) };
        let mut after = before.clone();
        match after.renew(self.fence, self.lease, facts.now) {
            Some(receipt) => Decision::write(Draft::of(Some(before), after), LeaseOutcome::Renewed(receipt)),
            None => Decision::Answer(LeaseOutcome::StaleFence),
        }
    }
}
