//! A store behind a layer.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Answer, Layer, Request};
use crate::ids::TenantId;
use crate::payload::Digest;
use crate::{Capabilities, OpenTransaction, StateStore, StoreError, StoreErrorKind};

/// A store whose calls all pass through a [`Layer`]. A clone shares the store and the layer.
pub struct Layered<S, L> {
    store: Arc<S>,
    layer: Arc<L>,
}

impl<S: StateStore, L: Layer> Layered<S, L> {
    /// Puts `layer` in front of `store`.
    pub fn new(store: impl Into<Arc<S>>, layer: impl Into<Arc<L>>) -> Self {
        Self { store: store.into(), layer: layer.into() }
    }

    /// Returns the store behind the layer.
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// Returns the layer.
    pub fn layer(&self) -> &Arc<L> {
        &self.layer
    }

    async fn ask<T: TryFrom<Answer>>(&self, request: Request) -> Result<T, StoreError> {
        let operation = request.operation();
        let answer = self.layer.around(request, Arc::clone(&self.store) as Arc<dyn StateStore>).await?;
        T::try_from(answer).map_err(|_| {
            StoreError::new(StoreErrorKind::Backend, operation, "a layer answered another operation")
        })
    }
}

impl<S, L> Clone for Layered<S, L> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store), layer: Arc::clone(&self.layer) }
    }
}

impl<S: fmt::Debug, L: fmt::Debug> fmt::Debug for Layered<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layered").field("store", &self.store).field("layer", &self.layer).finish()
    }
}

/// Converts an argument of a method to the owned form that a request keeps.
macro_rules! kept {
    ([& $($_given:tt)+] $given:ident) => {
        $given.to_owned()
    };
    ([$($_given:tt)+] $given:ident) => {
        $given
    };
}

/// Implements each method of the contract by passing a request to the layer.
macro_rules! layered {
    (
        $($request:ident = $method:ident($($arg:ident: [$($given:tt)+] $_kept:ty),*)
            -> $_answer:ident($outcome:ty), writes: $_writes:literal;)*
    ) => {
        #[async_trait]
        impl<S: StateStore, L: Layer> StateStore for Layered<S, L> {
            fn capabilities(&self) -> Capabilities {
                self.layer.capabilities(&*self.store)
            }

            fn digests(&self, tenant: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError> {
                self.layer.digests(&*self.store, tenant, words)
            }

            async fn begin(&self) -> Result<OpenTransaction, StoreError> {
                let (open, layer) = (self.store.begin().await?, Arc::clone(&self.layer));
                Ok(open.behind(|store| Arc::new(Layered::<Arc<dyn StateStore>, L>::new(store, layer))))
            }

            $(
                async fn $method(&self, $($arg: $($given)+),*) -> Result<$outcome, StoreError> {
                    self.ask(Request::$request($(kept!([$($given)+] $arg)),*)).await
                }
            )*
        }
    };
}

crate::__each_operation! { [layered] }
