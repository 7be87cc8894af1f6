//! Compare-and-set of the status.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use super::deliver::{self, Accepted, accept_all};
use crate::{CasOutcome, StatusCas};

/// Changes the status and accepts the items of the request.
pub(in super::super) struct CompareAndSet<'a>(pub(in super::super) &'a StatusCas);

impl Ask for CompareAndSet<'_> {
    type Outcome = CasOutcome;

    fn wants(&self) -> Vec<Want> {
        deliver::wants(&self.0.items)
    }

    fn decide(&self, facts: &Facts) -> Decision<CasOutcome> {
        let cas = self.0;
        let Some(before) = facts.row() else { return Decision::Answer(CasOutcome::NotFound) };
        match before.clone().compare_and_set(cas, facts.now) {
            CasOutcome::Moved { .. } => {}
            refused @ (CasOutcome::VersionConflict { .. }
            | CasOutcome::NotAllowed { .. }
            | CasOutcome::ItemRefused { .. }
            | CasOutcome::NotFound) => return Decision::Answer(refused),
        }
        let mut draft = Draft::of(Some(before), before.clone());
        match accept_all(facts, &mut draft, &cas.items) {
            Accepted::All(_) => match &mut draft.row {
                Some(row) => {
                    let moved = row.compare_and_set(cas, facts.now);
                    Decision::write(draft, moved)
                }
                None => Decision::Answer(CasOutcome::NotFound),
            },
            Accepted::Refused(index, refusal) => Decision::Answer(CasOutcome::ItemRefused { index, refusal }),
            Accepted::Needs(wants) => Decision::Need(wants),
        }
    }
}
