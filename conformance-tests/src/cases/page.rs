//! Pages have a limit in bytes, and a walk over them is complete.

use holdover_store::PAGE_BYTES_MAX;

use super::prelude::*;

cases! {
    page.messages_end_at_their_bytes: Core Sequential,
        "a page of messages ends before it holds more than 8 MiB, and says which ranges are still to be read",
        "one read of a long transcript would take the memory of the whole process",
        "read_messages: ends before the message that would take it beyond PAGE_BYTES_MAX; rest is what to ask for next";
    page.a_row_of_its_own_size_is_a_page: Core Sequential,
        "a message that is larger than a page is a page by itself",
        "a reader would ask for it for ever",
        "PAGE_BYTES_MAX: only a row that is larger by itself goes beyond: it is the whole page then";
    page.inbox_ends_at_its_bytes: Core Sequential,
        "a page of the inbox, read or brought by a claim, ends before it holds more than 8 MiB",
        "a claim of a session with large items would bring them all at once",
        "read_inbox, Claim::inbox: at most PAGE_BYTES_MAX, but at least the first item";
    page.events_and_deltas_end_at_their_bytes: Core Sequential,
        "a page of events and deltas ends before it holds more than 8 MiB of both together",
        "a reader that joins late would be sent everything at once",
        "read_events: at most PAGE_BYTES_MAX of events and deltas together; the first row is always in the page";
    page.lists_end_at_their_bytes: Core Property,
        "a page of checkpoints, of pending calls or of runs ends before it holds more than 8 MiB",
        "a list of a few rows would bring gigabytes of states",
        "Page: no page holds more payload than PAGE_BYTES_MAX";
}

/// The size of the rows, and a number of rows that exceeds one page.
struct Heavy {
    bytes: usize,
    rows: u64,
}

impl Heavy {
    fn of(t: &Bench) -> Self {
        let bytes = t.store.capabilities().payload_bytes_max.min(1 << 20);
        Self { bytes, rows: (PAGE_BYTES_MAX / bytes + 3) as u64 }
    }

    fn payload(&self, number: u64) -> Payload {
        Payload::new(vec![number.to_le_bytes()[0]; self.bytes])
    }

    fn rows(&self) -> Vec<u64> {
        (1..=self.rows).collect()
    }
}

/// Fails if a page of several rows holds more bytes than the limit.
fn bounded<'a>(what: &str, payloads: impl Iterator<Item = &'a Payload>) -> CaseResult {
    let sizes: Vec<usize> = payloads.map(Payload::len).collect();
    let total: usize = sizes.iter().sum();
    ensure!(
        total <= PAGE_BYTES_MAX || sizes.len() == 1,
        "expected a page of {what} of at most {PAGE_BYTES_MAX} bytes",
        found = "{} rows of {total} bytes",
        sizes.len()
    );
    Ok(())
}

async fn messages_end_at_their_bytes(t: Bench) -> CaseResult {
    let heavy = Heavy::of(&t);
    let claim = t.running("s").await?;
    for number in heavy.rows() {
        let messages = vec![NewMessage::Inline(heavy.payload(number))];
        t.commit(&claim.fence, Commit { messages, ..commit() }).await?;
    }
    let mut rest = vec![range(2, heavy.rows + 9), range(3, 2), range(1, heavy.rows)];
    let (mut places, mut pages) = (Vec::new(), 0);
    while !rest.is_empty() {
        let page = t.store.read_messages(&claim.fence.key, &rest).await?;
        bounded("messages", page.messages.iter().map(|message| &message.payload))?;
        for message in page.messages {
            ensure_eq!(message.payload, heavy.payload(message.seq.0), "message {}", message.seq);
            places.push(message.seq.0);
        }
        rest = page.rest;
        pages += 1;
        ends(pages)?;
    }
    ensure_eq!(places, [&heavy.rows()[1..], &heavy.rows()[..]].concat(), "places of a walk in {pages} pages");
    Ok(())
}

