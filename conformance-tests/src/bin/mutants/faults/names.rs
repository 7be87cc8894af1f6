//! Names that look like others.

use holdover_store::payload::Digest;
use holdover_store::{
    Deletion, Labels, Page, PageRequest, PendingCall, PendingQuery, SessionQuery, SessionSummary, StoreError,
};

use super::list::{bound, rebound};
use crate::fault::{Fault, Mutant, SOUND, Tx};
use crate::sound;

/// Whether `name` is like `pattern`, as SQL has it: `%` stands for any text, `_` for any character.
fn like(pattern: &str, name: &str) -> bool {
    let mut pattern_rest = pattern.chars();
    match pattern_rest.next() {
        None => name.is_empty(),
        Some('%') => {
            let rest = pattern_rest.as_str();
            name.char_indices().any(|(at, _)| like(rest, &name[at..])) || like(rest, "")
        }
        Some(first) => {
            let mut name_rest = name.chars();
            let same = name_rest.next().is_some_and(|own| first == '_' || own == first);
            same && like(pattern_rest.as_str(), name_rest.as_str())
        }
    }
}

fn prefix(wanted: &str, name: &str) -> bool {
    name.starts_with(wanted)
}

fn without_case(wanted: &str, name: &str) -> bool {
    wanted.eq_ignore_ascii_case(name)
}

fn exact(wanted: &str, name: &str) -> bool {
    wanted == name
}

/// The open calls of a session and, after them, those of every session whose id is alike.
fn pending_of(
    tx: &mut Tx<'_>,
    query: &PendingQuery,
    alike: fn(&str, &str) -> bool,
) -> Result<Page<PendingCall>, StoreError> {
    let mut page = sound::list_pending(tx, query)?;
    let (Some(wanted), None) = (&query.session, &page.next) else { return Ok(page) };
    let others = tx.sessions.values().filter(|record| {
        let key = &record.row.key;
        key.tenant == query.tenant && key.id != *wanted && alike(wanted.as_str(), key.id.as_str())
    });
    let of_kind = |call: &&PendingCall| query.kind.as_ref().is_none_or(|kind| *kind == call.kind);
    page.items.extend(others.flat_map(|record| &record.pending).filter(of_kind).cloned());
    Ok(page)
}

/// A store for which a session id stands for every one that is alike.
macro_rules! sessions_alike {
    ($alike:ident) => {
        Fault { list_pending: |tx, query| pending_of(tx, query, $alike), ..SOUND }
    };
}

/// A store that deletes every session whose id is alike.
macro_rules! deleted_alike {
    ($alike:ident) => {
        Fault {
            delete: |tx, key, deletion| {
                let alike = tx.sessions.keys().filter(|other| {
                    other.tenant == key.tenant
                        && other.id != key.id
                        && $alike(key.id.as_str(), other.id.as_str())
                });
                for other in alike.cloned().collect::<Vec<_>>() {
                    sound::delete(tx, &other, Deletion::FORCE);
                }
                sound::delete(tx, key, deletion)
            },
            ..SOUND
        }
    };
}

/// Lists sessions whose labels are alike.
fn sessions_labelled(
    tx: &mut Tx<'_>,
    asked: &SessionQuery,
    names: fn(&str, &str) -> bool,
    values: fn(&str, &str) -> bool,
) -> Result<Page<SessionSummary>, StoreError> {
    sound::list_sessions(tx, asked)?;
    let mut query = SessionQuery { labels: Labels::default(), ..asked.clone() };
    query.page = rebound(&asked.page, asked.digest(), query.digest());
    let mut page = bound(sound::list_sessions(tx, &query)?, query.digest(), asked.digest());
    page.items.retain(|row| {
        asked.labels.0.iter().all(|(name, value)| {
            row.labels.0.iter().any(|(own_name, own_value)| names(name, own_name) && values(value, own_value))
        })
    });
    Ok(page)
}

/// A store that takes labels for others.
macro_rules! labels_alike {
    ($names:ident, $values:ident) => {
        Fault { list_sessions: |tx, query| sessions_labelled(tx, query, $names, $values), ..SOUND }
    };
}

