//! Retention that removes too much, too little, or too early.

use holdover_store::ids::SessionKey;
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, PendingKind, PurgeReport, Remove, RetentionRule, SessionStatus, StoreError, StoreErrorKind,
};
use holdover_store_memory::parts::Record;

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Returns the row without the facts that the broken purge overlooks.
fn blind(row: &SessionRow, hide: fn(&mut SessionRow, &RetentionRule), rule: &RetentionRule) -> SessionRow {
    let mut row = row.clone();
    hide(&mut row, rule);
    row
}

/// Purges by rows that `hide` has falsified.
fn purge_blind(
    tx: &mut Tx<'_>,
    rule: &RetentionRule,
    hide: fn(&mut SessionRow, &RetentionRule),
) -> PurgeReport {
    let rows: Vec<SessionRow> = tx.sessions.values().map(|record| record.row.clone()).collect();
    let mut kept = std::mem::take(tx.sessions);
    for row in &rows {
        if let Some(record) = kept.get(&row.key) {
            let seen = blind(row, hide, rule);
            tx.sessions.insert(row.key.clone(), Record { row: seen, ..record.clone() });
        }
    }
    // A row with a falsified tenant is looked up under its own key.
    let renamed = |record: &Record, key: &SessionKey| record.row.key != *key;
    let strangers: Vec<SessionKey> =
        tx.sessions.iter().filter(|(key, record)| renamed(record, key)).map(|(key, _)| key.clone()).collect();
    let mut report = sound::purge(tx, rule);
    for key in strangers {
        if tx.sessions.get(&key).is_some_and(|record| record.row.purgeable(rule)) {
            tx.sessions.remove(&key);
            report.sessions += 1;
        }
    }
    kept.retain(|key, _| tx.sessions.contains_key(key));
    for (key, record) in &mut kept {
        if let Some(seen) = tx.sessions.remove(key) {
            record.checkpoints = seen.checkpoints;
        }
    }
    *tx.sessions = kept;
    report
}

/// Purges as if no calls of this kind were open.
fn purge_without(tx: &mut Tx<'_>, rule: &RetentionRule, kind: &PendingKind) -> PurgeReport {
    let before = tx.sessions.clone();
    for record in tx.sessions.values_mut() {
        record.pending.retain(|open| open.kind != *kind);
    }
    let report = sound::purge(tx, rule);
    for (key, record) in tx.sessions.iter_mut() {
        record.pending.clone_from(&before[key].pending);
    }
    report
}

/// Removes checkpoints, then changes the remaining ones of every session that lost some.
fn pruned(
    tx: &mut Tx<'_>,
    rule: &RetentionRule,
    change: fn(Vec<Checkpoint>, &mut Vec<Checkpoint>),
) -> PurgeReport {
    let before: Vec<_> =
        tx.sessions.values().map(|record| (record.row.key.clone(), record.checkpoints.clone())).collect();
    let report = sound::purge(tx, rule);
    for (key, checkpoints) in before {
        tx.with(&key, |record| {
            if record.checkpoints.len() < checkpoints.len() {
                change(checkpoints, &mut record.checkpoints);
            }
        });
    }
    report
}

/// Purges, and returns the report and the sessions that were removed.
fn removed(tx: &mut Tx<'_>, rule: &RetentionRule) -> (PurgeReport, Vec<(SessionKey, Record)>) {
    let before = tx.sessions.clone();
    let report = sound::purge(tx, rule);
    let gone = before.into_iter().filter(|(key, _)| !tx.sessions.contains_key(key)).collect();
    (report, gone)
}