async fn a_row_of_its_own_size_is_a_page(t: Bench) -> CaseResult {
    let bytes = PAGE_BYTES_MAX + 1;
    if t.store.capabilities().payload_bytes_max < bytes {
        return Err(Failure::moot("no row of this store is larger than a page"));
    }
    let claim = t.running("s").await?;
    for payload in ["before".into(), vec![7; bytes], "after".into()] {
        let messages = vec![NewMessage::Inline(Payload::new(payload))];
        t.commit(&claim.fence, Commit { messages, ..commit() }).await?;
    }
    let mut rest = vec![range(1, 3)];
    let mut sizes = Vec::new();
    for pages in 1.. {
        ends(pages)?;
        let page = t.store.read_messages(&claim.fence.key, &rest).await?;
        bounded("messages", page.messages.iter().map(|message| &message.payload))?;
        sizes.extend(page.messages.iter().map(|message| message.payload.len()));
        rest = page.rest;
        if rest.is_empty() {
            break;
        }
    }
    ensure_eq!(sizes, [6, bytes, 5], "the sizes of the messages");
    Ok(())
}

async fn inbox_ends_at_its_bytes(t: Bench) -> CaseResult {
    let heavy = Heavy::of(&t);
    let key = t.create("s").await?;
    for number in heavy.rows() {
        let payload = heavy.payload(number);
        let quiet = message_that(&number.to_string(), holdover_store::Wake::Quiet);
        t.deliver(&key, InboxItem { payload, ..quiet }).await?;
    }
    let claim = t.claim(&key).await?;
    bounded("items in a claim", claim.inbox.iter().map(|item| &item.payload))?;
    let brought: Vec<u64> = claim.inbox.iter().map(|item| item.seq.0).collect();
    ensure_eq!(brought, heavy.rows()[..brought.len()], "places of the claim's page");
    let from_claim = want!(claim.more_inbox_after(), Some(after) => after);
    ensure_eq!(Some(&from_claim.0), brought.last(), "where the claim says to go on");
    for after in [InboxSeq(0), from_claim] {
        let (mut places, mut next) = (Vec::new(), Some(after));
        while let Some(after) = next {
            let page = t.store.read_inbox(&key, after, u32::MAX).await?;
            bounded("items", page.items.iter().map(|item| &item.payload))?;
            places.extend(page.items.iter().map(|item| item.seq.0));
            next = page.next;
            ends(places.len())?;
        }
        ensure_eq!(places, (after.0 + 1..=heavy.rows).collect::<Vec<_>>(), "places after {after}");
    }
    // An item that the claim itself carries is on the page in its place, or on a later page.
    let carried = holdover_store::ClaimOne { items: vec![message("carried")], ..t.claim_one() };
    t.release(&claim.fence, SessionStatus::Idle).await?;
    let next = want!(t.store.claim_session(&key, carried).await?,
        holdover_store::ClaimOutcome::Claimed(claim) => claim);
    bounded("items in the next claim", next.inbox.iter().map(|item| &item.payload))?;
    let brought: Vec<u64> = next.inbox.iter().map(|item| item.seq.0).collect();
    ensure_eq!(brought, heavy.rows()[..brought.len()], "places of the next claim's page");
    Ok(())
}

