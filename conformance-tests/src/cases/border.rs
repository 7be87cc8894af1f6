//! Pages at their limit in bytes: filled to the last byte, or with one row among smaller ones that no longer fits.

use holdover_store::PAGE_BYTES_MAX;

use super::prelude::*;

cases! {
    page.no_message_is_passed_at_its_bound: Core Property,
        "a page of messages that is full is over: no later, smaller message is put on it, and it is not one byte larger",
        "the walk goes on behind the last message shown, so the one that was passed is read by nobody",
        "read_messages: the page ends, at the latest, before the message that would take it beyond PAGE_BYTES_MAX";
    page.no_item_is_passed_at_its_bound: Core Property,
        "a page of the inbox that is full is over, in a claim and in a read, and it is not one byte larger",
        "a message to the agent would be delivered, acknowledged, and never read",
        "read_inbox: in order, at most PAGE_BYTES_MAX; Claim::inbox: the first page of what is not consumed, in order";
    page.no_event_is_passed_at_its_bound: Core Property,
        "a page of events that is full is over, also in the middle of a commit, and it is not one byte larger",
        "whoever follows a session would miss an event",
        "read_events: events after a cursor, at most PAGE_BYTES_MAX; without gap or repeat";
    page.no_delta_is_passed_at_its_bound: Core Property,
        "a page of deltas that is full is over, also in the middle of a batch, and it is not one byte larger",
        "whoever follows a model's answer would read it with a hole",
        "read_events: the deltas of the stream that runs, at most PAGE_BYTES_MAX; without gap or repeat";
    page.no_run_is_passed_at_its_bound: Core Property,
        "a page of runs that is full is over, and it is not one byte larger",
        "a run would be missing from the history of its session",
        "Page: no page holds more payload than PAGE_BYTES_MAX; a walk to the end is complete";
    page.no_pending_call_is_passed_at_its_bound: Core Property,
        "a page of pending calls that is full is over, and it is not one byte larger",
        "an approval would be seen by nobody",
        "Page: no page holds more payload than PAGE_BYTES_MAX; a walk to the end is complete";
    page.no_checkpoint_is_passed_at_its_bound: Core Property,
        "a page of checkpoints that is full is over, and it is not one byte larger",
        "a fork could not begin where somebody wants it to",
        "Page: no page holds more payload than PAGE_BYTES_MAX; a walk to the end is complete";
    page.no_session_is_passed_for_its_labels: Core Property,
        "a list of sessions with labels of every size leaves none out, by pages of any size",
        "a session with many labels could not be found",
        "Page: it may be short; a walk to the end is complete";
}

/// Rows that fill a page exactly, and the rows after it. A walk over them shows where the page ends.
struct Rows {
    what: &'static str,
    /// Rows that are written one by one.
    before: Vec<Payload>,
    /// Rows that are written together, where that is possible.
    together: Vec<Payload>,
}

impl Rows {
    /// Returns two sets of rows. In the first, a page is full to its last byte and a row of one byte follows. In the
    /// second, a page has room for three bytes, and rows of one, four, one and one byte follow, of which all but the
    /// second would fit.
    fn all(t: &Bench) -> [Self; 2] {
        let limits = t.store.capabilities();
        let most = limits.payload_bytes_max.min(limits.commit_bytes_max).min(PAGE_BYTES_MAX / 2);
        let rows = |what, left: usize, tail: &[usize]| {
            let fill = PAGE_BYTES_MAX - left;
            let rest = (!fill.is_multiple_of(most)).then_some(fill % most);
            let sizes = std::iter::repeat_n(most, fill / most).chain(rest).chain(tail.iter().copied());
            let payload = |(place, size): (usize, usize)| Payload::new(vec![place.to_le_bytes()[0]; size]);
            let mut before: Vec<Payload> = sizes.enumerate().map(payload).collect();
            let together = before.split_off(before.len() - tail.len());
            Self { what, before, together }
        };
        [rows("one-byte-more", 0, &[1]), rows("one-too-large-between", 3, &[1, 4, 1, 1])]
    }

    /// Returns all rows, in the order in which they are listed.
    fn listed(&self) -> Vec<Payload> {
        [self.before.as_slice(), &self.together].concat()
    }

    /// Returns the writes: each row of `before` by itself, then the rows of `together` at once.
    fn writes(&self) -> impl Iterator<Item = Vec<Payload>> {
        self.before.iter().map(|row| vec![row.clone()]).chain([self.together.clone()])
    }

