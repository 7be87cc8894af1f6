//! Data of one session, life or tenant that appears in another.

use holdover_store::ids::{SessionId, SessionKey, TenantId};
use holdover_store::{
    ClaimOutcome, CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, ForkOutcome, InboxItem, ItemKind,
    PurgeReport, RetentionRule, Tombstone,
};
use holdover_store_memory::parts::Record;

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Returns the key under which a store keeps data that it shares among tenants.
fn of_every_tenant(key: &SessionKey) -> SessionKey {
    SessionKey::new("every-tenant".parse().unwrap_or_else(|_| key.tenant.clone()), key.id.clone())
}

/// Deletes a session and leaves a second tombstone without the tenant.
fn delete_without_tenant(tx: &mut Tx<'_>, key: &SessionKey, deletion: Deletion) -> DeleteOutcome {
    let row = tx.row_of(key);
    let answer = sound::delete(tx, key, deletion);
    if let (DeleteOutcome::Deleted, Some(row)) = (answer, row) {
        let (incarnation, operation, at) = (row.incarnation, row.created_by, tx.now);
        tx.tombstones.set(Tombstone { key: of_every_tenant(key), incarnation, operation, at });
    }
    answer
}

/// Deletes a session and changes the sessions of other tenants with the same id.
fn delete_beside(
    tx: &mut Tx<'_>,
    key: &SessionKey,
    deletion: Deletion,
    change: fn(&mut Record),
) -> DeleteOutcome {
    let answer = sound::delete(tx, key, deletion);
    if answer == DeleteOutcome::Deleted {
        beside(tx, key, change);
    }
    answer
}

fn beside(tx: &mut Tx<'_>, key: &SessionKey, change: fn(&mut Record)) {
    let same = |other: &SessionKey| other.id == key.id && other.tenant != key.tenant;
    tx.sessions.iter_mut().filter(|(other, _)| same(other)).for_each(|(_, record)| change(record));
}

/// Purges, and returns the report and the keys of the sessions that were removed.
fn purged(tx: &mut Tx<'_>, rule: &RetentionRule) -> (PurgeReport, Vec<SessionKey>) {
    let before: Vec<SessionKey> = tx.sessions.keys().cloned().collect();
    let report = sound::purge(tx, rule);
    let gone = before.into_iter().filter(|key| !tx.sessions.contains_key(key)).collect();
    (report, gone)
}