async fn events_and_deltas_end_at_their_bytes(t: Bench) -> CaseResult {
    let heavy = Heavy::of(&t);
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    for number in heavy.rows() {
        t.commit(&claim.fence, Commit { events: vec![heavy.payload(number)], ..commit() }).await?;
    }
    for place in heavy.rows() {
        let batch = DeltaBatch { stream: 1, first: place, deltas: vec![heavy.payload(place)] };
        t.append(&claim.fence, batch).await?;
    }
    let (mut cursor, mut more) = (EventCursor::START, true);
    let (mut places, mut words) = (Vec::new(), Vec::new());
    while more {
        let page = t.store.read_events(key, &cursor, PAGE_ROWS_MAX).await?;
        let (events, stream, next) = want!(page, EventPage::Events { events, stream, next, more: beyond } => {
            more = beyond;
            (events, stream, next)
        });
        let deltas = stream.map(|page| page.deltas).unwrap_or_default();
        let payloads = events.iter().map(|event| &event.payload);
        bounded("events and deltas", payloads.chain(deltas.iter().map(|delta| &delta.payload)))?;
        ensure!(
            !(more && events.is_empty() && deltas.is_empty()),
            "expected a row on a page that goes on",
            found = "neither an event nor a delta"
        );
        places.extend(events.iter().map(|event| event.seq.0));
        words.extend(deltas.iter().map(|delta| delta.place));
        cursor = next;
    }
    ensure_eq!((places, words), (heavy.rows(), heavy.rows()), "places of events and of deltas");
    // The events of one commit may be split over pages.
    let half = heavy.bytes / 2;
    let events = vec![Payload::new(vec![1; half]); 2];
    t.commit(&claim.fence, Commit { events, streamed: Some(1), ..commit() }).await?;
    let after = EventCursor::after(claim.fence.incarnation, EventSeq(heavy.rows));
    let page = t.store.read_events(key, &after, 1).await?;
    let rows = want!(page, EventPage::Events { events, more: true, .. } => events.len());
    ensure_eq!(rows, 1, "rows of a page of one");
    Ok(())
}

/// Reads one page of a list. Returns its payloads and the request for the next page.
async fn list(
    t: &Bench,
    which: usize,
    key: &SessionKey,
    page: PageRequest,
) -> CaseResult<(Vec<Payload>, PageRequest)> {
    let (payloads, next) = match which {
        0 => {
            let query = CheckpointQuery { page, ..CheckpointQuery::all(key.clone()) };
            let read = t.store.list_checkpoints(&query).await?;
            (read.items.into_iter().map(|row| row.state).collect::<Vec<_>>(), read.next)
        }
        1 => {
            let read = t.store.list_pending(&PendingQuery { page, ..PendingQuery::all(id(TENANT)) }).await?;
            (read.items.into_iter().map(|row| row.body).collect(), read.next)
        }
        _ => {
            let read = t.store.list_runs(key, page).await?;
            let details = read.items.into_iter().filter_map(|row| row.end?.detail);
            (details.collect(), read.next)
        }
    };
    Ok((payloads, PageRequest { after: next, limit: std::num::NonZeroU32::new(PAGE_ROWS_MAX) }))
}

async fn lists_end_at_their_bytes(t: Bench) -> CaseResult {
    let heavy = Heavy::of(&t);
    let key = t.create("s").await?;
    for number in heavy.rows() {
        let claim = t.claim(&key).await?;
        let payload = heavy.payload(number);
        let kept = Commit {
            state: Some(NewState { format: holdover_store::ids::StateFormat(1), payload: payload.clone() }),
            checkpoint: true,
            ..commit()
        };
        t.commit(&claim.fence, kept).await?;
        let open = vec![NewPending { body: payload.clone(), ..approval(&format!("p{number:02}")) }];
        t.commit(&claim.fence, Commit { open, ..commit() }).await?;
        let run = Some(RunEnd { outcome: OutcomeKind::Completed, detail: payload });
        let release = Some(release_to(SessionStatus::Idle));
        t.commit(&claim.fence, Commit { run, release, ..commit() }).await?;
    }
    for (which, what) in ["checkpoints", "pending calls", "runs"].into_iter().enumerate() {
        let mut page = PageRequest { after: None, limit: std::num::NonZeroU32::new(PAGE_ROWS_MAX) };
        let mut walked = Vec::new();
        for pages in 0..=PAGES_MAX {
            ends(pages + 1)?;
            let (payloads, next) = list(&t, which, &key, page).await?;
            bounded(what, payloads.iter())?;
            walked.extend(payloads);
            page = next;
            if page.after.is_none() {
                break;
            }
        }
        if which == 0 {
            walked.reverse();
        }
        let expected: Vec<Payload> = heavy.rows().into_iter().map(|number| heavy.payload(number)).collect();
        ensure_eq!(walked.len(), expected.len(), "how many {what}");
        for (place, (walked, expected)) in walked.iter().zip(&expected).enumerate() {
            ensure_eq!(walked, expected, "number {place} of the {what}");
        }
    }
    Ok(())
}
