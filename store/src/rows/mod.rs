//! For authors of stores: a store that is made of rows.
//!
//! To write a store, implement [`StateStore`](crate::StateStore) itself, or the smaller trait [`Rows`]: read
//! rows of a session, walk along an index, and **apply** a list of row operations if the session's token is
//! still the one that they were decided on. [`RowStore`] is the `StateStore` over it. It decides with the
//! [`rules`](crate::rules), so a backend needs no rules of its own.
//!
//! A write goes like this. The store reads the session's [`Slot`] and the rows that matter, unless it still
//! has them from its own last write. It decides, and passes a [`Write`] to the backend. The backend compares
//! the token and the clock, and applies all of the write or nothing. If the token was another one, the store
//! reads again and decides anew.
//!
//! Everything that belongs to a session lies under its key. The session's token changes with every write, so
//! rows that were read together with a token are right for as long as that token stands.

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
    Index, PendingPlace, SessionPlace, index_entries, life_range, pending_entry, pending_range, row_entries,
    sessions_range, slot_entries, time_range,
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

/// The place where the rows of sessions are kept. Object-safe; a handle is shared by many tasks.
///
/// - **Atomic.** [`apply`](Self::apply) applies each write wholly or not at all, also when the caller's
///   future is dropped.
/// - **Compared.** A write is applied only if the slot under its key has the token that the write expects, or
///   if there is no slot and the write expects none. The comparison and the change are one step: no other
///   write of the session comes between.
/// - **In time.** A write is applied only if the store's clock, read when the write holds the session, is at
///   or after [`Write::from`] and before [`Write::until`].
/// - **One instant.** All rows that one [`read`](Self::read) returns were there at the same instant.
/// - **Visible.** Once a write is answered, every handle on the same data finds it.
/// - **Errors** say what went wrong and whether a write may have landed. The caller sets their operation and
///   key.
#[async_trait]
pub trait Rows: Send + Sync + 'static {
    /// The promises of this backend under its present settings.
    fn capabilities(&self) -> Capabilities;

    /// The store's clock, as far as this process knows it without asking, and never ahead of it. None: it
    /// must be asked.
    fn now(&self) -> Option<Timestamp>;

    /// How long one operation of the store over these rows may wait, for earlier writes of the same session
    /// and for all its exchanges together. Only an operation that copies or removes a whole session may take
    /// longer. A tenth more may pass before the operation reports the time-out. None: each exchange ends by
    /// itself, and nothing else is bounded.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Reads the slot under a key, and rows of that session.
    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError>;

    /// Applies writes of different sessions, each by itself. Returns one answer for each, in their order.
    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>>;

    /// Finds sessions for which [`SessionRow::is_due`] holds by the store's clock: at most
    /// [`DueQuery::limit`], chosen as [`find_due`] does, each with its wanted rows. A session that is being
    /// written may be left out. An unreadable session is an error in its place, so that it delays nobody
    /// else.
    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError>;

    /// Lists sessions of a tenant, newest first, ties by id descending, after `after`. Those for which
    /// [`SessionSummary::listed`] does not hold may be left out. Returns about `limit` of them.
    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError>;

    /// Lists open pending calls of a tenant, soonest deadline first, after `after`. Those that are not of the
    /// session or kind that the query names may be left out. Returns about `limit` of them, and no more once
    /// their bodies have `bytes`. A call that cannot be read, although its place can, is also left out, and
    /// the log says so: it delays nobody else.
    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError>;

    /// Lists sessions that are [`quiet`](SessionRow::quiet), longest unchanged first, ties by key, after
    /// `after`. Those that are not [`purgeable`](SessionRow::purgeable) may be left out. Returns at most
    /// `limit` of them.
    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError>;

    /// Lists keys with a life that ended before `before`: at most `limit`, those that ended first. Keys that
    /// have a session may be left out.
    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError>;

    /// Removes a session although its row cannot be read: in the life that is named, if one is. Everything
    /// that can be read of it is left as an earlier life. Answers whether there was such a session. A backend
    /// whose rows can always be read, or never become corrupt by themselves, may leave this out. Then such a
    /// session cannot be removed.
    async fn remove_unreadable(
        &self,
        key: &SessionKey,
        life: Option<Incarnation>,
    ) -> Result<bool, StoreError> {
        let _ = (key, life);
        Ok(false)
    }

    /// Returns when the watched data may have changed, at the latest after `at_most`. Only a hint.
    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError>;
}