/// A list of pending calls whose cursors are bound to `loose` instead of the whole query.
fn loosely_bound(
    tx: &mut Tx<'_>,
    query: &PendingQuery,
    loose: Digest,
) -> Result<Page<PendingCall>, StoreError> {
    let own = query.digest();
    let is_loose = query.page.after.as_ref().is_none_or(|cursor| cursor.position_in(loose).is_ok());
    if !is_loose {
        return sound::list_pending(tx, query);
    }
    let page = rebound(&query.page, loose, own);
    Ok(bound(sound::list_pending(tx, &PendingQuery { page, ..query.clone() })?, own, loose))
}

/// A list of pending calls that passes, after a full page, every call that is like the last one shown.
fn passing(
    tx: &mut Tx<'_>,
    query: &PendingQuery,
    same: fn(&PendingCall, &PendingCall) -> bool,
) -> Result<Page<PendingCall>, StoreError> {
    let mut page = sound::list_pending(tx, query)?;
    let Some(last) = page.items.last().cloned() else { return Ok(page) };
    while let Some(next) = page.next.clone() {
        let one = PageRequest { after: Some(next), limit: Some(std::num::NonZeroU32::MIN) };
        let after = sound::list_pending(tx, &PendingQuery { page: one, ..query.clone() })?;
        match after.items.first() {
            Some(call) if last.deadline.is_some() && same(&last, call) => page.next = after.next,
            _ => break,
        }
    }
    Ok(page)
}

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "pending-by-like",
        broken: "the id of the session whose calls are listed is a pattern",
        fault: sessions_alike!(like),
    },
    Mutant {
        name: "pending-by-prefix",
        broken: "the calls of every session whose id begins alike are listed",
        fault: sessions_alike!(prefix),
    },
    Mutant {
        name: "pending-without-case",
        broken: "the calls of a session whose id differs in case are listed too",
        fault: sessions_alike!(without_case),
    },
    Mutant {
        name: "delete-by-like",
        broken: "the id of the session that is deleted is a pattern",
        fault: deleted_alike!(like),
    },
    Mutant {
        name: "delete-by-prefix",
        broken: "every session whose id begins alike is deleted",
        fault: deleted_alike!(prefix),
    },
    Mutant {
        name: "delete-without-case",
        broken: "a session whose id differs in case is deleted too",
        fault: deleted_alike!(without_case),
    },
    Mutant {
        name: "label-values-by-prefix",
        broken: "a list of sessions takes a label whose value begins alike",
        fault: labels_alike!(exact, prefix),
    },
    Mutant {
        name: "label-names-by-prefix",
        broken: "a list of sessions takes a label whose name begins alike",
        fault: labels_alike!(prefix, exact),
    },
    Mutant {
        name: "label-values-by-like",
        broken: "the value of a label is a pattern",
        fault: labels_alike!(exact, like),
    },
    Mutant {
        name: "label-names-by-like",
        broken: "the name of a label is a pattern",
        fault: labels_alike!(like, exact),
    },
    Mutant {
        name: "label-names-without-case",
        broken: "the name of a label is found whatever its case",
        fault: labels_alike!(without_case, exact),
    },
    Mutant {
        name: "pending-cursor-of-any-tenant",
        broken: "a cursor of pending calls is taken for another tenant",
        fault: Fault {
            list_pending: |tx, query| {
                let loose = format!("{:?} {:?}", query.session, query.kind);
                loosely_bound(tx, query, Digest::of(loose.as_bytes()))
            },
            ..SOUND
        },
    },
    Mutant {
        name: "pending-cursor-of-any-session",
        broken: "a cursor of pending calls is taken for another session",
        fault: Fault {
            list_pending: |tx, query| {
                let loose = PendingQuery { session: None, ..query.clone() }.digest();
                loosely_bound(tx, query, loose)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "pending-cursor-of-any-kind",
        broken: "a cursor of pending calls is taken for another kind",
        fault: Fault {
            list_pending: |tx, query| {
                let loose = PendingQuery { kind: None, ..query.clone() }.digest();
                loosely_bound(tx, query, loose)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "pending-goes-on-after-the-deadline",
        broken: "calls of one deadline are lost at the border of a page",
        fault: Fault {
            list_pending: |tx, query| passing(tx, query, |last, next| last.deadline == next.deadline),
            ..SOUND
        },
    },
    Mutant {
        name: "pending-goes-on-after-the-session",
        broken: "calls of one deadline and one session are lost at the border of a page",
        fault: Fault {
            list_pending: |tx, query| {
                passing(tx, query, |last, next| (last.deadline, &last.key) == (next.deadline, &next.key))
            },
            ..SOUND
        },
    },
];
