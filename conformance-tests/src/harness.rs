//! The harness that the author of a store writes.

use std::any::Any;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::StateStore;
use serde::{Deserialize, Serialize};

use crate::clock::ClockControl;
use crate::gap::Gap;
use crate::proxy::Proxy;
use crate::raw_data::Place;

/// How the suite gets at a store. One harness serves one case at a time, in the tokio runtime of that case;
/// several harnesses are at work at once.
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

    /// Ends with an instance that no case needs any more, in the runtime in which it was made: empties its
    /// schema or namespace for the next one, closes its connections. Peers of it are gone by then. Left out,
    /// the instance is dropped.
    ///
    /// Awaited before the harness is asked for the next instance, and when its case has ended: passed,
    /// failed, panicked or out of time. It has as long as a case, at most half a minute; then it is dropped
    /// at an await, and so is an instance that is lost in a `reopen` that does not return.
    async fn dispose(&self, of: Instance<Self::Store>) {
        drop(of);
    }

    /// How time passes for every store of this harness.
    fn clock(&self) -> ClockControl {
        ClockControl::Real { lease: Duration::from_secs(1) }
    }

    /// How long a case may take, in real time, before it counts as hanging and has failed: more than three
    /// minutes where every operation crosses a slow network.
    fn case_time_max(&self) -> Duration {
        Duration::from_secs(180)
    }

    /// How many peers of one instance may be open at a time; at least two. A case that wants more handles
    /// shares these among its tasks.
    fn peers_max(&self) -> usize {
        64
    }

    /// Whether the store under test is a layer around another store, as in [`Wrapped`](crate::Wrapped): a layer that
    /// encodes what it keeps may have less room for the reason of an interrupt.
    fn in_layer(&self) -> bool {
        false
    }

    /// How to start a program that opens the data of `of`, as it is now, and calls
    /// [`serve_child`](crate::serve_child) with the store. Cases kill it. None: they are skipped.
    fn child(&self, of: &Instance<Self::Store>) -> Option<Command> {
        let _ = of;
        None
    }

    /// A peer that reaches its backend through `proxy` alone: [`Proxy::to`] gives the address that it is told in
    /// place of the backend's. Cases cut it. It has one connection for operations, so that what crosses it for one is
    /// what crosses it for the next. None: there is no wire, which is a gap in `wire_faults`.
    async fn peer_through(&self, of: &Instance<Self::Store>, proxy: &Proxy) -> Option<Self::Store> {
        let _ = (of, proxy);
        None
    }

    /// A place for the store's data that nobody has opened, and what lies there behind the store's back. A case
    /// asks for several. None: cases that need one are skipped, which is a gap in `raw_data`.
    async fn place(&self) -> Option<Arc<dyn Place>> {
        None
    }

    /// What the store does not claim, with a reason for each. It claims everything else.
    fn gaps(&self) -> Vec<Gap> {
        Vec::new()
    }
}

/// What is tested, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoreInfo {
    /// The store, as its crate is called.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl StoreInfo {
    /// A store, as its crate is called, and its version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into() }
    }
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
