//! Creations of sessions.

use std::collections::BTreeSet;

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use super::super::row::Row;
use super::claim::begin_run;
use super::deliver::{Accepted, accept_all};
use super::session::surroundings;
use crate::rules::{SessionRow, was_deleted};
use crate::{CreateOutcome, InboxItem, NewSession, Start};

/// Creates a session with its first items, and its alarm or claim.
pub(in super::super) struct Create<'a>(pub(in super::super) &'a NewSession);

impl Ask for Create<'_> {
    type Outcome = CreateOutcome;

    fn wants(&self) -> Vec<Want> {
        match self.0.start {
            Start::WithItems | Start::At(_) => Vec::new(),
            // A repeat returns the claim with current data.
            Start::Claimed(_) => surroundings(),
        }
    }

    fn supposes_absent(&self) -> bool {
        true
    }

    fn decide(&self, facts: &Facts) -> Decision<CreateOutcome> {
        let new = self.0;
        if was_deleted(&new.operation, facts.row(), facts.names_life(new.incarnation, &new.operation)) {
            return Decision::Answer(CreateOutcome::Deleted);
        }
        if let Some(there) = facts.row() {
            return created_before(there, new, facts);
        }
        let mut keys = BTreeSet::new();
        if let Some(index) = items_of(new).position(|item| !keys.insert(&item.key)) {
            return Decision::Answer(CreateOutcome::ItemConflict { index });
        }
        // No row of an earlier incarnation is left.
        let nothing = facts.of_new_life();
        let mut draft = Draft::of(None, SessionRow::create(new, facts.now));
        let arrived = match accept_all(&nothing, &mut draft, items_of(new)) {
            Accepted::All(arrived) => arrived,
            Accepted::Refused(index, _) => return Decision::Answer(CreateOutcome::ItemConflict { index }),
            Accepted::Needs(wants) => return Decision::Need(wants),
        };
        let surroundings = [Row::Labels(new.labels.clone()), Row::Definition(new.definition.clone())];
        surroundings.iter().for_each(|row| draft.put(row.clone()));
        if let Some(row) = &mut draft.row {
            row.set_start(&new.start);
        }
        match &new.start {
            Start::WithItems | Start::At(_) => {
                let version = draft.row.as_ref().map(|row| row.version).unwrap_or_default();
                Decision::write(draft, CreateOutcome::Created { version, claim: None })
            }
            Start::Claimed(claim) => {
                let mut known = nothing;
                surroundings.into_iter().for_each(|row| known.learn(row));
                begin_run(&known, draft, &claim.run, &claim.worker, claim.lease, arrived).map_outcome(
                    |claim| CreateOutcome::Created {
                        version: claim.session.version,
                        claim: Some(Box::new(claim)),
                    },
                )
            }
        }
    }
}

fn created_before(there: &SessionRow, new: &NewSession, facts: &Facts) -> Decision<CreateOutcome> {
    match there.created_before(new, facts.now) {
        Ok((version, false)) => Decision::Answer(CreateOutcome::Created { version, claim: None }),
        Ok((version, true)) => match facts.claim(there, Vec::new()) {
            Ok(claim) => Decision::Answer(CreateOutcome::Created { version, claim: Some(Box::new(claim)) }),
            Err(error) => Decision::Fail(error),
        },
        Err(answer) => Decision::Answer(answer),
    }
}

/// Returns the items of the creation, then those of its claim.
fn items_of(new: &NewSession) -> impl Iterator<Item = &InboxItem> {
    let claimed: &[InboxItem] = match &new.start {
        Start::Claimed(claim) => &claim.items,
        Start::WithItems | Start::At(_) => &[],
    };
    new.items.iter().chain(claimed)
}
