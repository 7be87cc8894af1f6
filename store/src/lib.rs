//! The contract of a Holdover store.
//!
//! A store knows nothing of agents, models or prompts. It keeps bytes, versions, owners and deadlines. [`StateStore`]
//! is the whole contract; [`rules`] holds its decisions as pure functions over one [`SessionRow`](rules::SessionRow),
//! for stores to call.

mod capabilities;
mod checkpoint;
mod claim;
mod commit;
mod cursor;
mod delta;
mod error;
mod error_info;
mod ext;
mod fork;
#[macro_use]
mod forward;
#[cfg(feature = "schema")]
#[doc(hidden)]
#[macro_use]
pub mod schema;
#[cfg(feature = "rows")]
pub mod hints;
pub mod ids;
mod inbox;
mod interrupt;
mod layer;
mod operations;
pub mod payload;
mod pending;
mod read;
mod retention;
#[cfg(feature = "rows")]
pub mod rows;
pub mod rules;
mod session;
pub mod text;
pub mod time;
mod tombstone;
mod transaction;

/// Without the feature `schema`, types have no JSON Schema.
#[cfg(not(feature = "schema"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __schema_like {
    ($type:ident, $inner:ty) => {};
}

use std::time::Duration;

use async_trait::async_trait;

pub use capabilities::{Capabilities, CommitSurvives, SharedBy};
pub use checkpoint::{Checkpoint, CheckpointQuery};
pub use claim::{Claim, ClaimDue, ClaimOne, ClaimOutcome, LEASE_MAX, LeaseOutcome, Queues};
pub use commit::{
    Applied, Commit, CommitOutcome, NewMessage, NewState, OutcomeKind, Receipt, Release, RunEnd,
    StageOutcome, Staged, StagedResult, Staging,
};
pub use cursor::{CURSOR_BYTES_MAX, EventCursor, EventPlace, InvalidCursor, PageCursor};
pub use delta::{DeltaBatch, DeltaOutcome, DeltaPage, InvalidStreamId, StoredDelta, StreamId};
pub use error::{Retry, StoreError, StoreErrorKind};
pub use error_info::{ERROR_DETAIL_BYTES_MAX, ErrorInfo};
pub use ext::StateStoreExt;
pub use fork::{ForkOutcome, NewFork};
pub use inbox::{Delivery, INBOX_PAGE, InboxItem, InboxPage, ItemKind, StoredItem, Wake};
pub use interrupt::{Interrupt, InterruptCheck, InterruptKind, InterruptOutcome};
pub use layer::{Answer, Layer, Layered, Request};
pub use pending::{NewPending, PendingCall, PendingKind};
pub use read::{
    EventPage, MessagePage, MessageRange, PAGE_BYTES_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX, Page,
    PageRequest, PendingQuery, RunEnded, RunRecord, SessionQuery, StoredEvent, StoredMessage, TimeRange,
    Watch, runs_digest,
};
pub use retention::{PurgeReport, Remove, RetentionRule};
pub use session::{
    CasOutcome, CreateOutcome, DeleteMode, DeleteOutcome, Deletion, Labels, Lease, NewSession, Session,
    SessionStatus, SessionSummary, Start, StatusCas,
};
pub use tombstone::{TOMBSTONE_STANDS, Tombstone};
pub use transaction::{OpenTransaction, StoreTransaction};

use crate::ids::{CheckpointId, Fence, InboxSeq, SessionKey, TenantId};
use crate::payload::Digest;

