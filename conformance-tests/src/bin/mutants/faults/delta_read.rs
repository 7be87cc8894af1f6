//! Reads of deltas from another place, of another stream, or at another instant.

use holdover_store::{EventCursor, EventPage, EventPlace};

use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken("cursor-within-dropped", "a cursor forgets its place within the stream").read_events(
        |tx, key, after, limit| {
            let mut page = sound::read_events(tx, key, after, limit)?;
            if let EventPage::Events { next, .. } = &mut page
                && let Some(row) = tx.row_of(key)
                && let Some(place) = next.place_in(row.incarnation)
                && place.within.is_some()
            {
                *next = EventCursor::after(row.incarnation, place.after);
            }
            Ok(page)
        },
    ),
    broken("cursor-within-is-of-any-stream", "a place in one stream is taken for the same place in the next")
        .read_events(|tx, key, after, limit| {
            let after = match tx.row_of(key).and_then(|row| Some((after.place_in(row.incarnation)?, row))) {
                Some((EventPlace { after, within: Some((_, place)) }, row)) => {
                    let within = Some((row.stream.id, place.min(row.stream.last)));
                    EventCursor::at(row.incarnation, EventPlace { after, within })
                }
                Some(_) | None => *after,
            };
            sound::read_events(tx, key, &after, limit)
        }),
    broken("dead-readers-keep-their-place", "the cursor of a reader in a dead attempt stays in it")
        .read_events(|tx, key, after, limit| {
            let mut page = sound::read_events(tx, key, after, limit)?;
            if let EventPage::Events { events, stream: None, next, .. } = &mut page
                && events.is_empty()
            {
                *next = *after;
            }
            Ok(page)
        }),
    broken("page-limit-without-deltas", "the limit of a page counts events alone").read_events(
        |tx, key, after, limit| {
            let page = sound::read_events(tx, key, after, limit)?;
            match &page {
                EventPage::Events { stream: Some(stream), .. } if !stream.deltas.is_empty() => {
                    sound::read_events(tx, key, after, limit.saturating_add(100))
                }
                EventPage::Events { .. } | EventPage::Gone | EventPage::NotFound => Ok(page),
            }
        },
    ),
    broken("more-forgets-deltas", "a page never says that there are more deltas").read_events(
        |tx, key, after, limit| {
            let mut page = sound::read_events(tx, key, after, limit)?;
            if let EventPage::Events { stream: Some(_), more, .. } = &mut page {
                *more = false;
            }
            Ok(page)
        },
    ),
    broken("events-and-deltas-in-two-reads", "the stream that a page shows was read before its events")
        .read_events(|tx, key, after, limit| {
            let mut page = sound::read_events(tx, key, after, limit)?;
            if let EventPage::Events { events, stream, .. } = &mut page
                && let (Some(earlier), false) = (tx.cache.get(key), events.is_empty())
                && earlier.row.stream.open
                && let Some(shown) = stream
            {
                shown.stream = earlier.row.stream.id;
                shown.deltas.clear();
            }
            let record = tx.record(key).cloned();
            tx.cache.extend(record.map(|record| (key.clone(), record)));
            Ok(page)
        }),
    broken("deltas-shown-by-content", "deltas of one page are shown in the order of their bytes")
        .read_events(|tx, key, after, limit| {
            let mut page = sound::read_events(tx, key, after, limit)?;
            if let EventPage::Events { stream: Some(stream), .. } = &mut page {
                stream.deltas.sort_by(|a, b| a.payload.bytes().cmp(b.payload.bytes()));
            }
            Ok(page)
        }),
];
