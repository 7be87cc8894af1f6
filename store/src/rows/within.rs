//! One write inside a transaction of the caller.

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

/// An open transaction of a backend, in which the caller's code may have written.
///
/// It ends when a write is applied in it, when an answer is an error, or when it is dropped. It may end when
/// a call in it is dropped. Only an applied write makes changes durable: its own, and everything that was
/// written in the transaction before it.
#[async_trait]
pub trait Transaction: Send + Sync + 'static {
    /// Reads like [`Rows::read`], as seen from within the transaction.
    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError>;

    /// Applies this one write like [`Rows::apply`]. If it is applied, the whole transaction is committed with
    /// it, as durably as any write. If it is not applied and the answer is not an error, the transaction
    /// stays open, unchanged.
    async fn apply(&self, write: Arc<Write>) -> Result<Verdict, StoreError>;
}

/// Rows on which one write is applied inside a transaction. Lists and change hints use the rows to which the
/// transaction belongs. A purge, and the removal of an unreadable session, are refused.
pub struct Within<R, T> {
    rows: Arc<R>,
    transaction: T,
}

impl<R: Rows> RowStore<R> {
    /// A store that can apply one write, inside `transaction` and together with it. It does not share the
    /// rows that this store holds.
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

    /// Returns no keys, because forgetting them needs separate writes.
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
