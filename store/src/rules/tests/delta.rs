//! Tests of the rules for batches of deltas, and for the pages that show them.

use super::*;
use crate::{
    DeltaBatch, DeltaOutcome, DeltaPage, EventCursor, EventPage, EventPlace, StoredDelta, StoredEvent,
    StreamId,
};

fn id(run: u64, number: u32) -> StreamId {
    StreamId { run: Epoch(run), number }
}

fn batch(stream: u32, first: u64, deltas: usize) -> DeltaBatch {
    DeltaBatch { stream, first, deltas: vec![Payload::new("d"); deltas] }
}

/// Returns a session held by its first run. The second stream of that run has three deltas.
fn streaming() -> SessionRow {
    SessionRow { stream: Stream { id: id(1, 2), last: 3, open: true }, ..claimed(row(), at(0)) }
}

#[test]
fn a_batch_continues_its_stream_without_a_gap_and_what_is_there_stays() {
    let check = |first, deltas, expect: Result<(usize, u64), u64>| {
        let mut row = streaming();
        let streamed = row.stream(&row.fence(), &batch(2, first, deltas));
        let (outcome, last) = match expect {
            Ok((skip, last)) => (Ok(Streamed { replaces: false, skip }), last),
            Err(expected) => (Err(DeltaOutcome::Gap { expected }), 3),
        };
        let stream = Stream { last, ..streaming().stream };
        assert_eq!((streamed, row), (outcome, SessionRow { stream, ..streaming() }), "{first} {deltas}");
    };
    check(4, 2, Ok((0, 5)));
    check(3, 2, Ok((1, 4)));
    check(2, 2, Ok((2, 3)));
    check(1, 2, Ok((2, 3)));
    check(1, 5, Ok((3, 5)));
    check(5, 1, Err(4));
    check(0, 1, Err(4));
}

#[test]
fn a_later_stream_replaces_the_one_before_and_one_that_is_over_takes_no_more() {
    let mut row = streaming();
    let fence = row.fence();
    assert_eq!(row.stream(&fence, &batch(1, 4, 1)), Err(DeltaOutcome::Ended), "an earlier one");
    assert_eq!(row.stream(&fence, &batch(3, 2, 1)), Err(DeltaOutcome::Gap { expected: 1 }));
    assert_eq!(row, streaming());
    assert_eq!(row.stream(&fence, &batch(3, 1, 2)), Ok(Streamed { replaces: true, skip: 0 }));
    assert_eq!(row.stream, Stream { id: id(1, 3), last: 2, open: true });
    row.stream.open = false;
    assert_eq!(row.stream(&fence, &batch(3, 3, 1)), Err(DeltaOutcome::Ended));
    let old = Fence { epoch: Epoch(0), ..fence };
    assert_eq!(row.stream(&old, &batch(4, 1, 1)), Err(DeltaOutcome::StaleFence));
    let mut row = claimed(row, at(10_000));
    assert_eq!(row.stream(&row.fence(), &batch(1, 1, 1)), Ok(Streamed { replaces: true, skip: 0 }));
    assert_eq!(row.stream.id, id(2, 1), "a later run begins its numbers anew");
}

#[test]
fn deltas_are_shown_at_the_end_of_the_log_after_the_place_in_their_own_stream() {
    let row = SessionRow { last_event: EventSeq(7), ..streaming() };
    let place = |within| EventPlace { after: EventSeq(0), within };
    let shown = |row: &SessionRow, within, last| row.deltas_after(&place(within), EventSeq(last));
    assert_eq!(shown(&row, None, 7), Some(0));
    assert_eq!(shown(&row, Some((id(1, 2), 2)), 7), Some(2));
    assert_eq!(shown(&row, Some((id(1, 1), 2)), 7), Some(0), "it stood in another");
    assert_eq!(shown(&row, None, 6), None, "the log goes on");
    let mut over = row.clone();
    over.stream.open = false;
    assert_eq!(shown(&over, None, 7), None);
}

/// The place of a reader: the last event that it has read, and the last delta with its stream.
type Place = (u64, Option<(StreamId, u64)>);

/// Checks the page for a reader at `after` and `within`: the next place, whether the page shows a stream, and whether
/// there are more rows.
fn check_page(
    (after, within): Place,
    events: std::ops::RangeInclusive<u64>,
    deltas: std::ops::RangeInclusive<u64>,
    expect: (Place, bool, bool),
) {
    let row = SessionRow { last_event: EventSeq(3), ..streaming() };
    let cursor =
        |(after, within)| EventCursor::at(row.incarnation, EventPlace { after: EventSeq(after), within });
    let payload = Payload::new("x");
    let events: Vec<StoredEvent> =
        events.map(|seq| StoredEvent { seq: EventSeq(seq), at: at(0), payload: payload.clone() }).collect();
    let deltas: Vec<StoredDelta> =
        deltas.map(|place| StoredDelta { place, payload: payload.clone() }).collect();
    let (place, streams, more) = expect;
    let stream = streams.then(|| DeltaPage { stream: id(1, 2), deltas: deltas.clone() });
    let page = row.event_page(&cursor((after, within)), events.clone(), deltas);
    assert_eq!(page, EventPage::Events { events, stream, next: cursor(place), more });
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "a page without events, or without deltas")]
fn a_page_goes_on_after_its_last_row_and_says_whether_there_is_more() {
    let (own, other) = (id(1, 2), id(1, 1));
    check_page((0, None), 1..=2, 1..=0, ((2, None), false, true));
    check_page((0, None), 1..=3, 1..=0, ((3, None), true, true));
    check_page((0, None), 1..=3, 1..=2, ((3, Some((own, 2))), true, true));
    check_page((0, None), 1..=3, 1..=3, ((3, Some((own, 3))), true, false));
    check_page((3, Some((own, 1))), 1..=0, 2..=3, ((3, Some((own, 3))), true, false));
    check_page((3, Some((own, 3))), 1..=0, 1..=0, ((3, Some((own, 3))), true, false));
    check_page((3, Some((other, 9))), 1..=0, 1..=1, ((3, Some((own, 1))), true, true));
    check_page((2, Some((own, 1))), 3..=3, 2..=2, ((3, Some((own, 2))), true, true));
    check_page((1, Some((other, 9))), 2..=2, 1..=0, ((2, Some((other, 9))), false, true));
}

#[test]
fn a_page_after_a_stream_is_over_stands_in_none_and_a_cursor_of_another_life_is_gone() {
    let mut row = SessionRow { last_event: EventSeq(3), ..streaming() };
    row.stream.open = false;
    let place = EventPlace { after: EventSeq(3), within: Some((id(1, 2), 3)) };
    let page = |row: &SessionRow, cursor: &EventCursor| row.event_page(cursor, vec![], vec![]);
    let next = EventCursor::after(row.incarnation, EventSeq(3));
    let over = EventPage::Events { events: vec![], stream: None, next, more: false };
    assert_eq!(page(&row, &EventCursor::at(row.incarnation, place)), over);
    let other = EventCursor::at(Incarnation(Uuid::from_u128(2)), place);
    assert_eq!(page(&row, &other), EventPage::Gone);
    let empty = SessionRow { last_event: EventSeq(0), ..row };
    let start = EventPage::Events { events: vec![], stream: None, next: EventCursor::START, more: false };
    assert_eq!(page(&empty, &EventCursor::START), start, "the given place when there was nothing");
}
