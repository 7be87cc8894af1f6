//! Everything that can be read of one session, with all pages read to the end.

use holdover_store::ids::{InboxSeq, MessageSeq, SessionKey};
use holdover_store::{
    Checkpoint, CheckpointQuery, DeltaPage, EventCursor, EventPage, INBOX_PAGE, MessageRange, PAGE_ROWS_MAX,
    PageRequest, PendingCall, PendingQuery, RunRecord, Session, SessionQuery, SessionSummary, StateStore,
    StoredEvent, StoredItem, StoredMessage,
};

use crate::bench::Handle;
use crate::failure::{CaseResult, Failure, ensure, want};

/// Everything that can be read of one session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) session: Option<Session>,
    pub(crate) messages: Vec<StoredMessage>,
    pub(crate) events: Vec<StoredEvent>,
    pub(crate) stream: Option<DeltaPage>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) inbox: Vec<StoredItem>,
    pub(crate) runs: Vec<RunRecord>,
    pub(crate) pending: Vec<PendingCall>,
}

impl Snapshot {
    /// Returns true if every message, event, item and checkpoint of `earlier` is still there and no count of the
    /// session went back. This holds as long as nothing is consumed or removed.
    pub(crate) fn holds(&self, earlier: &Self) -> bool {
        let session = |it: &Self| {
            it.session
                .as_ref()
                .map(|it| [it.version.0, it.last_message.0, it.last_event.0, it.last_item.0, it.unread])
        };
        let (now, then) = (session(self), session(earlier));
        now.zip(then).is_some_and(|(now, then)| now.iter().zip(then).all(|(now, then)| *now >= then))
            && self.messages.starts_with(&earlier.messages)
            && self.events.starts_with(&earlier.events)
            && self.inbox.starts_with(&earlier.inbox)
            // Newest first.
            && self.checkpoints.ends_with(&earlier.checkpoints)
    }
}

/// More pages than any case needs.
pub(crate) const PAGES_MAX: usize = 1_000;

/// Creates the failure of a walk that does not end.
#[track_caller]
pub(crate) fn endless() -> Failure {
    Failure::new(format!("expected a walk to end\n    found no end after {PAGES_MAX} pages"))
}

/// Fails a walk that has read more pages than any case needs.
#[track_caller]
pub(crate) fn ends(pages: usize) -> CaseResult {
    if pages > PAGES_MAX { Err(endless()) } else { Ok(()) }
}

/// Reads a session, which must exist.
pub(crate) async fn load(store: &Handle, key: &SessionKey) -> CaseResult<Session> {
    let session = store.load_session(key).await?;
    session.ok_or_else(|| Failure::new(format!("expected the session {key}\n    found none")))
}

pub(crate) async fn snapshot(store: &Handle, key: &SessionKey) -> CaseResult<Snapshot> {
    let session = store.load_session(key).await?;
    let pending = all_pending(store, key).await?;
    if session.is_none() {
        return Ok(Snapshot { pending, ..Snapshot::default() });
    }
    let (events, stream) = all_shown(store, key).await?;
    Ok(Snapshot {
        session,
        events,
        stream,
        checkpoints: all_checkpoints(store, key).await?,
        messages: all_messages(store, key).await?,
        inbox: all_items(store, key).await?,
        runs: all_runs(store, key).await?,
        pending,
    })
}

pub(crate) async fn all_messages(store: &Handle, key: &SessionKey) -> CaseResult<Vec<StoredMessage>> {
    walk_messages(store, key, &[MessageRange::new(MessageSeq(1), MessageSeq(1_000_000))]).await
}

/// Reads every message of the ranges. Fails if an empty page is not the last.
pub(crate) async fn walk_messages(
    store: &Handle,
    key: &SessionKey,
    ranges: &[MessageRange],
) -> CaseResult<Vec<StoredMessage>> {
    let mut all = Vec::new();
    let mut rest = ranges.to_vec();
    for _ in 0..PAGES_MAX {
        let page = store.read_messages(key, &rest).await?;
        ensure!(
            page.rest.is_empty() || !page.messages.is_empty(),
            "expected a message on a page that goes on",
            found = "{page:?}"
        );
        all.extend(page.messages);
        rest = page.rest;
        if rest.is_empty() {
            return Ok(all);
        }
    }
    Err(endless())
}

