//! Layers: code between a caller and a store.
//!
//! Every call of a [`StateStore`] is represented by values: a [`Request`] with the arguments, and an
//! [`Answer`]. A layer is therefore one function. It can record, count, delay, refuse, repeat or change calls
//! without code for each method. [`Layered`] implements the methods for all layers.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use holdover_store::{Answer, Layer, Layered, Request, StateStore, StoreError};
//!
//! /// Counts commits.
//! #[derive(Default)]
//! struct Commits(AtomicU32);
//!
//! #[async_trait::async_trait]
//! impl Layer for Commits {
//!     async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
//!         if let Request::Commit(..) = &request {
//!             self.0.fetch_add(1, Ordering::Relaxed);
//!         }
//!         request.perform(&store).await
//!     }
//! }
//!
//! fn counted<S: StateStore>(store: S) -> Layered<S, Commits> {
//!     Layered::new(store, Commits::default())
//! }
//! ```

mod answer;
mod layered;
mod request;

use std::sync::Arc;

use async_trait::async_trait;

pub use answer::Answer;
pub use layered::Layered;
pub use request::Request;

use super::{Capabilities, StateStore, StoreError};
use crate::ids::TenantId;
use crate::payload::Digest;

/// Code between a caller and a store. [`Layered`] makes a store from a layer and a store.
#[async_trait]
pub trait Layer: Send + Sync + 'static {
    /// Handles one call. [`Request::perform`] passes the call to the store. The answer must belong to this
    /// request. For any other answer, the caller gets an error of the kind
    /// [`Backend`](super::StoreErrorKind::Backend).
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError>;

    /// Returns the promises that the store makes through this layer.
    fn capabilities(&self, store: &dyn StateStore) -> Capabilities {
        store.capabilities()
    }

    /// Returns the digests of words through this layer. A layer that encrypts must not return them unchanged.
    fn digests(
        &self,
        store: &dyn StateStore,
        tenant: &TenantId,
        words: &[u8],
    ) -> Result<Vec<Digest>, StoreError> {
        store.digests(tenant, words)
    }
}

#[async_trait]
impl<L: Layer + ?Sized> Layer for Arc<L> {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        (**self).around(request, store).await
    }

    fn capabilities(&self, store: &dyn StateStore) -> Capabilities {
        (**self).capabilities(store)
    }

    fn digests(
        &self,
        store: &dyn StateStore,
        tenant: &TenantId,
        words: &[u8],
    ) -> Result<Vec<Digest>, StoreError> {
        (**self).digests(store, tenant, words)
    }
}
