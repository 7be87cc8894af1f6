//! What the author of a store writes.

use std::any::Any;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::store::StateStore;
use serde::{Deserialize, Serialize};

use crate::clock::ClockControl;
use crate::gap::Gap;

/// How the suite gets at a store. One harness serves one case at a time.
///
/// It panics when the backend cannot be had: then nothing can be said about the store.
#[async_trait]
pub trait StoreHarness: Send + Sync + 'static {
    /// The store under test.
    type Store: StateStore;

    /// What is tested.
    fn info(&self) -> StoreInfo;

    /// A store that is empty, isolated from every other, and cleaned up when the instance is dropped.
    async fn fresh(&self) -> Instance<Self::Store>;

    /// A second handle on the same data, as another process has one. Nothing but the data is shared
    /// with the first: no connection, no cache, no lock in memory (unless the data itself is in memory).
    async fn peer(&self, of: &Instance<Self::Store>) -> Self::Store;

    /// Closes every handle of the instance and opens the same data again.
    async fn reopen(&self, of: Instance<Self::Store>) -> Instance<Self::Store>;

    /// How time passes for every store of this harness.
    fn clock(&self) -> ClockControl {
        ClockControl::Real { lease: Duration::from_secs(1) }
    }

    /// How to start a program that opens the data of `of`, as it is now, and calls
    /// [`serve_child`](crate::serve_child) with the store. Cases kill it. None: they are skipped.
    fn child(&self, of: &Instance<Self::Store>) -> Option<Command> {
        let _ = of;
        None
    }

    /// What the store does not claim, with a reason for each. It claims everything else.
    fn gaps(&self) -> Vec<Gap> {
        Vec::new()
    }
}

/// What is tested, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreInfo {
    /// The store, as its crate is called.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// An open store, and what must live as long as it does: a directory, a database, a container.
pub struct Instance<S> {
    store: Arc<S>,
    guard: Box<dyn Any + Send + Sync>,
}

impl<S> Instance<S> {
    /// A store that leaves nothing behind.
    pub fn new(store: S) -> Self {
        Self::guarded(store, ())
    }

    /// A store with what is dropped after it.
    pub fn guarded(store: S, guard: impl Any + Send + Sync) -> Self {
        Self { store: Arc::new(store), guard: Box::new(guard) }
    }

    /// The store.
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// The guard, if it is a `G`.
    pub fn guard<G: Any>(&self) -> Option<&G> {
        self.guard.downcast_ref()
    }

    /// The store, and the guard if it is a `G`: for closing the one and opening another under the other.
    pub fn into_parts<G: Any>(self) -> (Arc<S>, Option<G>) {
        (self.store, self.guard.downcast().ok().map(|guard| *guard))
    }
}

/// One instance together with its harness, whatever their types: what cases work with.
#[async_trait]
pub(crate) trait World: Send + Sync {
    fn store(&self) -> Arc<dyn StateStore>;
    async fn peer(&self) -> Arc<dyn StateStore>;
    fn child(&self) -> Option<Command>;
    async fn fresh(&self) -> Box<dyn World>;
    async fn reopen(self: Box<Self>) -> Box<dyn World>;
}

pub(crate) struct HarnessWorld<H: StoreHarness> {
    harness: Arc<H>,
    instance: Instance<H::Store>,
}

impl<H: StoreHarness> HarnessWorld<H> {
    pub(crate) async fn fresh(harness: Arc<H>) -> Self {
        let instance = harness.fresh().await;
        Self { harness, instance }
    }
}

#[async_trait]
impl<H: StoreHarness> World for HarnessWorld<H> {
    fn store(&self) -> Arc<dyn StateStore> {
        Arc::clone(self.instance.store()) as Arc<dyn StateStore>
    }

    async fn peer(&self) -> Arc<dyn StateStore> {
        Arc::new(self.harness.peer(&self.instance).await)
    }

    fn child(&self) -> Option<Command> {
        self.harness.child(&self.instance)
    }

    async fn fresh(&self) -> Box<dyn World> {
        Box::new(Self::fresh(Arc::clone(&self.harness)).await)
    }

    async fn reopen(self: Box<Self>) -> Box<dyn World> {
        let Self { harness, instance } = *self;
        let instance = harness.reopen(instance).await;
        Box::new(Self { harness, instance })
    }
}