/// Defines a purge that overlooks one fact of each row.
macro_rules! blind_to {
    ($name:literal, $broken:literal, |$row:ident, $rule:ident| $hide:expr) => {
        broken($name, $broken).purge(|tx, rule| purge_blind(tx, rule, |$row, $rule| $hide))
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    blind_to!("purge-ignores-alarms", "a session that is due, or will be, is removed", |row, _rule| {
        if row.status.at_rest() {
            row.alarm = None;
            row.unread = 0;
        }
    }),
    blind_to!(
        "purge-ignores-later-alarms",
        "a session whose alarm is yet to ring is removed",
        |row, _rule| {
            row.alarm = row.alarm.filter(|_| row.unread > 0 || row.interrupt.is_some());
        }
    ),
    blind_to!("purge-ignores-the-inbox", "a session with an unread item is removed", |row, _rule| row
        .unread =
        0),
    blind_to!("purge-ignores-interrupts", "a session that was asked to stop is removed", |row, _rule| {
        if row.interrupt.take().is_some() {
            row.alarm = None;
        }
    }),
    broken("purge-ignores-dead-letters", "a session that was given up is removed unseen")
        .purge(|tx, rule| purge_without(tx, rule, &PendingKind::DeadLetter)),
    broken("purge-ignores-calls-in-doubt", "a session with a call to settle is removed")
        .purge(|tx, rule| purge_without(tx, rule, &PendingKind::InDoubt)),
    blind_to!("purge-takes-parked-sessions", "a suspended session is removed", |row, _rule| {
        if row.status == SessionStatus::Suspended {
            row.status = SessionStatus::Idle;
        }
    }),
    blind_to!("purge-takes-dead-runs", "a session whose lease has ended is removed", |row, _rule| {
        if row.status == SessionStatus::Active {
            (row.status, row.alarm) = (SessionStatus::Idle, None);
        }
    }),
    blind_to!("purge-ignores-the-status", "sessions of every status that rests are removed", |row, rule| {
        if let (true, Some(named)) = (row.status.at_rest(), rule.status.first()) {
            row.status = *named;
        }
    }),
    blind_to!("purge-ignores-the-tenant", "sessions of every tenant are removed", |row, rule| {
        row.key.tenant = rule.tenant.clone().unwrap_or_else(|| row.key.tenant.clone());
    }),
    blind_to!(
        "purge-counts-from-the-creation",
        "a session counts as old since its creation",
        |row, _rule| {
            row.updated_at = row.created_at;
        }
    ),
    blind_to!(
        "purge-includes-the-instant",
        "a session that changed at the instant itself is removed",
        |row, _rule| {
            row.updated_at = Timestamp::from_ms(row.updated_at.as_ms() - 1);
        }
    ),
    blind_to!(
        "purge-shortest-unchanged-first",
        "the sessions that changed last are removed first",
        |row, rule| {
            if row.updated_at < rule.unchanged_since {
                row.updated_at = Timestamp::from_ms(-row.updated_at.as_ms());
            }
        }
    ),
    blind_to!("purge-by-name", "sessions are removed in the order of their names", |row, rule| {
        if row.updated_at < rule.unchanged_since {
            row.updated_at = Timestamp::EPOCH;
        }
    }),
    broken("purge-without-limit", "one call deals with every session").purge(|tx, rule| {
        let limit = std::num::NonZeroU32::MAX;
        sound::purge(tx, &RetentionRule { limit, ..rule.clone() })
    }),
    broken("purge-never-more", "a call never says that there is more")
        .purge(|tx, rule| PurgeReport { next: None, ..sound::purge(tx, rule) }),
    broken("purge-begins-anew", "each call of a walk begins at the start again")
        .purge(|tx, rule| sound::purge(tx, &RetentionRule { after: None, ..rule.clone() })),
    broken("purge-takes-any-cursor", "the cursor of another rule is taken, as the start")
        .check_purge(|rule| sound::check_purge(&RetentionRule { after: None, ..rule.clone() })),
    broken("purge-leaves-no-tombstone", "what retention removes is forgotten at once").purge(|tx, rule| {
        let before = tx.tombstones.clone();
        let report = sound::purge(tx, rule);
        *tx.tombstones = before;
        report
    }),
    broken("purge-counts-nothing", "what was removed is not counted")
        .purge(|tx, rule| PurgeReport { next: sound::purge(tx, rule).next, ..PurgeReport::default() }),
    broken("purge-checks-no-status", "a rule about active sessions is taken, and removes none")
        .check_purge(|rule| sound::check_purge(&RetentionRule { status: Vec::new(), ..rule.clone() })),
    broken("prune-keeps-the-oldest", "the oldest checkpoints stay, not the newest").purge(|tx, rule| {
        pruned(tx, rule, |before, left| *left = before.into_iter().take(left.len()).collect())
    }),
    broken("prune-takes-the-newest-checkpoint", "the newest checkpoint goes with the others").purge(
        |tx, rule| {
            pruned(tx, rule, |_, left| {
                left.pop();
            })
        },
    ),
    broken("prune-stops-at-one", "one checkpoint of a session is removed, and counted as all")
        .purge(|tx, rule| pruned(tx, rule, |before, left| *left = before.into_iter().skip(1).collect())),
    broken("prune-is-a-change", "retention of checkpoints raises the version of every session").purge(
        |tx, rule| {
            let report = sound::purge(tx, rule);
            if let Remove::Checkpoints { .. } = rule.remove {
                tx.sessions.values_mut().for_each(|record| record.row.version = record.row.version.next());
            }
            report
        },
    ),
    broken("purge-read-then-removed", "what rests is read before the wait, and removed after it").purge(
        |tx, rule| {
            let (report, gone) = removed(tx, rule);
            let keys: Vec<SessionKey> = gone.iter().map(|(key, _)| key.clone()).collect();
            tx.sessions.extend(gone);
            tx.then(move |tx| tx.sessions.retain(|key, _| !keys.contains(key)));
            report
        },
    ),
    broken(
        "purge-in-two-transactions",
        "the messages of a session are removed first, the session in a second transaction",
    )
    .purge(|tx, rule| {
        let (report, gone) = removed(tx, rule);
        let keys: Vec<SessionKey> = gone.iter().map(|(key, _)| key.clone()).collect();
        for (key, mut record) in gone {
            record.messages.clear();
            record.events.clear();
            tx.sessions.insert(key, record);
        }
        let rule = rule.clone();
        tx.then(move |tx| {
            tx.sessions.retain(|key, record| !keys.contains(key) || !record.row.purgeable(&rule));
        });
        report
    }),
    broken("purge-leaves-pending", "the open calls of a removed session show up in the next of its name")
        .purge(|tx, rule| {
            let (report, gone) = removed(tx, rule);
            tx.graves.extend(gone);
            report
        })
        .create(|tx, new| {
            let (key, fresh) = (new.key.clone(), tx.row_of(&new.key).is_none());
            let answer = sound::create(tx, new);
            if let Some(grave) = tx.graves.remove(&key).filter(|_| fresh) {
                tx.with(&key, |record| {
                    record.opened = grave.opened;
                    record.keys = grave.keys;
                });
            }
            answer
        }),
    broken("retention-undeclared", "the capabilities declare no retention, and it is done").retention(false),
    broken("retention-declared-in-vain", "the capabilities declare retention, and it is unsupported")
        .check_purge(|_| Err(StoreError::new(StoreErrorKind::Unsupported, "purge", "not yet"))),
];
