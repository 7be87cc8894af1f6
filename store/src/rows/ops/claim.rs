//! Claims of one named session.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use super::super::row::Row;
use super::deliver::{self, Accepted, accept_all};
use super::session::surroundings;
use crate::ids::{RunId, WorkerId};
use crate::{ClaimOne, ClaimOutcome, OutcomeKind, RunEnded, StoredItem};

/// Claims one named session.
pub(in super::super) struct ClaimSession<'a>(pub(in super::super) &'a ClaimOne);

impl Ask for ClaimSession<'_> {
    type Outcome = ClaimOutcome;

    fn wants(&self) -> Vec<Want> {
        let mut wants = surroundings();
        wants.extend(deliver::wants(&self.0.items));
        wants
    }

    fn reads_first(&self) -> bool {
        true
    }

    fn decide(&self, facts: &Facts) -> Decision<ClaimOutcome> {
        let claim = self.0;
        let Some(before) = facts.row() else { return Decision::Answer(ClaimOutcome::NotFound) };
        match before.repeated_claim(&claim.run, facts.now) {
            Some(true) => {
                return match facts.claim(before, Vec::new()) {
                    Ok(claim) => Decision::Answer(ClaimOutcome::Claimed(Box::new(claim))),
                    Err(error) => Decision::Fail(error),
                };
            }
            Some(false) => return Decision::Answer(ClaimOutcome::LeaseEnded),
            None => {}
        }
        if let Err(answer) = before.claimable(claim.expected_version, facts.now) {
            return Decision::Answer(answer);
        }
        let mut draft = Draft::of(None, before.clone());
        let arrived = match accept_all(facts, &mut draft, &claim.items) {
            Accepted::All(arrived) => arrived,
            Accepted::Refused(index, refusal) => {
                return Decision::Answer(ClaimOutcome::ItemRefused { index, refusal });
            }
            Accepted::Needs(wants) => return Decision::Need(wants),
        };
        begin_run(facts, draft, &claim.run, &claim.worker, claim.lease, arrived)
            .map_outcome(|claim| ClaimOutcome::Claimed(Box::new(claim)))
    }
}

/// Moves the row of `draft` to active, closes the record of a run that was left open, and opens the record of
/// the new run.
pub(super) fn begin_run(
    facts: &Facts,
    draft: Draft,
    run: &RunId,
    worker: &WorkerId,
    lease: std::time::Duration,
    arrived: Vec<StoredItem>,
) -> Decision<crate::Claim> {
    let Draft { row: Some(mut row), mut ops, until, .. } = draft else { return Decision::Need(Vec::new()) };
    let streamed = row.stream.open;
    let claimed = row.claim(run.clone(), worker.clone(), lease, facts.now);
    if streamed {
        ops.push(super::super::write::Op::Clear(super::super::row::Kind::Delta));
    }
    let mut draft = Draft { row: None, ops, until, ..Draft::default() };
    if let Some(mut lost) = claimed.close_lost.and_then(|epoch| facts.run(epoch)) {
        lost.end.get_or_insert(RunEnded { at: facts.now, outcome: OutcomeKind::Lost, detail: None });
        draft.put(Row::Run(lost));
    }
    draft.put(Row::Run(row.run_record(run.clone(), worker.clone(), claimed, facts.now)));
    match facts.claim(&row, arrived) {
        Ok(claim) => {
            draft.row = Some(row);
            Decision::write(draft, claim)
        }
        Err(error) => Decision::Fail(error),
    }
}
