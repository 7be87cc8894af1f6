//! Interrupt requests.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use crate::ids::Fence;
use crate::{Interrupt, InterruptCheck, InterruptOutcome};

/// Asks a session to stop.
pub(in super::super) struct RequestInterrupt<'a>(pub(in super::super) &'a Interrupt);

impl Ask for RequestInterrupt<'_> {
    type Outcome = InterruptOutcome;

    fn wants(&self) -> Vec<Want> {
        Vec::new()
    }

    fn decide(&self, facts: &Facts) -> Decision<InterruptOutcome> {
        let Some(before) = facts.row() else { return Decision::Answer(InterruptOutcome::NotFound) };
        let mut after = before.clone();
        match after.request_interrupt(self.0.clone(), facts.now) {
            InterruptOutcome::Requested => {
                Decision::write(Draft::of(Some(before), after), InterruptOutcome::Requested)
            }
            refused @ (InterruptOutcome::AlreadyWaiting { .. }
            | InterruptOutcome::AtRest
            | InterruptOutcome::Over
            | InterruptOutcome::Aborted
            | InterruptOutcome::NotFound) => Decision::Answer(refused),
        }
    }
}

/// Hands the waiting interrupt to the calling run.
pub(in super::super) struct TakeInterrupt<'a>(pub(in super::super) &'a Fence);

impl Ask for TakeInterrupt<'_> {
    type Outcome = InterruptCheck;

    fn fence(&self) -> Option<&Fence> {
        Some(self.0)
    }

    fn wants(&self) -> Vec<Want> {
        Vec::new()
    }

    fn decide(&self, facts: &Facts) -> Decision<InterruptCheck> {
        let Some(before) = facts.row() else { return Decision::Answer(InterruptCheck::StaleFence) };
        let mut after = before.clone();
        let answer = after.hand_interrupt(self.0);
        if after == *before {
            return Decision::Answer(answer);
        }
        Decision::write(Draft::of(Some(before), after), answer)
    }
}
