//! Reads of events and deltas, and a client that follows a session. The client keeps its cursor as text.

use holdover_store::ids::SessionKey;
use holdover_store::{EventCursor, EventPage, StateStore, StoreError, StreamId};

use crate::bench::Handle;
use crate::failure::{CaseResult, Failure, ensure, ensure_eq, want};
use crate::fixture::texts;
use crate::snapshot::{PAGES_MAX, endless};

/// The running stream and the texts of its deltas.
pub(crate) type Shown = Option<(StreamId, Vec<String>)>;

/// Events and deltas that were read: the numbers of the events, and the running stream.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) events: Vec<u64>,
    pub(crate) stream: Shown,
    pub(crate) next: EventCursor,
    pub(crate) more: bool,
}

/// Reads up to `limit` rows after `cursor`, over as many pages as that takes, and returns them as one page.
pub(crate) async fn up_to(
    store: &Handle,
    key: &SessionKey,
    cursor: &EventCursor,
    limit: u32,
) -> Result<EventPage, StoreError> {
    let mut shown = store.read_events(key, cursor, limit).await?;
    let mut left = limit.saturating_sub(rows(&shown));
    while let EventPage::Events { next, more: true, .. } = &shown {
        if left == 0 {
            break;
        }
        let page = store.read_events(key, next, left).await?;
        let read = rows(&page);
        shown = joined(shown, page);
        left = left.saturating_sub(read);
        if read == 0 {
            break;
        }
    }
    Ok(shown)
}

fn rows(page: &EventPage) -> u32 {
    match page {
        EventPage::Events { events, stream, .. } => {
            let rows = events.len() + stream.as_ref().map_or(0, |page| page.deltas.len());
            u32::try_from(rows).unwrap_or(u32::MAX)
        }
        EventPage::Gone | EventPage::NotFound => 0,
    }
}

/// Joins a page with the page after it.
fn joined(before: EventPage, page: EventPage) -> EventPage {
    match (before, page) {
        (
            EventPage::Events { events: mut all, stream: shown, .. },
            EventPage::Events { events, stream, next, more },
        ) => {
            all.extend(events);
            let stream = match (shown, stream) {
                (Some(mut shown), Some(page)) if shown.stream == page.stream => {
                    shown.deltas.extend(page.deltas);
                    Some(shown)
                }
                (_, page) => page,
            };
            EventPage::Events { events: all, stream, next, more }
        }
        (EventPage::Events { .. } | EventPage::Gone | EventPage::NotFound, page) => page,
    }
}

/// Reads up to `limit` rows after `cursor`. Fails if the store returns more than `limit` rows.
pub(crate) async fn read(
    store: &Handle,
    key: &SessionKey,
    cursor: &EventCursor,
    limit: u32,
) -> CaseResult<Read> {
    let page = up_to(store, key, cursor, limit).await?;
    let (events, stream, next, more) = want!(page, EventPage::Events { events, stream, next, more } =>
        (events, stream, next, more));
    let rows = events.len() + stream.as_ref().map_or(0, |page| page.deltas.len());
    ensure!(rows <= limit as usize, "expected at most {limit} rows", found = "{rows}");
    let shown = stream.map(|page| (page.stream, texts(page.deltas.iter().map(|delta| &delta.payload))));
    Ok(Read { events: events.iter().map(|event| event.seq.0).collect(), stream: shown, next, more })
}

/// A client that follows a session.
pub(crate) struct Reader {
    kept: String,
    /// The newest event that the client has read.
    pub(crate) events: u64,
    /// The part of the running stream that the client has read.
    pub(crate) shown: Shown,
}

impl Reader {
    /// Creates a client that has read nothing.
    pub(crate) fn new() -> Self {
        Self { kept: EventCursor::START.to_string(), events: 0, shown: None }
    }

    /// Reads one page and returns whether there are more. Fails if a row is missing or repeated, or if the page has
    /// more than `limit` rows.
    pub(crate) async fn page(&mut self, store: &Handle, key: &SessionKey, limit: u32) -> CaseResult<bool> {
        let kept = &self.kept;
        let cursor = kept.parse().map_err(|why| Failure::new(format!("the cursor {kept}: {why}")))?;
        let page = store.read_events(key, &cursor, limit).await?;
        let (events, stream, next, more) = want!(page, EventPage::Events { events, stream, next, more } =>
            (events, stream, next, more));
        let rows = events.len() + stream.as_ref().map_or(0, |page| page.deltas.len());
        ensure!(rows <= limit as usize, "expected at most {limit} rows", found = "{rows}");
        for event in &events {
            ensure_eq!(event.seq.0, self.events + 1, "the next event");
            self.events += 1;
        }
        match stream {
            Some(page) => {
                let of_another = self.shown.as_ref().is_none_or(|(shown, _)| *shown != page.stream);
                let mut shown = if of_another { Vec::new() } else { self.texts() };
                for delta in &page.deltas {
                    ensure_eq!(delta.place, shown.len() as u64 + 1, "the next delta of {}", page.stream);
                    shown.extend(texts([&delta.payload]));
                }
                self.shown = Some((page.stream, shown));
            }
            None if !more => self.shown = None,
            None => {}
        }
        self.kept = next.to_string();
        Ok(more)
    }

    /// Reads pages until there are no more.
    pub(crate) async fn catch_up(&mut self, store: &Handle, key: &SessionKey, limit: u32) -> CaseResult {
        for _ in 0..PAGES_MAX {
            if !self.page(store, key, limit).await? {
                return Ok(());
            }
        }
        Err(endless())
    }

    fn texts(&mut self) -> Vec<String> {
        self.shown.take().map(|(_, texts)| texts).unwrap_or_default()
    }
}
