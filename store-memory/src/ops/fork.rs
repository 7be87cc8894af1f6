//! Forks: sessions that begin from a checkpoint of another session.

use holdover_store::ids::{CheckpointId, SessionKey};
use holdover_store::rules::{SessionRow, was_deleted};
use holdover_store::time::Timestamp;
use holdover_store::{Checkpoint, ForkOutcome, NewFork};

use crate::table::{Record, Sessions};
use crate::tombstones::Tombstones;

/// Creates a fork with copies of the source's messages, events and checkpoints up to checkpoint `at`.
pub fn fork(
    sessions: &mut Sessions,
    tombstones: &Tombstones,
    from: &SessionKey,
    at: CheckpointId,
    new: NewFork,
    now: Timestamp,
) -> ForkOutcome {
    let there = sessions.get(&new.key);
    let named = tombstones.name(&new.key, new.incarnation, &new.operation);
    if was_deleted(&new.operation, there.map(|record| &record.row), named) {
        return ForkOutcome::Deleted;
    }
    if let Some(there) = there {
        return there.row.forked_before(&new, at);
    }
    let Some(source) = sessions.get(from).filter(|source| source.row.is_source(from, &new)) else {
        return ForkOutcome::NoSource;
    };
    let Some(checkpoint) = source.checkpoints.iter().find(|checkpoint| checkpoint.id == at) else {
        return ForkOutcome::NoCheckpoint;
    };
    let incarnation = new.incarnation;
    let copied = source.checkpoints.iter().filter(|checkpoint| checkpoint.id <= at).cloned();
    let mut record = Record {
        state: Some(new.state.payload.clone()),
        messages: source.messages.iter().filter(|m| m.seq <= checkpoint.last_message).cloned().collect(),
        events: source.events.iter().filter(|e| e.seq <= checkpoint.last_event).cloned().collect(),
        checkpoints: copied.map(|checkpoint| Checkpoint { incarnation, ..checkpoint }).collect(),
        ..Record::new(SessionRow::fork(checkpoint, &new, now), new.labels.clone(), new.definition.clone())
    };
    record.append(new.messages, new.events, now);
    record.checkpoints.push(record.row.checkpoint(new.state.payload, now));
    let version = record.row.version;
    sessions.insert(new.key, record);
    ForkOutcome::Forked { version }
}
