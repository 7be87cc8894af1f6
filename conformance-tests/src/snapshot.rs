//! All that can be read of one session, walked to the end.

use holdover_core::ids::{InboxSeq, MessageSeq, SessionKey};
use holdover_core::store::{
    Checkpoint, CheckpointQuery, DeltaPage, EventCursor, EventPage, INBOX_PAGE, MessageRange, PAGE_ROWS_MAX,
    PageRequest, PendingCall, PendingQuery, RunRecord, Session, StateStore, StoredEvent, StoredItem,
    StoredMessage,
};

use crate::bench::Handle;
use crate::failure::{CaseResult, Failure, want};

/// All that can be read of one session.
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

/// More pages than any case has.
pub(crate) const PAGES_MAX: usize = 1_000;

/// A walk that does not come to its end.
#[track_caller]
pub(crate) fn endless() -> Failure {
    Failure::new(format!("expected a walk to end\n    found no end after {PAGES_MAX} pages"))
}

/// Reads a session that exists.
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
    let all = MessageRange::new(MessageSeq(1), MessageSeq(1_000_000));
    Ok(store.read_messages(key, &[all]).await?)
}

pub(crate) async fn all_events(store: &Handle, key: &SessionKey) -> CaseResult<Vec<StoredEvent>> {
    Ok(all_shown(store, key).await?.0)
}

/// Every event, and the stream that runs with every delta of it.
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

/// Every checkpoint, newest first.
pub(crate) async fn all_checkpoints(store: &Handle, key: &SessionKey) -> CaseResult<Vec<Checkpoint>> {
    let mut all = Vec::new();
    let mut query = CheckpointQuery::all(key.clone());
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
    let mut all: Vec<StoredItem> = Vec::new();
    for _ in 0..PAGES_MAX {
        let after = all.last().map_or(InboxSeq(0), |last| last.seq);
        let page = store.read_inbox(key, after, INBOX_PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
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

/// Every page of a list of pending calls.
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
