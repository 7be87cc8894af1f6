//! Retention: the removal of old data from one session.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use super::super::row::{Kind, Row};
use super::super::write::Op;
use super::delete;
use crate::{Remove, RetentionRule};

/// Removes the data that a rule selects from one session.
pub(in super::super) struct PurgeOne<'a>(pub(in super::super) &'a RetentionRule);

/// The counts of removed data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Purged {
    pub(in super::super) sessions: u64,
    pub(in super::super) checkpoints: u64,
}

impl Ask for PurgeOne<'_> {
    type Outcome = Purged;

    fn wants(&self) -> Vec<Want> {
        match self.0.remove {
            Remove::Sessions => delete::wants(),
            Remove::Checkpoints { .. } => vec![Want::newest(Kind::Checkpoint, u64::MAX).light()],
        }
    }

    fn reads_first(&self) -> bool {
        true
    }

    fn decide(&self, facts: &Facts) -> Decision<Purged> {
        let Some(row) = facts.row().filter(|row| row.purgeable(self.0)) else {
            return Decision::Answer(Purged::default());
        };
        match self.0.remove {
            Remove::Sessions if keeps_session(facts) => Decision::Answer(Purged::default()),
            Remove::Sessions => {
                Decision::write(delete::end(facts, row), Purged { sessions: 1, checkpoints: 0 })
            }
            Remove::Checkpoints { keep } => {
                let ids = facts.of(Kind::Checkpoint).filter_map(|row| {
                    if let Row::Checkpoint(checkpoint) = row { Some(checkpoint.id.0) } else { None }
                });
                let ids: Vec<u64> = ids.collect();
                let surplus = ids.len().saturating_sub(keep.get() as usize);
                let Some(last) = surplus.checked_sub(1).and_then(|last| ids.get(last)) else {
                    return Decision::Answer(Purged::default());
                };
                let mut draft = Draft::of(Some(row), row.clone());
                draft.ops.push(Op::DeleteUpTo(Kind::Checkpoint, *last));
                Decision::write(draft, Purged { sessions: 0, checkpoints: surplus as u64 })
            }
        }
    }
}

/// Returns true if a pending call is open for the sake of which the session stays.
fn keeps_session(facts: &Facts) -> bool {
    let keeps = |row: &Row| matches!(row, Row::Pending { call, .. } if call.kind.keeps_session());
    facts.of(Kind::Pending).any(keeps)
}
