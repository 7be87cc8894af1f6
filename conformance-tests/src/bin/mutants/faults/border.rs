//! Pages at their limit in bytes.

use holdover_store::ids::{EventSeq, InboxSeq, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::{
    CheckpointQuery, EventCursor, EventPage, INBOX_PAGE, InboxPage, MessagePage, MessageRange,
    PAGE_BYTES_MAX, PAGE_ROWS_MAX, Page, PageRequest, PendingQuery, SessionQuery, StoreError, StoredMessage,
};

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// A wrong way to fill a page.
#[derive(Clone, Copy)]
enum Filling {
    /// A row that is too large is skipped, and a later row that fits is taken.
    PassesRows,
    /// The page may have one byte more than the limit.
    OneByteOver,
}

impl Filling {
    /// Returns the indexes of the rows on a page of at most `rows` rows and `bytes` bytes.
    fn of(self, sizes: impl Iterator<Item = usize>, rows: usize, bytes: usize) -> Vec<usize> {
        let (mut taken, mut total) = (Vec::new(), 0);
        let most = match self {
            Self::PassesRows => bytes,
            Self::OneByteOver => bytes + 1,
        };
        for (place, size) in sizes.enumerate() {
            if taken.len() == rows {
                break;
            }
            if taken.is_empty() || total + size <= most {
                taken.push(place);
                total += size;
            } else if matches!(self, Self::OneByteOver) {
                break;
            }
        }
        taken
    }
}

fn chosen<T: Clone>(rows: &[T], places: &[usize]) -> Vec<T> {
    places.iter().filter_map(|place| rows.get(*place)).cloned().collect()
}

fn messages(
    tx: &mut Tx<'_>,
    key: &SessionKey,
    ranges: &[MessageRange],
    filling: Filling,
) -> Result<MessagePage, StoreError> {
    sound::read_messages(tx, key, ranges)?;
    let stored = tx.record(key).map(|record| record.messages.clone()).unwrap_or_default();
    let in_range = |(place, range): (usize, &MessageRange)| {
        let range = *range;
        stored.iter().filter(move |row| range.contains(row.seq)).map(move |row| (place, row.clone()))
    };
    let rows: Vec<(usize, StoredMessage)> = ranges.iter().enumerate().flat_map(in_range).collect();
    let places = filling.of(rows.iter().map(|(_, row)| row.payload.len()), usize::MAX, PAGE_BYTES_MAX);
    let shown = chosen(&rows, &places).into_iter().map(|(_, row)| row).collect();
    Ok(match places.last().and_then(|last| rows.get(last + 1)) {
        Some((range, next)) => MessagePage::cut(shown, &ranges[*range..], next.seq),
        None => MessagePage::whole(shown),
    })
}

fn inbox(
    tx: &mut Tx<'_>,
    key: &SessionKey,
    after: InboxSeq,
    limit: u32,
    filling: Filling,
) -> Result<InboxPage, StoreError> {
    sound::read_inbox(tx, key, after, limit)?;
    let Some(record) = tx.record(key) else { return Ok(InboxPage::default()) };
    let rows: Vec<_> = record.inbox.range(after.next()..).map(|(_, (item, _))| item.clone()).collect();
    let limit = limit.min(INBOX_PAGE) as usize;
    let places = filling.of(rows.iter().map(|item| item.payload.len()), limit, PAGE_BYTES_MAX);
    let more = places.last().is_some_and(|last| last + 1 < rows.len());
    Ok(InboxPage::new(chosen(&rows, &places), more))
}

/// Reads a session's events and deltas, with pages that are filled in these ways.
fn shown(
    tx: &mut Tx<'_>,
    key: &SessionKey,
    cursor: &EventCursor,
    limit: u32,
    fillings: [Option<Filling>; 2],
) -> Result<EventPage, StoreError> {
    let page = sound::read_events(tx, key, cursor, limit)?;
    let Some(record) = tx.record(key) else { return Ok(page) };
    let Some(place) = cursor.place_in(record.row.incarnation) else { return Ok(page) };
    let EventPage::Events { events: mut shown, stream, .. } = page else { return Ok(page) };
    let limit = limit.min(PAGE_ROWS_MAX) as usize;
    let mut deltas = stream.map(|page| page.deltas).unwrap_or_default();
    let bytes = |payloads: &mut dyn Iterator<Item = &Payload>| payloads.map(Payload::len).sum::<usize>();
    if let Some(filling) = fillings[0] {
        let rows: Vec<_> = record.events.iter().filter(|row| row.seq > place.after).cloned().collect();
        let places = filling.of(rows.iter().map(|row| row.payload.len()), limit, PAGE_BYTES_MAX);
        shown = chosen(&rows, &places);
    }
    if let Some(filling) = fillings[1] {
        let last: EventSeq = shown.last().map_or(place.after, |last| last.seq);
        if let Some(read) = record.row.deltas_after(&place, last) {
            let rows: Vec<_> = record.deltas.iter().filter(|row| row.place > read).cloned().collect();
            let left = PAGE_BYTES_MAX.saturating_sub(bytes(&mut shown.iter().map(|row| &row.payload)));
            let places = filling.of(rows.iter().map(|row| row.payload.len()), limit - shown.len(), left);
            deltas = chosen(&rows, &places);
        }
    }
    Ok(record.row.event_page(cursor, shown, deltas))
}

/// Reads a page of a list, filled in this way. `one` reads a page of one row.
fn list<T: Clone>(
    request: &PageRequest,
    mut one: impl FnMut(PageRequest) -> Result<Page<T>, StoreError>,
    size: impl Fn(&T) -> usize,
    bytes: usize,
    filling: Filling,
) -> Result<Page<T>, StoreError> {
    let mut rows = Vec::new();
    let mut next = Some(PageRequest { limit: Some(std::num::NonZeroU32::MIN), ..request.clone() });
    while let Some(request) = next {
        let page = one(request.clone())?;
        next = page.next.clone().map(|after| PageRequest { after: Some(after), ..request });
        rows.extend(page.items.into_iter().map(|row| (row, page.next.clone())));
    }
    let places = filling.of(rows.iter().map(|(row, _)| size(row)), request.rows() as usize, bytes);
    let shown = chosen(&rows, &places);
    let next = shown.last().and_then(|(_, next)| next.clone());
    Ok(Page { items: shown.into_iter().map(|(row, _)| row).collect(), next })
}

macro_rules! of_messages {
    ($name:literal, $broken:literal, $filling:ident) => {
        broken($name, $broken).read_messages(|tx, key, ranges| messages(tx, key, ranges, Filling::$filling))
    };
}

macro_rules! of_items {
    ($name:literal, $broken:literal, $filling:ident) => {
        broken($name, $broken)
            .read_inbox(|tx, key, after, limit| inbox(tx, key, after, limit, Filling::$filling))
    };
}

macro_rules! of_claims {
    ($name:literal, $broken:literal, $filling:ident) => {
        broken($name, $broken).claim(|tx, key, claim| {
            let mut answer = sound::claim(tx, key, claim);
            if let holdover_store::ClaimOutcome::Claimed(claim) = &mut answer
                && let Ok(page) = inbox(tx, key, InboxSeq(0), INBOX_PAGE, Filling::$filling)
            {
                claim.inbox = page.items;
            }
            answer
        })
    };
}

macro_rules! of_shown {
    ($name:literal, $broken:literal, $events:expr, $deltas:expr) => {
        broken($name, $broken)
            .read_events(|tx, key, cursor, limit| shown(tx, key, cursor, limit, [$events, $deltas]))
    };
}

macro_rules! of_runs {
    ($name:literal, $broken:literal, $filling:ident) => {
        broken($name, $broken).list_runs(|tx, key, request| {
            let one = |page| sound::list_runs(tx, key, &page);
            let size = |run: &holdover_store::RunRecord| {
                run.end.as_ref().and_then(|end| end.detail.as_ref()).map_or(0, Payload::len)
            };
            list(request, one, size, PAGE_BYTES_MAX, Filling::$filling)
        })
    };
}

macro_rules! of_pending {
    ($name:literal, $broken:literal, $filling:ident) => {
        broken($name, $broken).list_pending(|tx, query| {
            let one = |page| sound::list_pending(tx, &PendingQuery { page, ..query.clone() });
            list(&query.page, one, |call| call.body.len(), PAGE_BYTES_MAX, Filling::$filling)
        })
    };
}

macro_rules! of_checkpoints {
    ($name:literal, $broken:literal, $filling:ident) => {
        broken($name, $broken).list_checkpoints(|tx, query| {
            let one = |page| sound::list_checkpoints(tx, &CheckpointQuery { page, ..query.clone() });
            list(&query.page, one, |kept| kept.state.len(), PAGE_BYTES_MAX, Filling::$filling)
        })
    };
}

/// The maximum number of label bytes on a page of sessions.
const LABEL_BYTES_MAX: usize = 256 << 10;

pub(super) static MUTANTS: &[Mutant] = &[
    of_messages!(
        "messages-pass-a-large-one",
        "a full page of messages goes on with a later, smaller one",
        PassesRows
    ),
    of_messages!("messages-one-byte-over", "a page of messages has one byte more than it may", OneByteOver),
    of_items!(
        "inbox-passes-a-large-item",
        "a full page of the inbox goes on with a later, smaller item",
        PassesRows
    ),
    of_items!("inbox-one-byte-over", "a page of the inbox has one byte more than it may", OneByteOver),
    of_claims!(
        "claim-passes-a-large-item",
        "the page of the inbox that a claim brings goes on with a later, smaller item",
        PassesRows
    ),
    of_claims!(
        "claim-one-byte-over",
        "the page of the inbox that a claim brings has one byte more than it may",
        OneByteOver
    ),
    of_shown!(
        "events-pass-a-large-one",
        "a full page of events goes on with a later, smaller one",
        Some(Filling::PassesRows),
        None
    ),
    of_shown!(
        "events-one-byte-over",
        "a page of events has one byte more than it may",
        Some(Filling::OneByteOver),
        None
    ),
    of_shown!(
        "deltas-pass-a-large-one",
        "a full page of deltas goes on with a later, smaller one",
        None,
        Some(Filling::PassesRows)
    ),
    of_shown!(
        "deltas-one-byte-over",
        "a page of deltas has one byte more than it may",
        None,
        Some(Filling::OneByteOver)
    ),
    of_runs!("runs-pass-a-large-one", "a full page of runs goes on with a later, smaller one", PassesRows),
    of_runs!("runs-one-byte-over", "a page of runs has one byte more than it may", OneByteOver),
    of_pending!(
        "pending-passes-a-large-call",
        "a full page of pending calls goes on with a later, smaller one",
        PassesRows
    ),
    of_pending!(
        "pending-one-byte-over",
        "a page of pending calls has one byte more than it may",
        OneByteOver
    ),
    of_checkpoints!(
        "checkpoints-pass-a-large-one",
        "a full page of checkpoints goes on with an earlier, smaller one",
        PassesRows
    ),
    of_checkpoints!(
        "checkpoints-one-byte-over",
        "a page of checkpoints has one byte more than it may",
        OneByteOver
    ),
    broken(
        "list-passes-many-labels",
        "a page of sessions that is full of labels goes on with an earlier session that has fewer",
    )
    .list_sessions(|tx, query| {
        let one = |page| sound::list_sessions(tx, &SessionQuery { page, ..query.clone() });
        let size = |row: &holdover_store::SessionSummary| {
            row.labels.0.iter().map(|(name, value)| name.len() + value.len()).sum()
        };
        list(&query.page, one, size, LABEL_BYTES_MAX, Filling::PassesRows)
    }),
];
