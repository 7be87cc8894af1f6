//! Lists, read page by page.

use std::time::Duration;

use holdover_store::payload::Digest;
use holdover_store::time::Timestamp;
use holdover_store::{
    Labels, Page, PageCursor, PageRequest, PendingQuery, SessionQuery, StoreErrorKind, TimeRange,
};

use crate::fault::{Mutant, broken};
use crate::sound;

/// Binds a page's cursor to the query that was asked, although another query was run.
pub(super) fn bound<T>(page: Page<T>, of: Digest, to: Digest) -> Page<T> {
    let rebound = |cursor: PageCursor| cursor.position_in(of).ok().map(|place| PageCursor::at(to, &place));
    Page { next: page.next.and_then(rebound), ..page }
}

/// Binds the cursor of a page request to the query that is run in place of the one that was asked.
pub(super) fn rebound(page: &PageRequest, of: Digest, to: Digest) -> PageRequest {
    let place = page.after.as_ref().and_then(|cursor| cursor.position_in(of).ok());
    PageRequest { after: place.map(|place| PageCursor::at(to, &place)), ..page.clone() }
}

/// Returns the next millisecond.
fn next(at: Timestamp) -> Timestamp {
    at.after(Duration::from_millis(1))
}

/// Defines a list of sessions that runs another query than the one that was asked.
macro_rules! sessions_by {
    ($name:literal, $broken:literal, |$query:ident| $change:expr) => {
        broken($name, $broken).list_sessions(|tx, asked| {
            // An invalid cursor is still refused.
            sound::list_sessions(tx, asked)?;
            let mut $query: SessionQuery = asked.clone();
            $change;
            $query.page = rebound(&asked.page, asked.digest(), $query.digest());
            let page = sound::list_sessions(tx, &$query)?;
            Ok(bound(page, $query.digest(), asked.digest()))
        })
    };
}