/// A store of sessions. The trait is object-safe, and many tasks may share one handle.
///
/// For every method:
/// - **Atomic.** A write is applied wholly or not at all, even if the caller drops the future at an await.
///   After such a drop it may or may not have been applied, but never in part, and nothing stays locked
///   (INV-04).
/// - **One row decides.** Each write checks fence, version and status on the session's row, as the row is when the
///   write is applied, after any wait. The write decides on other rows of the session as of the same instant
///   (INV-22).
/// - **Many sessions.** No method is atomic over several sessions. `claim_due` and `purge` write each session
///   separately, at some time during the call and in no promised order. A list shows each row as it was at
///   one instant, but not all rows at the same instant. A fork copies its source as of one instant of the
///   call, and becomes visible at a later instant. If the source is removed in between, the fork stays.
/// - **Visible.** Once a write returns, every handle on the same data sees it (INV-06).
///   [`Capabilities::commit_survives`] says which faults it survives (INV-01).
/// - **One clock.** Every instant that the store sets comes from the store's own clock, read after waits. Leases are
///   given as durations, deadlines as instants on that clock.
/// - **Bounded.** If a single payload, or all payloads of a call together, are larger than [`Capabilities`]
///   allow, the call fails with [`TooLarge`](StoreErrorKind::TooLarge) and changes nothing.
///   [`Limits`](rules::Limits) implements this rule.
/// - **Losing a race is a value** in the outcome, and changes nothing. [`StoreError`] is for errors; its
///   `retry` field says whether the write may have been applied.
/// - **Tenants** are part of every key. For an id of another tenant, a call returns exactly the same as for
///   an unknown id (INV-35).
///
/// No method but [`begin`](Self::begin) has a default body: a wrapper that forgets one does not compile. One that forgets
/// `begin` refuses transactions.
#[async_trait]
pub trait StateStore: Send + Sync + 'static {
    /// Returns the promises of this backend under its present settings. The store reads the settings when it is
    /// opened, and again when it notices that they may have changed.
    fn capabilities(&self) -> Capabilities;

    /// Returns digests of `words`, for use in keys that are stored unencrypted although the words could be guessed.
    /// If a layer encrypts, only a process with the encryption key can compute the first digest of a guess. Write
    /// only the first digest. The other digests may occur in stored data from before the encoding of payloads was
    /// changed.
    ///
    /// For the same tenant and words, the result is the same in every process that uses the same layers and keys.
    /// Without a layer that encodes payloads, it is only [`Digest::of`] the words.
    fn digests(&self, tenant: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError>;

    // Sessions

    /// Creates an idle session with version 1, epoch 0 and its first items. In the same write, sets the alarm or,
    /// with [`Start::Claimed`], claims the session.
    ///
    /// The checks have this order. If the same operation created the session that has this key, the answer is
    /// [`CreateOutcome::Created`] again. If a [`Tombstone`] of this key names the operation or the incarnation, the
    /// answer is [`CreateOutcome::Deleted`]. If another session has this key, the answer is
    /// [`CreateOutcome::AlreadyExists`]. If two items have the same key, the answer is
    /// [`CreateOutcome::ItemConflict`].
    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError>;

    /// Reads a session with its staged results and start marks, at one instant. Returns none if there is no
    /// such session.
    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError>;

    /// Lists the sessions for which [`SessionRow::listed`](rules::SessionRow::listed) holds, newest first. A
    /// session that cannot be read is left out and logged. A cursor of another query fails with
    /// [`InvalidArgument`](StoreErrorKind::InvalidArgument).
    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError>;

    /// Removes every row of a session: labels, definition, state, messages, events, deltas, inbox, idempotency keys,
    /// pending calls, runs, staged results, start marks, checkpoints. The same write leaves a [`Tombstone`]. The call
    /// may also remove old tombstones.
    async fn delete_session(&self, key: &SessionKey, deletion: Deletion)
    -> Result<DeleteOutcome, StoreError>;

    // Ownership

    /// Moves the session to active for a new run. In the same write, epoch and version rise by one, the items
    /// are accepted, an open run record is closed as lost, a new run record is opened, and the alarm is set
    /// to the lease's end.
    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError>;

    /// Claims at most `claim.runs.len()` sessions whose alarm has rung. No two claims share a session and
    /// epoch (INV-32). The lease of a returned claim has not ended.
    ///
    /// If at most as many sessions are due as the caller asks for, they come soonest alarm first, ties by
    /// key. If more are due, tenants take turns: each handle claims the soonest session of one tenant, then
    /// of the next tenant by name, and continues with the first tenant after the last. Once each tenant had
    /// its turn, the remaining sessions come soonest alarm first. Within a tenant, the soonest always come
    /// first. A store may bound how many tenants with an alarm it looks at in one call; the next call
    /// continues behind them. A store that has partitions may keep these orders only within each partition.
    ///
    /// A call may skip a session while another write of it is in flight. The session stays due, and a later
    /// call finds it. A call may therefore return fewer sessions than the caller asked for although more are
    /// due. To find every due session, call again until the answer is empty and no other write was in flight
    /// during that last call.
    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError>;

    /// Moves a failed or interrupted session to suspended and sets its alarm to now. Delivers the items of `cas` in
    /// the same write. Refuses every other move, and a move that names another incarnation or version.
    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError>;

    /// Extends the lease so that it ends `lease` from now. Never shortens it. The newest epoch may renew even
    /// after its lease has ended.
    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError>;

    // Progress of a run; all writes carry its fence

    /// Makes results and start marks durable before their step is finished. Does not change the version.
    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError>;

    /// Applies a commit wholly or not at all. If less than half of the lease is left, extends the lease. A repeat of
    /// the last commit under the same fence returns the first outcome. After [`Retry::OutcomeUnknown`] the owner
    /// repeats the same commit until it is answered (INV-05).
    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError>;

    /// Appends deltas to a stream of this run. Does not change the version, the event log or the lease.
    /// [`read_events`](StateStore::read_events) shows acknowledged deltas until the stream ends.
    ///
    /// Deltas are provisional. If commits survive the death of the process, acknowledged deltas do too.
    /// Deltas need not survive a power cut, even if commits do, so a store need not sync them separately.
    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError>;

    /// Hands the waiting interrupt to the run of `fence`. The interrupt keeps waiting until a commit names it or, if it
    /// is soft, ends the turn. A crash in between therefore loses nothing.
    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError>;

    // Deliveries and interrupts

    /// Puts an item into the inbox. Accepts only one item for each key. Never moves an active session's
    /// alarm.
    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError>;

    /// Asks the session to stop. If the request names an incarnation, only that incarnation is asked. If the request
    /// is accepted and the session is not active, the session becomes due at once, in every queue.
    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError>;

    // Reading

    /// Reads messages by ranges, in the order of the ranges. Numbers past the end are left out. An unknown
    /// session fails with [`NotFound`](StoreErrorKind::NotFound).
    ///
    /// The page ends, at the latest, before the message that would take it beyond [`PAGE_BYTES_MAX`]. The
    /// first message is always in the page. [`MessagePage::rest`] holds the ranges to ask for next; a page
    /// without a message has none. [`StateStoreExt::read_all_messages`] reads all pages.
    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError>;

    /// Reads items after `after` that are not consumed, in order, at most `limit` items (bounded by
    /// [`INBOX_PAGE`]) and [`PAGE_BYTES_MAX`]. The first item is always in the page. [`InboxPage::next`]
    /// holds the place to continue after; a page without an item has none. An unknown session fails with
    /// [`NotFound`](StoreErrorKind::NotFound), a limit of 0 with
    /// [`InvalidArgument`](StoreErrorKind::InvalidArgument).
    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError>;

    /// Reads events after a cursor and, at the end of the log, the deltas of the stream that runs, all at one
    /// instant. Returns at most `limit` rows (bounded by [`PAGE_ROWS_MAX`]) and [`PAGE_BYTES_MAX`] of events
    /// and deltas together; the first row is always in the page. Events become visible in their order. A
    /// limit of 0 fails with [`InvalidArgument`](StoreErrorKind::InvalidArgument).
    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError>;

    /// Lists the runs of a session in the order in which they began. An unknown session fails with
    /// [`NotFound`](StoreErrorKind::NotFound).
    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError>;

    /// Lists open pending calls across the sessions of a tenant, soonest deadline first. A call that cannot
    /// be read is left out and logged.
    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError>;

    /// Lists the checkpoints of a session, newest first. An unknown session fails with
    /// [`NotFound`](StoreErrorKind::NotFound).
    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError>;

    /// Waits until the watched data may have changed, at most for `at_most`. The return is only a hint: the
    /// call may return early although nothing has changed, and a caller that only polls misses nothing.
    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError>;

    // Forks and retention

    /// Creates a session from the prefix of another session up to a checkpoint, as of one instant of the
    /// call. The fork becomes visible as a whole, at a later instant. The source does not change. A repeat
    /// with the same operation id continues, or returns [`ForkOutcome::Forked`] again. A repeat for a fork
    /// that was deleted returns [`ForkOutcome::Deleted`], even if the source no longer exists.
    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError>;

    /// Removes the data that `rule` selects from at most `rule.limit` sessions after `rule.after`, and
    /// returns the place to continue from. The order is longest unchanged first, ties by key. A store with
    /// partitions keeps this order only within each partition. Each session is handled wholly or not at all.
    /// A caller that was interrupted may continue from the last returned place, or begin again.
    ///
    /// A call may remove data from fewer sessions than the limit, even from none, and still return a cursor.
    /// It skips sessions that have nothing to remove, and leaves those that cannot be read; a walk looks at each of
    /// them once. A walk to the end
    /// has handled every session to which the rule applied during the whole walk. The cost grows with the
    /// number of sessions to which the rule applies, not with its square. A cursor of another rule fails with
    /// [`InvalidArgument`](StoreErrorKind::InvalidArgument). A call may also remove old tombstones.
    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError>;

    // Transactions of the caller

    /// Begins a transaction in which the caller writes its own tables, and then makes one write to one session. Both
    /// are written, or neither is. While it is open, other writes to the store may have to wait for it, and the
    /// store limits the time for which it stays open.
    ///
    /// # Errors
    /// [`Unsupported`](StoreErrorKind::Unsupported) if the backend has no such transactions. This is the default.
    async fn begin(&self) -> Result<OpenTransaction, StoreError> {
        let detail = "this store has no transactions in which a caller can write its own tables";
        Err(StoreError::new(StoreErrorKind::Unsupported, "begin", detail))
    }
}

forward_store! { [S: StateStore + ?Sized] std::sync::Arc<S>, |store| **store }

/// The types that [`forward_store`] uses.
#[doc(hidden)]
pub mod forwarding {
    pub use async_trait::async_trait;
}
