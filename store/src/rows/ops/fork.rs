//! Forks: sessions that begin from a checkpoint of another session.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use super::super::row::Row;
use super::super::write::Prefix;
use crate::ids::{CheckpointId, SessionKey};
use crate::rules::{SessionRow, was_deleted};
use crate::{Checkpoint, ForkOutcome, NewFork};

/// Creates a fork. The source was read before.
pub(in super::super) struct Fork<'a> {
    pub(in super::super) new: &'a NewFork,
    pub(in super::super) from: &'a SessionKey,
    pub(in super::super) at: CheckpointId,
    pub(in super::super) source: Source,
}

/// The result of reading the source.
pub(in super::super) enum Source {
    /// The source does not exist, or has another incarnation.
    None,
    /// The source has no such checkpoint.
    NoCheckpoint,
    /// The source has this place, and its checkpoint is this one.
    Found(u64, Box<Checkpoint>),
}

impl Ask for Fork<'_> {
    /// The outcome, or none if the source has changed since it was read.
    type Outcome = Option<ForkOutcome>;

    fn wants(&self) -> Vec<Want> {
        Vec::new()
    }

    fn supposes_absent(&self) -> bool {
        true
    }

    fn no_source(&self) -> Option<Option<ForkOutcome>> {
        Some(None)
    }

    fn decide(&self, facts: &Facts) -> Decision<Option<ForkOutcome>> {
        let new = self.new;
        if was_deleted(&new.operation, facts.row(), facts.names_life(new.incarnation, &new.operation)) {
            return Decision::Answer(Some(ForkOutcome::Deleted));
        }
        if let Some(there) = facts.row() {
            return Decision::Answer(Some(there.forked_before(new, self.at)));
        }
        let (place, checkpoint) = match &self.source {
            Source::None => return Decision::Answer(Some(ForkOutcome::NoSource)),
            Source::NoCheckpoint => return Decision::Answer(Some(ForkOutcome::NoCheckpoint)),
            Source::Found(place, checkpoint) => (*place, checkpoint),
        };
        let now = facts.now;
        let row = SessionRow::fork(checkpoint, new, now);
        let version = row.version;
        let mut draft = Draft::default();
        draft.put(Row::Labels(new.labels.clone()));
        draft.put(Row::Definition(new.definition.clone()));
        draft.put(Row::State(new.state.payload.clone()));
        draft.append_messages(checkpoint.last_message, &new.messages, now);
        draft.append_events(row.last_event, &new.events, now);
        draft.put(Row::Checkpoint(row.checkpoint(new.state.payload.clone(), now)));
        draft.copy = Some(Prefix {
            from: self.from.clone(),
            life: new.source,
            place,
            last_message: checkpoint.last_message,
            last_event: checkpoint.last_event,
            last_checkpoint: self.at.0,
        });
        draft.row = Some(row);
        Decision::write(draft, Some(ForkOutcome::Forked { version }))
    }
}
