//! A base for stores that keep rows, for authors of stores.
//!
//! To write a store, implement [`StateStore`](crate::StateStore), or the smaller trait [`Rows`]. A backend
//! that implements `Rows` reads the rows of a session, walks along indexes, and **applies** a list of row
//! operations if the session still has the token for which they were decided. [`RowStore`] implements
//! `StateStore` on top of `Rows`. It uses the [`rules`](crate::rules) for every decision, so a backend needs
//! no rules of its own.
//!
//! A write has these steps. The store reads the session's [`Slot`] and the rows that the decision needs,
//! unless it still holds them from its own last write. The store decides, and passes a [`Write`] to the
//! backend. The backend checks the token and the clock, and applies the write wholly or not at all. If the
//! token differs, the store reads and decides again.
//!
//! Everything that belongs to a session is stored under its key. Every write changes the session's token, so
//! rows that were read together with a token are current as long as the session has that token.

mod along;
mod ask;
mod bytes;
mod due;
mod facts;
mod granted;
mod held;
mod index;
mod labels;
mod ops;
mod patience;
mod read;
mod row;
mod snapshot;
mod state_store;
mod store;
mod within;
mod words;
mod write;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use along::due_along;
pub use bytes::{
    InvalidRow, bury_slot, decode_row, decode_row_key, decode_slot, encode_row, encode_row_key, encode_slot,
    key_range, kind_range, number_range,
};
pub use due::{Due, DueGroup, DueIndex, DuePlace, DueQuery, find_due};
pub use index::{
    Index, PendingPlace, SessionPlace, index_entries, life_range, pending_entry, pending_kind_range,
    pending_range, row_entries, sessions_range, slot_entries, time_range,
};
pub use labels::{label_entries, label_range, with_labels};
pub use read::{Found, Scanned, Want, Which, read_wants};
pub use row::{At, EventBatch, Kind, Row, RowKey};
pub use snapshot::{InOrder, Snapshot};
pub use store::RowStore;
pub use within::{Transaction, Within};
pub use words::{answer_columns, interrupt_named, item_kind, wake_name, wake_named};
pub use write::{Op, Prefix, Slot, Token, Verdict, Write};

use crate::ids::{Incarnation, SessionKey};
use crate::rules::SessionRow;
use crate::time::Timestamp;
use crate::{
    Capabilities, PendingCall, PendingQuery, RetentionRule, SessionQuery, SessionSummary, StoreError, Watch,
};

/// A backend that keeps the rows of sessions. The trait is object-safe, and many tasks may share one handle.
///
/// - **Atomic.** [`apply`](Self::apply) applies each write wholly or not at all, even if the caller drops the
///   future.
/// - **Compared.** A write is applied only if the slot under its key has the token that the write expects, or
///   if there is no slot and the write expects none. The comparison and the change are one atomic step.
/// - **In time.** A write is applied only if the store's clock, read while the write holds the session, is at
///   or after [`Write::from`] and before [`Write::until`].
/// - **One instant.** All rows that one [`read`](Self::read) returns are from the same instant.
/// - **Visible.** Once `apply` returns, every handle on the same data sees the write.
/// - **Errors** contain the cause and say whether a write may have been applied. [`RowStore`] sets the operation, and
///   the key if the error concerns one session.
#[async_trait]
pub trait Rows: Send + Sync + 'static {
    /// Returns the promises of this backend under its present settings. The bounds in bytes are always the same.
    fn capabilities(&self) -> Capabilities;

    /// Returns the store's clock if this process can read it without the backend. The result is never ahead
    /// of the clock. Returns none if only the backend knows the clock.
    fn now(&self) -> Option<Timestamp>;

    /// Returns the time limit of one operation of the store. It covers the wait for earlier writes of the same
    /// session and all exchanges with the backend together. An operation that copies or removes a whole session may
    /// take longer. A time-out may be reported up to a tenth of the limit late. If none, there is no limit besides
    /// those of the backend.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Reads the slot under a key, and the wanted rows of that session.
    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError>;

    /// Applies writes to different sessions, each independently of the others. Returns one result for each
    /// write, in the same order.
    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>>;

    /// Finds sessions for which [`SessionRow::is_due`] returns true by the store's clock: at most
    /// [`DueQuery::limit`], chosen as [`find_due`] does, each with its wanted rows. A session that is being written
    /// may be left out. For an unreadable session, the result holds an error, so that the session does not block
    /// others.
    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError>;

    /// Lists sessions of a tenant, newest first, ties by id descending, after `after`. May leave out sessions
    /// for which [`SessionSummary::listed`] returns false. Returns about `limit` sessions.
    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError>;

    /// Lists open pending calls of a tenant, soonest deadline first, after `after`. May leave out calls of another
    /// session or kind than the query names. The cost of a list by kind should not grow with the calls of other kinds.
    /// Returns about `limit` calls, and stops once their bodies have `bytes`. A call that cannot be read is left out
    /// and logged if its place can be read, so it does not block other calls.
    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError>;

    /// Lists sessions that are [`quiet`](SessionRow::quiet), longest unchanged first, ties by key, after
    /// `after`. May leave out sessions that are not [`purgeable`](SessionRow::purgeable). Returns at most
    /// `limit` sessions.
    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError>;

    /// Lists at most `limit` keys with an incarnation that was deleted before `before`, earliest deletion first. May
    /// leave out keys that have a session or a later deletion.
    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError>;

    /// Removes a session whose row cannot be read. If `life` names an incarnation, removes only that
    /// incarnation. Keeps the tombstones that can be read. Returns true if there was such a session. The
    /// default removes nothing; it suits backends whose rows cannot become corrupt.
    async fn remove_unreadable(
        &self,
        key: &SessionKey,
        life: Option<Incarnation>,
    ) -> Result<bool, StoreError> {
        let _ = (key, life);
        Ok(false)
    }

    /// Waits until the watched data may have changed, at most for `at_most`. The return is only a hint.
    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError>;
}