    /// Fails unless the pages together hold all rows in order and none of them is too large.
    fn are(&self, what: &str, pages: &[Vec<Payload>]) -> CaseResult {
        let what = format!("{what} ({})", self.what);
        for page in pages {
            bounded(&what, page)?;
        }
        let sizes = |rows: &[Payload]| rows.iter().map(Payload::len).collect::<Vec<_>>();
        let (found, expected) = (pages.concat(), self.listed());
        ensure_eq!(sizes(&found), sizes(&expected), "the sizes of the {what} of a walk");
        ensure!(found == expected, "expected the {what} in their order", found = "{found:?}");
        Ok(())
    }
}

/// Fails if a page of several rows holds more bytes than the limit.
fn bounded(what: &str, page: &[Payload]) -> CaseResult {
    let total: usize = page.iter().map(Payload::len).sum();
    ensure!(
        total <= PAGE_BYTES_MAX || page.len() == 1,
        "expected a page of {what} of at most {PAGE_BYTES_MAX} bytes",
        found = "{} rows of {total} bytes",
        page.len()
    );
    Ok(())
}

async fn no_message_is_passed_at_its_bound(t: Bench) -> CaseResult {
    for rows in Rows::all(&t) {
        let claim = t.running(rows.what).await?;
        for write in rows.writes() {
            let messages = write.into_iter().map(NewMessage::Inline).collect();
            t.commit(&claim.fence, Commit { messages, ..commit() }).await?;
        }
        let (mut pages, mut rest) = (Vec::new(), vec![range(1, u64::MAX >> 1)]);
        while !rest.is_empty() {
            let page = t.store.read_messages(&claim.fence.key, &rest).await?;
            pages.push(page.messages.into_iter().map(|message| message.payload).collect());
            rest = page.rest;
            ends(pages.len())?;
        }
        rows.are("messages", &pages)?;
    }
    Ok(())
}

async fn no_item_is_passed_at_its_bound(t: Bench) -> CaseResult {
    for rows in Rows::all(&t) {
        let key = t.create(rows.what).await?;
        for (place, payload) in rows.listed().into_iter().enumerate() {
            let quiet = message_that(&place.to_string(), Wake::Quiet);
            t.deliver(&key, InboxItem { payload, ..quiet }).await?;
        }
        let claim = t.claim(&key).await?;
        let brought: Vec<Payload> = claim.inbox.iter().map(|item| item.payload.clone()).collect();
        let mut from_claim = vec![brought];
        from_claim.extend(items_after(&t, &key, claim.more_inbox_after()).await?);
        rows.are("items from a claim on", &from_claim)?;
        let from_start = items_after(&t, &key, Some(InboxSeq(0))).await?;
        rows.are("items", &from_start)?;
    }
    Ok(())
}

/// Reads the pages of the inbox after a place.
async fn items_after(
    t: &Bench,
    key: &SessionKey,
    mut next: Option<InboxSeq>,
) -> CaseResult<Vec<Vec<Payload>>> {
    let mut pages = Vec::new();
    while let Some(after) = next {
        let page = t.store.read_inbox(key, after, u32::MAX).await?;
        pages.push(page.items.into_iter().map(|item| item.payload).collect());
        next = page.next;
        ends(pages.len())?;
    }
    Ok(pages)
}

/// Reads the pages of a session's log: the events and deltas of each page.
async fn shown(t: &Bench, key: &SessionKey) -> CaseResult<Vec<Vec<Payload>>> {
    let (mut pages, mut cursor, mut goes_on) = (Vec::new(), EventCursor::START, true);
    while goes_on {
        let page = t.store.read_events(key, &cursor, PAGE_ROWS_MAX).await?;
        let (events, stream) = want!(page, EventPage::Events { events, stream, next, more } => {
            (cursor, goes_on) = (next, more);
            (events, stream)
        });
        let deltas = stream.into_iter().flat_map(|page| page.deltas).map(|delta| delta.payload);
        pages.push(events.into_iter().map(|event| event.payload).chain(deltas).collect());
        ends(pages.len())?;
    }
    Ok(pages)
}

async fn no_event_is_passed_at_its_bound(t: Bench) -> CaseResult {
    for rows in Rows::all(&t) {
        let claim = t.running(rows.what).await?;
        for events in rows.writes() {
            t.commit(&claim.fence, Commit { events, ..commit() }).await?;
        }
        rows.are("events", &shown(&t, &claim.fence.key).await?)?;
    }
    Ok(())
}

async fn no_delta_is_passed_at_its_bound(t: Bench) -> CaseResult {
    for rows in Rows::all(&t) {
        let claim = t.running(rows.what).await?;
        let mut first = 1;
        for deltas in rows.writes() {
            let batch = DeltaBatch { stream: 1, first, deltas };
            first += batch.deltas.len() as u64;
            t.append(&claim.fence, batch).await?;
        }
        rows.are("deltas", &shown(&t, &claim.fence.key).await?)?;
    }
    Ok(())
}

