//! Similar names.

use holdover_store::payload::Digest;
use holdover_store::{
    Deletion, Labels, Page, PageRequest, PendingCall, PendingQuery, SessionQuery, SessionSummary, StoreError,
};

use super::list::{bound, rebound};
use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Returns true if `name` matches `pattern` as in SQL: `%` stands for any text, `_` for any character.
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

/// Lists the open calls of a session, followed by those of every session with a similar id.
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

/// Defines a store in which a session id also stands for similar ids.
macro_rules! sessions_alike {
    ($name:literal, $broken:literal, $alike:ident) => {
        broken($name, $broken).list_pending(|tx, query| pending_of(tx, query, $alike))
    };
}

/// Defines a store that also deletes sessions with similar ids.
macro_rules! deleted_alike {
    ($name:literal, $broken:literal, $alike:ident) => {
        broken($name, $broken).delete(|tx, key, deletion| {
            let alike = tx.sessions.keys().filter(|other| {
                other.tenant == key.tenant && other.id != key.id && $alike(key.id.as_str(), other.id.as_str())
            });
            for other in alike.cloned().collect::<Vec<_>>() {
                sound::delete(tx, &other, Deletion::FORCE);
            }
            sound::delete(tx, key, deletion)
        })
    };
}

/// Lists sessions whose labels are similar to those of the query.
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

/// Defines a store that confuses similar labels.
macro_rules! labels_alike {
    ($name:literal, $broken:literal, $names:ident, $values:ident) => {
        broken($name, $broken).list_sessions(|tx, query| sessions_labelled(tx, query, $names, $values))
    };
}

/// Lists pending calls with cursors that are bound to `loose` instead of the whole query.
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

/// Lists pending calls. The next page begins only after the calls that are like the last one shown, so these are
/// missing from the list.
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
    sessions_alike!("pending-by-like", "the id of the session whose calls are listed is a pattern", like),
    sessions_alike!(
        "pending-by-prefix",
        "the calls of every session whose id begins alike are listed",
        prefix
    ),
    sessions_alike!(
        "pending-without-case",
        "the calls of a session whose id differs in case are listed too",
        without_case
    ),
    deleted_alike!("delete-by-like", "the id of the session that is deleted is a pattern", like),
    deleted_alike!("delete-by-prefix", "every session whose id begins alike is deleted", prefix),
    deleted_alike!("delete-without-case", "a session whose id differs in case is deleted too", without_case),
    labels_alike!(
        "label-values-by-prefix",
        "a list of sessions takes a label whose value begins alike",
        exact,
        prefix
    ),
    labels_alike!(
        "label-names-by-prefix",
        "a list of sessions takes a label whose name begins alike",
        prefix,
        exact
    ),
    labels_alike!("label-values-by-like", "the value of a label is a pattern", exact, like),
    labels_alike!("label-names-by-like", "the name of a label is a pattern", like, exact),
    labels_alike!(
        "label-names-without-case",
        "the name of a label is found whatever its case",
        without_case,
        exact
    ),
    broken("pending-cursor-of-any-tenant", "a cursor of pending calls is taken for another tenant")
        .list_pending(|tx, query| {
            let loose = format!("{:?} {:?}", query.session, query.kind);
            loosely_bound(tx, query, Digest::of(loose.as_bytes()))
        }),
    broken("pending-cursor-of-any-session", "a cursor of pending calls is taken for another session")
        .list_pending(|tx, query| {
            let loose = PendingQuery { session: None, ..query.clone() }.digest();
            loosely_bound(tx, query, loose)
        }),
    broken("pending-cursor-of-any-kind", "a cursor of pending calls is taken for another kind").list_pending(
        |tx, query| {
            let loose = PendingQuery { kind: None, ..query.clone() }.digest();
            loosely_bound(tx, query, loose)
        },
    ),
    broken("pending-goes-on-after-the-deadline", "calls of one deadline are lost at the border of a page")
        .list_pending(|tx, query| passing(tx, query, |last, next| last.deadline == next.deadline)),
    broken(
        "pending-goes-on-after-the-session",
        "calls of one deadline and one session are lost at the border of a page",
    )
    .list_pending(|tx, query| {
        passing(tx, query, |last, next| (last.deadline, &last.key) == (next.deadline, &next.key))
    }),
];