/// Defines a list of pending calls that runs another query than the one that was asked.
macro_rules! pending_by {
    ($name:literal, $broken:literal, |$query:ident| $change:expr) => {
        broken($name, $broken).list_pending(|tx, asked| {
            sound::list_pending(tx, asked)?;
            let mut $query: PendingQuery = asked.clone();
            $change;
            $query.page = rebound(&asked.page, asked.digest(), $query.digest());
            let page = sound::list_pending(tx, &$query)?;
            Ok(bound(page, $query.digest(), asked.digest()))
        })
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    sessions_by!("list-ignores-life", "a list of sessions does not look at the life", |query| query.life =
        None),
    sessions_by!("list-ignores-status", "a list of sessions does not look at the status", |query| query
        .status
        .clear()),
    sessions_by!("list-ignores-queue", "a list of sessions does not look at the queue", |query| query
        .queue =
        None),
    sessions_by!("list-ignores-labels", "a list of sessions does not look at the labels", |query| query
        .labels =
        Labels::default()),
    sessions_by!(
        "list-any-of-the-labels",
        "a list of sessions takes those that have the first of the labels",
        |query| {
            let first = query.labels.0.pop_first();
            query.labels = first.into_iter().collect();
        }
    ),
    sessions_by!(
        "list-ignores-created-since",
        "a list of sessions does not look at where the time of creation begins",
        |query| query.created.since = None
    ),
    sessions_by!(
        "list-ignores-created-before",
        "a list of sessions does not look at where the time of creation ends",
        |query| query.created.before = None
    ),
    sessions_by!(
        "list-ignores-changed-since",
        "a list of sessions does not look at where the time of change begins",
        |query| query.changed.since = None
    ),
    sessions_by!(
        "list-ignores-changed-before",
        "a list of sessions does not look at where the time of change ends",
        |query| query.changed.before = None
    ),
    sessions_by!("list-time-with-its-end", "the end of a time belongs to it", |query| {
        query.created.before = query.created.before.map(next);
        query.changed.before = query.changed.before.map(next);
    }),
    sessions_by!(
        "list-time-without-its-begin",
        "the first instant of a time does not belong to it",
        |query| {
            query.created.since = query.created.since.map(next);
            query.changed.since = query.changed.since.map(next);
        }
    ),
    sessions_by!("list-changed-by-creation", "a time of change is held against the creation", |query| {
        let created = std::mem::replace(&mut query.changed, TimeRange::ALWAYS);
        query.created.since = query.created.since.max(created.since);
        let ends = [query.created.before, created.before];
        query.created.before = ends.into_iter().flatten().min();
    }),
    pending_by!("pending-ignores-kind", "a list of open calls does not look at the kind", |query| query
        .kind =
        None),
    broken("list-oldest-first", "a page of sessions is listed oldest first").list_sessions(|tx, query| {
        let mut page = sound::list_sessions(tx, query)?;
        page.items.reverse();
        Ok(page)
    }),
    broken("list-ties-by-id-ascending", "sessions of one instant are listed by id ascending").list_sessions(
        |tx, query| {
            let mut page = sound::list_sessions(tx, query)?;
            page.items.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| a.key.id.cmp(&b.key.id)));
            Ok(page)
        },
    ),
    broken("page-drops-a-row", "the last row of a page is dropped between two pages").list_sessions(
        |tx, query| {
            let mut page = sound::list_sessions(tx, query)?;
            if page.next.is_some() {
                page.items.pop();
            }
            Ok(page)
        },
    ),
    broken("page-ends-early", "a page that is full is taken for the last")
        .list_sessions(|tx, query| {
            let page = sound::list_sessions(tx, query)?;
            Ok(Page { next: None, ..page })
        })
        .list_pending(|tx, query| {
            let page = sound::list_pending(tx, query)?;
            Ok(Page { next: None, ..page })
        }),
    broken("cursor-is-an-offset", "a page begins at a number of rows, so rows that come and go shift it")
        .list_sessions(|tx, query| {
            let digest = query.digest();
            let mut offset = 0;
            if let Some(cursor) = &query.page.after {
                match cursor.position_in(digest) {
                    Ok(place) => {
                        offset = place.into_iter().fold(0, |sum, byte| sum * 256 + usize::from(byte))
                    }
                    Err(_) => return sound::list_sessions(tx, query),
                }
            }
            let mut all = SessionQuery { page: PageRequest::default(), ..query.clone() };
            let mut rows = Vec::new();
            loop {
                let page = sound::list_sessions(tx, &all)?;
                rows.extend(page.items);
                match page.next {
                    Some(next) => all.page.after = Some(next),
                    None => break,
                }
            }
            let end = offset + query.page.rows() as usize;
            let next = (rows.len() > end).then(|| PageCursor::at(digest, &(end as u32).to_be_bytes()));
            let items = rows.into_iter().take(end).skip(offset).collect();
            Ok(Page { items, next })
        }),
    broken("page-without-bound", "a limit beyond the largest page is served").list_sessions(|tx, query| {
        let mut page = sound::list_sessions(tx, query)?;
        let wanted = query.page.limit.map_or(0, std::num::NonZeroU32::get) as usize;
        while let (true, Some(next)) = (page.items.len() < wanted, page.next.take()) {
            let request = PageRequest { after: Some(next), ..query.page.clone() };
            let more = sound::list_sessions(tx, &SessionQuery { page: request, ..query.clone() })?;
            page.items.extend(more.items);
            page.next = more.next;
        }
        Ok(page)
    }),
    broken("cursor-of-any-query", "a cursor of another query begins from the start instead of being refused")
        .list_sessions(|tx, query| match sound::list_sessions(tx, query) {
            Err(error) if error.kind == StoreErrorKind::InvalidArgument => {
                let page = PageRequest { after: None, ..query.page.clone() };
                sound::list_sessions(tx, &SessionQuery { page, ..query.clone() })
            }
            answer => answer,
        }),
    broken("list-shows-the-creation", "a list shows sessions as they were created").list_sessions(
        |tx, query| {
            let mut page = sound::list_sessions(tx, query)?;
            for row in &mut page.items {
                row.version = holdover_store::ids::Version(1);
            }
            Ok(page)
        },
    ),
];
