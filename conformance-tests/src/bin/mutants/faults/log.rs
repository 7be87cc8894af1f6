//! Reads of messages and events.

use holdover_store::ids::EventSeq;
use holdover_store::{
    EventCursor, EventPage, EventPlace, MessagePage, MessageRange, PAGE_BYTES_MAX, StoreError,
};

use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken("range-half-open", "a range of messages leaves its last one out").read_messages(
        |tx, key, ranges| {
            let mut ranges = ranges.to_vec();
            ranges
                .iter_mut()
                .filter(|range| range.to.0 < 1_000)
                .for_each(|range| range.to.0 = range.to.0.saturating_sub(1));
            sound::read_messages(tx, key, &ranges)
        },
    ),
    broken("ranges-sorted", "messages are read in their own order, not in that of the ranges").read_messages(
        |tx, key, ranges| {
            let mut page = sound::read_messages(tx, key, ranges)?;
            page.messages.sort_by_key(|message| message.seq);
            Ok(page)
        },
    ),
    broken("range-past-end-is-an-error", "a range that begins past the end is refused").read_messages(
        |tx, key, ranges: &[MessageRange]| {
            let last = tx.record(key).map_or(0, |record| record.messages.len() as u64);
            if last > 0 && ranges.iter().any(|range| range.from.0 > last && range.to >= range.from) {
                return Err(StoreError::invalid("read_messages", "ranges: past the end"));
            }
            sound::read_messages(tx, key, ranges)
        },
    ),
    broken("nobody-has-no-messages", "an unknown session has an empty transcript").read_messages(
        |tx, key, ranges| match tx.record(key) {
            Some(_) => sound::read_messages(tx, key, ranges),
            None => Ok(MessagePage::default()),
        },
    ),
    broken("read-stops-at-a-thousand", "a read answers at most a thousand messages and does not say so")
        .read_messages(|tx, key, ranges| {
            let mut page = sound::read_messages(tx, key, ranges)?;
            page.messages.truncate(1_000);
            Ok(page)
        }),
    broken("messages-without-bytes", "a page of messages holds as many bytes as they have").read_messages(
        |tx, key, ranges| {
            let mut page = sound::read_messages(tx, key, ranges)?;
            while !page.rest.is_empty() {
                let more = sound::read_messages(tx, key, &page.rest)?;
                page.messages.extend(more.messages);
                page.rest = more.rest;
            }
            Ok(page)
        },
    ),
    broken("no-page-for-a-large-message", "a message that is larger than a page is in none").read_messages(
        |tx, key, ranges| {
            let mut page = sound::read_messages(tx, key, ranges)?;
            page.messages.retain(|message| message.payload.len() <= PAGE_BYTES_MAX);
            Ok(page)
        },
    ),
    broken("rest-forgets-the-ranges-after", "a page that ends in one range forgets those after it")
        .read_messages(|tx, key, ranges| {
            let mut page = sound::read_messages(tx, key, ranges)?;
            page.rest.truncate(1);
            Ok(page)
        }),
    broken("events-without-bytes", "a page of events holds as many bytes as they have").read_events(
        |tx, key, after, limit| {
            let mut page = sound::read_events(tx, key, after, limit)?;
            while let EventPage::Events { events, stream: None, next, more: true } = &mut page {
                let left = limit.min(200).saturating_sub(events.len() as u32);
                if left == 0 {
                    break;
                }
                let beyond = sound::read_events(tx, key, next, left)?;
                if let EventPage::Events { events: more_events, stream, next, more } = beyond {
                    events.extend(more_events);
                    let events = std::mem::take(events);
                    page = EventPage::Events { events, stream, next, more };
                }
            }
            Ok(page)
        },
    ),
    broken("handle-keeps-what-it-read", "a handle that has read messages once goes on answering those")
        .read_messages(|tx, key, ranges| {
            let read = sound::read_messages(tx, key, ranges)?;
            match tx.cache.get(key) {
                Some(record) => {
                    let known = |seq| ranges.iter().any(|range| range.contains(seq));
                    let messages = record.messages.iter().filter(|message| known(message.seq));
                    Ok(MessagePage::whole(messages.cloned().collect()))
                }
                None => {
                    let record = tx.record(key).cloned();
                    tx.cache.extend(record.map(|record| (key.clone(), record)));
                    Ok(read)
                }
            }
        })
        .commit(|tx, fence, commit| {
            tx.cache.remove(&fence.key);
            sound::commit(tx, fence, commit)
        }),
    broken("cursor-skips-one", "a read of events after a cursor begins one too late").read_events(
        |tx, key, after, limit| {
            let life = tx.row_of(key).map(|row| row.incarnation);
            let place = life.and_then(|life| Some((life, after.place_in(life)?)));
            match place {
                Some((life, EventPlace { after: EventSeq(place), .. })) if place > 0 => {
                    sound::read_events(tx, key, &EventCursor::after(life, EventSeq(place + 1)), limit)
                }
                Some(_) | None => sound::read_events(tx, key, after, limit),
            }
        },
    ),
    broken("cursor-repeats-one", "a read of events after a cursor answers the last one again").read_events(
        |tx, key, after, limit| {
            let life = tx.row_of(key).map(|row| row.incarnation);
            let last = tx.row_of(key).map_or(0, |row| row.last_event.0);
            let place = life.and_then(|life| Some((life, after.place_in(life)?)));
            match place {
                Some((life, EventPlace { after: EventSeq(place), .. })) if place > 0 && place < last => {
                    sound::read_events(
                        tx,
                        key,
                        &EventCursor::after(life, EventSeq(place - 1)),
                        limit.saturating_add(1),
                    )
                }
                Some(_) | None => sound::read_events(tx, key, after, limit),
            }
        },
    ),
    broken("cursor-starts-over-at-the-end", "an empty page of events hands out the cursor of the beginning")
        .read_events(|tx, key, after, limit| {
            let mut page = sound::read_events(tx, key, after, limit)?;
            if let EventPage::Events { events, next, .. } = &mut page
                && events.is_empty()
            {
                *next = EventCursor::START;
            }
            Ok(page)
        }),
    broken(
        "cursor-of-a-deleted-life",
        "a cursor of a session that was deleted reads on in the one that has its name now",
    )
    .read_events(|tx, key, after, limit| match sound::read_events(tx, key, after, limit)? {
        EventPage::Gone => sound::read_events(tx, key, &EventCursor::START, limit),
        page => Ok(page),
    }),
    broken("events-never-more", "a page of events never says that the log goes on").read_events(
        |tx, key, after, limit| {
            let mut page = sound::read_events(tx, key, after, limit)?;
            if let EventPage::Events { more, .. } = &mut page {
                *more = false;
            }
            Ok(page)
        },
    ),
    broken("events-by-content", "the events of one commit are ordered by their bytes").commit(
        |tx, fence, mut commit| {
            commit.events.sort_by(|a, b| b.bytes().cmp(a.bytes()));
            sound::commit(tx, fence, commit)
        },
    ),
    broken("events-of-refused-commits", "the events of a refused commit are kept").commit(
        |tx, fence, commit| {
            let (events, now) = (commit.events.clone(), tx.now);
            let answer = sound::commit(tx, fence, commit);
            if !super::committed(&answer) {
                tx.with(&fence.key, |record| record.append(Vec::new(), events, now));
            }
            answer
        },
    ),
];