/// Makes the request for the first page of a list, at the maximum length.
fn first_page() -> PageRequest {
    PageRequest::first(count(PAGE_ROWS_MAX))
}

async fn no_run_is_passed_at_its_bound(t: Bench) -> CaseResult {
    for rows in Rows::all(&t) {
        let key = t.create(rows.what).await?;
        for detail in rows.listed() {
            let claim = t.claim(&key).await?;
            let run = Some(RunEnd { outcome: OutcomeKind::Completed, detail });
            let release = Some(release_to(SessionStatus::Idle));
            t.commit(&claim.fence, Commit { run, release, ..commit() }).await?;
        }
        let (mut pages, mut request) = (Vec::new(), Some(first_page()));
        while let Some(asked) = request {
            let page = t.store.list_runs(&key, asked).await?;
            let details = page.items.into_iter().filter_map(|row| row.end?.detail);
            pages.push(details.collect());
            request = page.next.map(|next| PageRequest { after: Some(next), ..first_page() });
            ends(pages.len())?;
        }
        rows.are("runs", &pages)?;
    }
    Ok(())
}

async fn no_pending_call_is_passed_at_its_bound(t: Bench) -> CaseResult {
    for rows in Rows::all(&t) {
        let claim = t.running(rows.what).await?;
        let mut place = 0;
        for write in rows.writes() {
            let mut open = Vec::new();
            for body in write {
                place += 1;
                open.push(NewPending { body, ..approval(&format!("p{place:06}")) });
            }
            t.commit(&claim.fence, Commit { open, ..commit() }).await?;
        }
        let (mut pages, mut request) = (Vec::new(), Some(first_page()));
        while let Some(page) = request {
            let session = Some(claim.fence.key.id.clone());
            let query = PendingQuery { session, page, ..PendingQuery::all(id(TENANT)) };
            let page = t.store.list_pending(&query).await?;
            pages.push(page.items.into_iter().map(|row| row.body).collect());
            request = page.next.map(|next| PageRequest { after: Some(next), ..first_page() });
            ends(pages.len())?;
        }
        rows.are("pending calls", &pages)?;
    }
    Ok(())
}

async fn no_checkpoint_is_passed_at_its_bound(t: Bench) -> CaseResult {
    for rows in Rows::all(&t) {
        let claim = t.running(rows.what).await?;
        // Checkpoints are listed newest first.
        for payload in rows.listed().into_iter().rev() {
            let state = Some(NewState { format: StateFormat(1), payload });
            t.commit(&claim.fence, Commit { state, checkpoint: true, ..commit() }).await?;
        }
        let (mut pages, mut request) = (Vec::new(), Some(first_page()));
        while let Some(page) = request {
            let query = CheckpointQuery { page, ..CheckpointQuery::all(claim.fence.key.clone()) };
            let page = t.store.list_checkpoints(&query).await?;
            pages.push(page.items.into_iter().map(|row| row.state).collect());
            request = page.next.map(|next| PageRequest { after: Some(next), ..first_page() });
            ends(pages.len())?;
        }
        rows.are("checkpoints", &pages)?;
    }
    Ok(())
}

async fn no_session_is_passed_for_its_labels(t: Bench) -> CaseResult {
    const SESSIONS: usize = 80;
    let long = "x".repeat(Labels::TEXT_BYTES_MAX);
    let name = |number: usize| format!("{number:02}{}", &long[2..]);
    let most = || (0..Labels::LABELS_MAX).map(|number| (name(number), long.as_str())).collect();
    for number in 0..SESSIONS {
        // Every other session has the maximum number and length of labels; its neighbours have one label.
        let labels = if number % 2 == 0 { Labels::from_iter([("a", "b")]) } else { most() };
        t.store.create_session(NewSession { labels, ..new_session(&format!("s{number:02}")) }).await?;
    }
    let expected: Vec<_> = (0..SESSIONS).rev().map(|number| key(&format!("s{number:02}"))).collect();
    for limit in [1, 7, PAGE_ROWS_MAX] {
        let query = SessionQuery { page: PageRequest::first(count(limit)), ..SessionQuery::all(id(TENANT)) };
        let found: Vec<_> = walk_sessions(&t.store, query).await?.into_iter().map(|row| row.key).collect();
        ensure_eq!(found, expected, "the sessions of a walk by {limit}");
    }
    Ok(())
}
