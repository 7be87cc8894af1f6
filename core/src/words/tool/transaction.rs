//! The transaction in which a call writes tables of the program, and its run the result of the call.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::store::{OpenTransaction, StoreError, StoreTransaction};

/// A transaction of the run's own store that belongs to one call. If the call returns its result after
/// [`commit_with_result`](Self::commit_with_result), the transaction is committed by the write that makes the result
/// durable: both are written, or neither is. In all other cases, the transaction is undone.
///
/// While it is open, the run takes nothing else: results of other calls, answers and requests to stop wait.
pub struct CallTransaction<T: ?Sized = dyn StoreTransaction> {
    // Dropped first, so that it is undone before the run goes on.
    open: OpenTransaction<T>,
    link: Box<dyn TransactionLink>,
}

/// The connection of a [`CallTransaction`] to the run of its call. A runtime implements it. If it is dropped, the call
/// has given its transaction up.
pub trait TransactionLink: Send + Sync + 'static {
    /// Keeps the transaction until the call has returned.
    fn commit_with_result(self: Box<Self>, open: OpenTransaction);
}

impl CallTransaction {
    /// Creates the transaction of the call to which `link` belongs.
    pub fn new(open: OpenTransaction, link: impl TransactionLink) -> Self {
        Self { open, link: Box::new(link) }
    }

    /// Returns the transaction as one of the type `T`. If the store has transactions of another type, undoes it and
    /// returns `None`.
    pub fn downcast<T: StoreTransaction>(self) -> Option<CallTransaction<T>> {
        let Self { open, link } = self;
        open.downcast().ok().map(|open| CallTransaction { open, link })
    }

    /// Asks the backend if what the call has written can be committed. See [`StoreTransaction::check`].
    ///
    /// # Errors
    /// It cannot, for the reason that the error names.
    pub async fn check(&mut self) -> Result<(), StoreError> {
        self.open.check().await
    }

    /// Lets the transaction be committed by the write that makes the result of the call durable, if the call now returns
    /// a result that is available at once.
    pub fn commit_with_result(self) {
        self.link.commit_with_result(self.open);
    }
}

impl<T: StoreTransaction> CallTransaction<T> {
    /// Returns the transaction without the name of its type.
    pub fn erase(self) -> CallTransaction {
        CallTransaction { open: self.open.erase(), link: self.link }
    }
}

impl<T: StoreTransaction> Deref for CallTransaction<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.open
    }
}

impl<T: StoreTransaction> DerefMut for CallTransaction<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.open
    }
}

impl<T: ?Sized> fmt::Debug for CallTransaction<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallTransaction").field("open", &self.open).finish_non_exhaustive()
    }
}
