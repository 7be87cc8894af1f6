//! Creation, reading and deletion of sessions.

use std::collections::BTreeSet;

use holdover_store::ids::SessionKey;
use holdover_store::rules::{SessionRow, was_deleted};
use holdover_store::time::Timestamp;
use holdover_store::{CreateOutcome, DeleteOutcome, Deletion, InboxItem, NewSession, Session, Start};

use super::delivery::accept_all;
use super::ownership::begin_run;
use crate::table::{Record, Sessions};
use crate::tombstones::Tombstones;

/// Creates a session with its first items, and its alarm or claim.
pub fn create(
    sessions: &mut Sessions,
    tombstones: &Tombstones,
    new: NewSession,
    now: Timestamp,
) -> CreateOutcome {
    let there = sessions.get(&new.key);
    let named = tombstones.name(&new.key, new.incarnation, &new.operation);
    if was_deleted(&new.operation, there.map(|record| &record.row), named) {
        return CreateOutcome::Deleted;
    }
    if let Some(there) = there {
        return created_before(there, &new, now);
    }
    let mut keys = BTreeSet::new();
    if let Some(index) = items_of(&new).position(|item| !keys.insert(&item.key)) {
        return CreateOutcome::ItemConflict { index };
    }
    let mut record = Record::new(SessionRow::create(&new, now), new.labels.clone(), new.definition.clone());
    if let Err((index, _)) = accept_all(&mut record, items_of(&new), now) {
        return CreateOutcome::ItemConflict { index };
    }
    record.row.set_start(&new.start);
    let claim = match &new.start {
        Start::Claimed(claim) => {
            begin_run(&mut record, claim.run.clone(), claim.worker.clone(), claim.lease, now);
            record.claim(now).map(Box::new)
        }
        Start::WithItems | Start::At(_) => None,
    };
    let version = record.row.version;
    sessions.insert(new.key, record);
    CreateOutcome::Created { version, claim }
}

fn created_before(existing: &Record, new: &NewSession, now: Timestamp) -> CreateOutcome {
    match existing.row.created_before(new, now) {
        Ok((version, alive)) => {
            let claim = existing.claim(now).filter(|_| alive).map(Box::new);
            CreateOutcome::Created { version, claim }
        }
        Err(there) => there,
    }
}

/// Reads a session. Returns none if there is no such session.
pub fn load(sessions: &Sessions, key: &SessionKey) -> Option<Session> {
    sessions.get(key).map(Record::session)
}

/// Removes a session and everything that belongs to it.
pub fn delete(
    sessions: &mut Sessions,
    tombstones: &mut Tombstones,
    key: &SessionKey,
    deletion: Deletion,
    now: Timestamp,
) -> DeleteOutcome {
    let Some(record) = sessions.get(key) else { return DeleteOutcome::NotFound };
    match record.row.delete(deletion, now) {
        Err(refused) => refused,
        Ok(tombstone) => {
            sessions.remove(key);
            tombstones.set(tombstone);
            DeleteOutcome::Deleted
        }
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
