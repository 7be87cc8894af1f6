//! Deletions of sessions, and the removal of old tombstones.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use super::super::row::Kind;
use crate::rules::SessionRow;
use crate::{DeleteOutcome, Deletion, Tombstone};

/// Removes a session and everything that belongs to it.
pub(in super::super) struct Delete(pub(in super::super) Deletion);

impl Ask for Delete {
    type Outcome = DeleteOutcome;

    fn wants(&self) -> Vec<Want> {
        wants()
    }

    fn reads_first(&self) -> bool {
        true
    }

    fn decide(&self, facts: &Facts) -> Decision<DeleteOutcome> {
        let Some(row) = facts.row() else { return Decision::Answer(DeleteOutcome::NotFound) };
        match row.delete(self.0, facts.now) {
            Ok(tombstone) => Decision::write(draft(facts, tombstone), DeleteOutcome::Deleted),
            Err(refused) => Decision::Answer(refused),
        }
    }
}

/// Returns the rows that a deletion must read: the pending calls, because their index entries are removed one by one.
pub(in super::super) fn wants() -> Vec<Want> {
    vec![Want::all(Kind::Pending).light()]
}

/// Returns the draft that deletes the session of `row`.
pub(in super::super) fn end(facts: &Facts, row: &SessionRow) -> Draft {
    draft(facts, row.tombstone(facts.now))
}

fn draft(facts: &Facts, tombstone: Tombstone) -> Draft {
    let earlier = facts.slot.iter().flat_map(|slot| &slot.lives);
    let mut lives: Vec<Tombstone> = earlier.filter(|life| !life.is_old(facts.now)).cloned().collect();
    lives.push(tombstone);
    let ops = facts.of(Kind::Pending).map(|row| super::super::write::Op::Delete(row.key())).collect();
    Draft { lives: Some(lives), ops, ..Draft::default() }
}

/// Removes the old tombstones under a key.
pub(in super::super) struct Forget;

impl Ask for Forget {
    type Outcome = ();

    fn wants(&self) -> Vec<Want> {
        Vec::new()
    }

    fn reads_first(&self) -> bool {
        true
    }

    fn decide(&self, facts: &Facts) -> Decision<()> {
        let Some(slot) = &facts.slot else { return Decision::Answer(()) };
        let lives: Vec<Tombstone> =
            slot.lives.iter().filter(|life| !life.is_old(facts.now)).cloned().collect();
        if lives.len() == slot.lives.len() {
            return Decision::Answer(());
        }
        Decision::write(Draft { row: slot.row.clone(), lives: Some(lives), ..Draft::default() }, ())
    }
}
