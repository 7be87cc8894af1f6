//! Layers: code between a caller and a store.
//!
//! Every call of a [`StateStore`] can be a value: a [`Request`] with its arguments, and an [`Answer`]. So a
//! layer is one function, whatever its purpose: it can record, count, delay, refuse, repeat or change calls
//! without code for each method. Only [`Layered`] lists them.
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

/// Code between a caller and a store. With [`Layered`] it is a store itself.
#[async_trait]
pub trait Layer: Send + Sync + 'static {
    /// Handles one call. [`Request::perform`] passes it on. The answer must be one to this request. For any
    /// other answer, the caller gets an error of the kind [`Backend`](super::StoreErrorKind::Backend).
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError>;

    /// The promises of the store through this layer.
    fn capabilities(&self, store: &dyn StateStore) -> Capabilities {
        store.capabilities()
    }

    /// The digests of words through this layer. A layer that encrypts must not return them unchanged.
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
