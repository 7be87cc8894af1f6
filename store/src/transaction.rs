//! Transactions of a store in which a caller writes its own tables.

use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use async_trait::async_trait;

use crate::{StateStore, StoreError};

/// A transaction of a backend in which the caller writes its own tables, and then one session.
///
/// If it is dropped, everything that was written in it is undone.
#[async_trait]
pub trait StoreTransaction: Any + Send + Sync {
    /// Asks the backend if what the caller has written can be committed. Changes nothing that the caller wrote. The
    /// default finds nothing.
    ///
    /// # Errors
    /// It cannot: a statement failed and took the transaction with it, the transaction was undone, or a rule of the
    /// caller's tables that the backend only checks at the end is broken.
    async fn check(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns a store for one write, which commits the transaction. Calls to the store that write nothing leave the
    /// transaction open. If the store is dropped without a write, the transaction is undone. After an error, the store
    /// is of no use, and [`Retry::OutcomeUnknown`](crate::Retry::OutcomeUnknown) says if the write may have been
    /// committed.
    fn into_store(self: Box<Self>) -> Arc<dyn StateStore>;
}

/// A transaction that [`StateStore::begin`] has begun, with the layers of the store that began it. It dereferences to
/// the transaction of the backend, once its type is [named](OpenTransaction::downcast).
///
/// The caller's own statements pass through no layer. The write of the session does.
pub struct OpenTransaction<T: ?Sized = dyn StoreTransaction> {
    transaction: Box<T>,
    /// The layers, the innermost first.
    layers: Vec<Wrap>,
}

/// Puts a layer in front of a store.
type Wrap = Box<dyn FnOnce(Arc<dyn StateStore>) -> Arc<dyn StateStore> + Send + Sync>;

impl OpenTransaction {
    /// Returns this transaction of a backend, behind no layer.
    pub fn new(transaction: impl StoreTransaction) -> Self {
        Self { transaction: Box::new(transaction), layers: Vec::new() }
    }

    /// Puts a layer in front of the store that the transaction becomes.
    #[must_use]
    pub fn behind(
        mut self,
        layer: impl FnOnce(Arc<dyn StateStore>) -> Arc<dyn StateStore> + Send + Sync + 'static,
    ) -> Self {
        self.layers.push(Box::new(layer));
        self
    }

    /// Returns the transaction as one of the type `T`.
    ///
    /// # Errors
    /// The unchanged transaction, if it has another type.
    pub fn downcast<T: StoreTransaction>(self) -> Result<OpenTransaction<T>, Self> {
        let Self { transaction, layers } = self;
        let has_type = (&*transaction as &dyn Any).is::<T>();
        if !has_type {
            return Err(Self { transaction, layers });
        }
        let transaction: Box<dyn Any> = transaction;
        match transaction.downcast() {
            Ok(transaction) => Ok(OpenTransaction { transaction, layers }),
            Err(_) => unreachable!("a transaction has the type that it was found to have"),
        }
    }

    /// Asks the backend if what the caller has written can be committed. See [`StoreTransaction::check`].
    ///
    /// # Errors
    /// It cannot, for the reason that the error names.
    pub async fn check(&mut self) -> Result<(), StoreError> {
        self.transaction.check().await
    }

    /// Returns a store for one write, which commits the transaction, behind the layers of the store that began it. See
    /// [`StoreTransaction::into_store`].
    #[must_use]
    pub fn into_store(self) -> Arc<dyn StateStore> {
        self.layers.into_iter().fold(self.transaction.into_store(), |store, layer| layer(store))
    }
}

impl<T: StoreTransaction> OpenTransaction<T> {
    /// Returns the transaction without the name of its type.
    pub fn erase(self) -> OpenTransaction {
        OpenTransaction { transaction: self.transaction, layers: self.layers }
    }
}

impl<T: StoreTransaction> Deref for OpenTransaction<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.transaction
    }
}

impl<T: StoreTransaction> DerefMut for OpenTransaction<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.transaction
    }
}

impl<T: ?Sized> fmt::Debug for OpenTransaction<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTransaction").field("layers", &self.layers.len()).finish_non_exhaustive()
    }
}