/// Defines a deletion that leaves something behind, which the next session of the key gets.
macro_rules! survives {
    ($name:literal, $broken:literal, |$fresh:ident, $grave:ident| $change:expr) => {
        broken($name, $broken)
            .delete(|tx, key, deletion| {
                let record = tx.record(key).cloned();
                let answer = sound::delete(tx, key, deletion);
                if answer == DeleteOutcome::Deleted {
                    tx.graves.extend(record.map(|record| (key.clone(), record)));
                }
                answer
            })
            .create(|tx, new| {
                let key = new.key.clone();
                let answer = sound::create(tx, new);
                if let CreateOutcome::Created { .. } = &answer
                    && let Some($grave) = tx.graves.remove(&key)
                {
                    tx.with(&key, |$fresh| $change);
                }
                answer
            })
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken(
        "tombstone-without-tenant",
        "a creation is a late duplicate of one that another tenant made and deleted",
    )
    .delete(delete_without_tenant)
    .create(|tx, new| {
        let common = of_every_tenant(&new.key);
        let named = tx.tombstones.name(&common, new.incarnation, &new.operation);
        if named && tx.row_of(&new.key).is_none() {
            return CreateOutcome::Deleted;
        }
        sound::create(tx, new)
    }),
    broken(
        "fork-tombstone-without-tenant",
        "a fork is a late duplicate of one that another tenant made and deleted",
    )
    .delete(delete_without_tenant)
    .fork(|tx, from, at, new| {
        let common = of_every_tenant(&new.key);
        let named = tx.tombstones.name(&common, new.incarnation, &new.operation);
        if named && tx.row_of(&new.key).is_none() {
            return ForkOutcome::Deleted;
        }
        sound::fork(tx, from, at, new)
    }),
    broken(
        "tombstone-without-session",
        "a creation is a late duplicate of one of another session that was deleted",
    )
    .delete(|tx, key, deletion| {
        let row = tx.row_of(key);
        let answer = sound::delete(tx, key, deletion);
        if let (DeleteOutcome::Deleted, Some(row)) = (answer, row)
            && let Ok(id) = "every-session".parse::<SessionId>()
        {
            let key = SessionKey::new(key.tenant.clone(), id);
            let (incarnation, operation, at) = (row.incarnation, row.created_by, tx.now);
            tx.tombstones.set(Tombstone { key, incarnation, operation, at });
        }
        answer
    })
    .create(|tx, new| {
        let common = "every-session".parse().map(|id| SessionKey::new(new.key.tenant.clone(), id));
        let named = common.is_ok_and(|common| tx.tombstones.name(&common, new.incarnation, &new.operation));
        if named && tx.row_of(&new.key).is_none() {
            return CreateOutcome::Deleted;
        }
        sound::create(tx, new)
    }),
    broken(
        "delete-takes-keys-of-other-tenants",
        "a deletion forgets the item keys of other tenants' sessions of that id",
    )
    .delete(|tx, key, deletion| delete_beside(tx, key, deletion, |record| record.keys.clear())),
    broken(
        "delete-takes-pending-ids-of-other-tenants",
        "a deletion forgets the pending ids of other tenants' sessions of that id",
    )
    .delete(|tx, key, deletion| delete_beside(tx, key, deletion, |record| record.opened.clear())),
    broken(
        "delete-takes-deltas-of-other-tenants",
        "a deletion removes the deltas of other tenants' sessions of that id",
    )
    .delete(|tx, key, deletion| delete_beside(tx, key, deletion, |record| record.deltas.clear())),
    broken(
        "delete-takes-start-marks-of-other-tenants",
        "a deletion removes the start marks of other tenants' sessions of that id",
    )
    .delete(|tx, key, deletion| delete_beside(tx, key, deletion, |record| record.starts.clear())),
    broken(
        "purge-takes-keys-of-other-tenants",
        "what retention removes takes the item keys of other tenants' sessions of that id along",
    )
    .purge(|tx, rule| {
        let (report, gone) = purged(tx, rule);
        gone.iter().for_each(|key| beside(tx, key, |record| record.keys.clear()));
        report
    }),
    survives!("delete-leaves-labels", "the labels outlive their session", |fresh, grave| {
        fresh.labels.0.extend(grave.labels.0);
    }),
    survives!("delete-leaves-the-definition", "the definition outlives its session", |fresh, grave| {
        fresh.definition = grave.definition;
    }),
    survives!("delete-leaves-the-queue", "the queue outlives its session", |fresh, grave| {
        fresh.row.queue = grave.row.queue;
    }),
    survives!(
        "delete-leaves-the-last-operation",
        "the newest commit outlives its session",
        |fresh, grave| {
            fresh.row.last_commit = grave.row.last_commit;
        }
    ),
    survives!(
        "delete-leaves-the-last-run",
        "the run of the newest claim outlives its session",
        |fresh, grave| {
            if fresh.row.last_claim.is_none() {
                fresh.row.last_claim = grave.row.last_claim;
            }
        }
    ),
    survives!(
        "delete-leaves-what-was-seen",
        "how far the inbox was seen outlives its session",
        |fresh, grave| {
            fresh.row.inbox_seen = grave.row.inbox_seen;
        }
    ),
    survives!("delete-leaves-attempts", "the takeovers outlive their session", |fresh, grave| {
        fresh.row.attempts = grave.row.attempts;
    }),
    broken(
        "tombstone-stands-from-the-creation",
        "a tombstone stands for a day from when its session was created",
    )
    .delete(|tx, key, deletion| {
        let row = tx.row_of(key);
        let before = tx.tombstones.clone();
        let answer = sound::delete(tx, key, deletion);
        if let (DeleteOutcome::Deleted, Some(row)) = (answer, row) {
            *tx.tombstones = before;
            tx.tombstones.clear(2, tx.now);
            tx.tombstones.set(row.tombstone(row.created_at));
        }
        answer
    }),
    broken(
        "purge-tombstone-stands-from-the-last-change",
        "the tombstone that retention leaves stands for a day from the last change",
    )
    .purge(|tx, rule| {
        let rows: Vec<_> = tx.sessions.values().map(|record| record.row.clone()).collect();
        let before = tx.tombstones.clone();
        let report = sound::purge(tx, rule);
        *tx.tombstones = before;
        tx.tombstones.clear(rule.limit.get() as usize, tx.now);
        for row in rows.into_iter().filter(|row| !tx.sessions.contains_key(&row.key)) {
            tx.tombstones.set(row.tombstone(row.updated_at));
        }
        report
    }),
    broken(
        "creations-known-in-every-session",
        "a creation is a repeat if its operation has created any session of the tenant",
    )
    .create(|tx, new| {
        let first = tx
            .sessions
            .values()
            .find(|other| other.row.key.tenant == new.key.tenant && other.row.created_by == new.operation)
            .filter(|_| tx.row_of(&new.key).is_none());
        match first {
            Some(first) => CreateOutcome::Created { version: first.row.version, claim: None },
            None => sound::create(tx, new),
        }
    }),
    broken("runs-known-in-every-session", "a claim is a repeat if its run has claimed any session").claim(
        |tx, key, claim| {
            let known = tx
                .sessions
                .values()
                .any(|other| other.row.key != *key && other.runs.iter().any(|known| known.run == claim.run));
            if known { ClaimOutcome::LeaseEnded } else { sound::claim(tx, key, claim) }
        },
    ),
    broken(
        "commits-known-in-every-session",
        "a commit is a repeat if its operation was the newest of any session of the tenant",
    )
    .commit(|tx, fence, commit| {
        let others = tx
            .sessions
            .values()
            .filter(|other| other.row.key != fence.key && other.row.key.tenant == fence.key.tenant);
        let first = others
            .filter_map(|other| other.row.last_commit.as_ref())
            .find(|last| last.operation == commit.operation);
        match first {
            Some(first) => CommitOutcome::Committed(first.receipt),
            None => sound::commit(tx, fence, commit),
        }
    }),
    broken("commits-known-over-runs", "a commit is a repeat if its operation was that of the run before")
        .commit(|tx, fence, commit| {
            let row = tx.row_of(&fence.key).filter(|row| row.admits(fence));
            let last = row.and_then(|row| row.last_commit);
            match last.filter(|last| last.operation == commit.operation) {
                Some(last) => CommitOutcome::Committed(last.receipt),
                None => sound::commit(tx, fence, commit),
            }
        }),
    broken(
        "answers-go-to-any-session",
        "an answer is taken by a call of that id in any session of the tenant",
    )
    .deliver(|tx, key, item| {
        let target = addressee(tx, key, &item).unwrap_or_else(|| key.clone());
        let incarnation = tx.row_of(&target).map(|row| row.incarnation);
        let item = if target == *key { item } else { InboxItem { incarnation, ..item } };
        sound::deliver(tx, &target, item)
    }),
    broken(
        "fork-copies-pending-ids",
        "a call cannot be opened in a fork under an id that its source has used",
    )
    .fork(|tx, from, at, new| {
        let (key, fresh) = (new.key.clone(), tx.row_of(&new.key).is_none());
        let opened = tx.record(from).map(|source| source.opened.clone()).unwrap_or_default();
        let answer = sound::fork(tx, from, at, new);
        if let (ForkOutcome::Forked { .. }, true) = (&answer, fresh) {
            tx.with(&key, |record| record.opened = opened);
        }
        answer
    }),
    broken(
        "prune-forgets-pending-ids",
        "a session that has lost checkpoints forgets which pending ids were opened",
    )
    .purge(|tx, rule| forgetting(tx, rule, |record| record.opened.clear())),
    broken("prune-forgets-keys", "a session that has lost checkpoints forgets the keys of its items")
        .purge(|tx, rule| forgetting(tx, rule, |record| record.keys.clear())),
    broken(
        "prune-forgets-the-last-operation",
        "a session that has lost checkpoints forgets its newest commit",
    )
    .purge(|tx, rule| forgetting(tx, rule, |record| record.row.last_commit = None)),
];

/// Returns another session of the tenant that waits for this answer, if the addressed session does not.
fn addressee(tx: &Tx<'_>, key: &SessionKey, item: &InboxItem) -> Option<SessionKey> {
    let ItemKind::Answer { pending, .. } = &item.kind else { return None };
    let waits = |record: &Record| record.pending.iter().any(|open| open.id == *pending);
    let named = tx.sessions.get(key)?;
    if waits(named) || named.keys.contains_key(&item.key) || item.incarnation != Some(named.row.incarnation) {
        return None;
    }
    let of_tenant = |tenant: &TenantId| *tenant == key.tenant;
    let found = tx.sessions.iter().find(|(other, record)| of_tenant(&other.tenant) && waits(record));
    found.map(|(other, _)| other.clone())
}

/// Removes checkpoints, and also removes something from every session that lost some.
fn forgetting(tx: &mut Tx<'_>, rule: &RetentionRule, forget: fn(&mut Record)) -> PurgeReport {
    let before: Vec<_> =
        tx.sessions.iter().map(|(key, record)| (key.clone(), record.checkpoints.len())).collect();
    let report = sound::purge(tx, rule);
    for (key, checkpoints) in before {
        tx.with(&key, |record| {
            if record.checkpoints.len() < checkpoints {
                forget(record);
            }
        });
    }
    report
}