pub(crate) async fn all_events(store: &Handle, key: &SessionKey) -> CaseResult<Vec<StoredEvent>> {
    Ok(all_shown(store, key).await?.0)
}

/// Reads every event, and the running stream with all its deltas.
pub(crate) async fn all_shown(
    store: &Handle,
    key: &SessionKey,
) -> CaseResult<(Vec<StoredEvent>, Option<DeltaPage>)> {
    let mut all = Vec::new();
    let mut running: Option<DeltaPage> = None;
    let mut cursor = EventCursor::START;
    for _ in 0..PAGES_MAX {
        let page = store.read_events(key, &cursor, PAGE_ROWS_MAX).await?;
        let (events, stream, next, more) = want!(page, EventPage::Events { events, stream, next, more } =>
            (events, stream, next, more));
        all.extend(events);
        running = match (running, stream) {
            (Some(mut before), Some(page)) if before.stream == page.stream => {
                before.deltas.extend(page.deltas);
                Some(before)
            }
            (_, page) => page,
        };
        cursor = next;
        if !more {
            return Ok((all, running));
        }
    }
    Err(endless())
}

/// Reads every checkpoint, newest first.
pub(crate) async fn all_checkpoints(store: &Handle, key: &SessionKey) -> CaseResult<Vec<Checkpoint>> {
    walk_checkpoints(store, CheckpointQuery::all(key.clone())).await
}

/// Reads every page of a list of checkpoints.
pub(crate) async fn walk_checkpoints(
    store: &Handle,
    mut query: CheckpointQuery,
) -> CaseResult<Vec<Checkpoint>> {
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = store.list_checkpoints(&query).await?;
        all.extend(page.items);
        match page.next {
            Some(next) => query.page.after = Some(next),
            None => return Ok(all),
        }
    }
    Err(endless())
}

pub(crate) async fn all_items(store: &Handle, key: &SessionKey) -> CaseResult<Vec<StoredItem>> {
    walk_items(store, key, InboxSeq(0), INBOX_PAGE).await
}

/// Reads all unconsumed items after `after`, in pages of `limit`. Fails if a page is longer than its limit, or if an
/// empty page is not the last.
pub(crate) async fn walk_items(
    store: &Handle,
    key: &SessionKey,
    mut after: InboxSeq,
    limit: u32,
) -> CaseResult<Vec<StoredItem>> {
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = store.read_inbox(key, after, limit).await?;
        let rows = page.items.len();
        ensure!(rows <= limit as usize, "expected at most {limit} items", found = "{rows}");
        ensure!(page.next.is_none() || rows > 0, "expected an item on a page that goes on", found = "none");
        all.extend(page.items);
        match page.next {
            Some(next) => after = next,
            None => return Ok(all),
        }
    }
    Err(endless())
}

pub(crate) async fn all_runs(store: &Handle, key: &SessionKey) -> CaseResult<Vec<RunRecord>> {
    let mut all = Vec::new();
    let mut request = PageRequest::default();
    for _ in 0..PAGES_MAX {
        let page = store.list_runs(key, request.clone()).await?;
        all.extend(page.items);
        match page.next {
            Some(next) => request.after = Some(next),
            None => return Ok(all),
        }
    }
    Err(endless())
}

pub(crate) async fn all_pending(store: &Handle, key: &SessionKey) -> CaseResult<Vec<PendingCall>> {
    let query = PendingQuery { session: Some(key.id.clone()), ..PendingQuery::all(key.tenant.clone()) };
    walk_pending(store, query).await
}

/// Reads every page of a list of sessions. Fails if a page is longer than its limit.
pub(crate) async fn walk_sessions(
    store: &Handle,
    mut query: SessionQuery,
) -> CaseResult<Vec<SessionSummary>> {
    let most = query.page.rows() as usize;
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = store.list_sessions(&query).await?;
        ensure!(page.items.len() <= most, "expected at most {most} rows", found = "{}", page.items.len());
        all.extend(page.items);
        match page.next {
            Some(next) => query.page.after = Some(next),
            None => return Ok(all),
        }
    }
    Err(endless())
}

/// Reads every page of a list of pending calls.
pub(crate) async fn walk_pending(store: &Handle, mut query: PendingQuery) -> CaseResult<Vec<PendingCall>> {
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = store.list_pending(&query).await?;
        all.extend(page.items);
        match page.next {
            Some(next) => query.page.after = Some(next),
            None => return Ok(all),
        }
    }
    Err(endless())
}
