//! Writes inside a transaction of the caller.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::write::{Verdict, Write};
use super::{Due, DueQuery, Found, PendingPlace, RowStore, Rows, Scanned, SessionPlace, Want};
use crate::ids::{Incarnation, SessionKey};
use crate::rules::SessionRow;
use crate::time::Timestamp;
use crate::{
    Capabilities, PendingCall, PendingQuery, RetentionRule, SessionQuery, SessionSummary, StoreError, Watch,
};

/// An open transaction of a backend, in which the caller may already have written.
///
/// The transaction ends when a write is applied, when a call returns an error, or when the transaction is
/// dropped. It may also end when the future of a call is dropped. Only an applied write commits the
/// transaction, with everything that was written in it before.
#[async_trait]
pub trait Transaction: Send + Sync + 'static {
    /// Reads like [`Rows::read`], with the data as the transaction sees it.
    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError>;

    /// Applies this one write like [`Rows::apply`]. If the write is applied, the whole transaction is
    /// committed with it, as durably as any write. If it is not applied and there is no error, the
    /// transaction stays open and unchanged.
    async fn apply(&self, write: Arc<Write>) -> Result<Verdict, StoreError>;
}

/// Rows that apply one write inside a transaction. Lists, searches for due sessions and change hints use the rows of
/// the store, outside of the transaction. A purge and the removal of an unreadable session are refused.
pub struct Within<R, T> {
    rows: Arc<R>,
    transaction: T,
}

impl<R: Rows> RowStore<R> {
    /// Returns a store that can apply one write. The write is applied inside `transaction` and commits it.
    /// The returned store does not share the rows that this store holds.
    pub fn within<T: Transaction>(&self, transaction: T) -> RowStore<Within<R, T>> {
        self.on(Within { rows: self.shared(), transaction })
    }
}

#[async_trait]
impl<R: Rows, T: Transaction> Rows for Within<R, T> {
    fn capabilities(&self) -> Capabilities {
        self.rows.capabilities()
    }

    fn now(&self) -> Option<Timestamp> {
        self.rows.now()
    }

    fn patience(&self) -> Option<Duration> {
        self.rows.patience()
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        self.transaction.read(key, wants).await
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        match &*writes {
            [write] => vec![self.transaction.apply(Arc::clone(write)).await],
            writes => {
                let error = || StoreError::invalid("apply", "a transaction is committed with one write");
                writes.iter().map(|_| Err(error())).collect()
            }
        }
    }

    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        self.rows.due(query, wants).await
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        self.rows.sessions(query, after, limit).await
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        self.rows.pending(query, after, limit, bytes).await
    }

    async fn resting(
        &self,
        _: &RetentionRule,
        _: Option<&SessionPlace>,
        _: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        Err(StoreError::invalid("purge", "a transaction is committed with one write"))
    }

    /// Returns no keys, because removing old tombstones needs separate writes.
    async fn dead(&self, _: Timestamp, _: usize) -> Result<Vec<SessionKey>, StoreError> {
        Ok(Vec::new())
    }

    async fn remove_unreadable(&self, _: &SessionKey, _: Option<Incarnation>) -> Result<bool, StoreError> {
        Err(StoreError::invalid("delete_session", "what cannot be read is removed in no transaction"))
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.rows.wait_for_change(watch, at_most).await
    }
}
