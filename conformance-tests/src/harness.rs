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

/// A harness, through which the suite reaches a store. One harness serves one case at a time, in the tokio runtime of
/// that case; several harnesses work at the same time.
///
/// The methods must panic if the backend is not available, because then nothing can be said about the store.
#[async_trait]
pub trait StoreHarness: Send + Sync + 'static {
    /// The store under test.
    type Store: StateStore;

    /// Returns the name and version of the store under test.
    fn info(&self) -> StoreInfo;

    /// Creates an empty store that is isolated from every other. It is cleaned up by [`dispose`](Self::dispose) or when
    /// the instance is dropped.
    async fn fresh(&self) -> Instance<Self::Store>;

    /// Opens a second handle on the same data, as another process would. The handles share nothing but the data: no
    /// connection, no cache, no lock in memory (unless the data itself is in memory).
    async fn peer(&self, of: &Instance<Self::Store>) -> Self::Store;

    /// Closes every handle of the instance and opens the same data again.
    async fn reopen(&self, of: Instance<Self::Store>) -> Instance<Self::Store>;

    /// Cleans up an instance that no case needs any more, in the runtime in which it was made: empties its schema or
    /// namespace for the next instance, and closes its connections. Its peers are gone by then. By default, the
    /// instance is dropped.
    ///
    /// The suite awaits this before it asks the harness for the next instance, and after the case has ended: passed,
    /// failed, panicked or out of time. The time limit is that of a case, at most half a minute; then the future is
    /// dropped at an await. An instance whose `reopen` does not return is dropped without this call.
    async fn dispose(&self, of: Instance<Self::Store>) {
        drop(of);
    }

    /// Returns how time passes for every store of this harness.
    fn clock(&self) -> ClockControl {
        ClockControl::Real { lease: Duration::from_secs(1) }
    }

    /// Returns the real time after which a case counts as hanging and fails. The default is three minutes; return more
    /// if every operation crosses a slow network.
    fn case_time_max(&self) -> Duration {
        Duration::from_secs(180)
    }

    /// Returns the maximum number of peers of one instance that may be open at a time. A number below two counts as
    /// two. A case that needs more handles shares these peers among its tasks.
    fn peers_max(&self) -> usize {
        64
    }

    /// Returns true if the store under test is a layer around another store, as in [`Wrapped`](crate::Wrapped). The suite
    /// then accepts that the store refuses the longest reason of an interrupt, because a layer that encodes the reason
    /// may have less room for it.
    fn in_layer(&self) -> bool {
        false
    }

    /// Returns a command that starts a program which opens the current data of `of` and calls
    /// [`serve_child`](crate::serve_child) with the store. Cases kill the program. `None` means that there is no such
    /// program; then [`gaps`](Self::gaps) must name `child_process`.
    fn child(&self, of: &Instance<Self::Store>) -> Option<Command> {
        let _ = of;
        None
    }

    /// Opens a peer that reaches its backend only through `proxy`: [`Proxy::to`] returns the address to use in place of
    /// the backend's address. Cases cut the connection. The peer must use one connection for all operations, so that
    /// repeated operations send the same bytes. `None` means that there is no such peer; then [`gaps`](Self::gaps) must
    /// name `wire_faults`.
    async fn peer_through(&self, of: &Instance<Self::Store>, proxy: &Proxy) -> Option<Self::Store> {
        let _ = (of, proxy);
        None
    }

    /// Returns an unopened place for the store's data, with access to the raw data. A case asks for several places.
    /// `None` means that there are no such places; then [`gaps`](Self::gaps) must name `raw_data`.
    async fn place(&self) -> Option<Arc<dyn Place>> {
        None
    }

    /// Returns the gaps: what the store does not claim, with a reason for each. The store claims everything else.
    fn gaps(&self) -> Vec<Gap> {
        Vec::new()
    }
}

/// The name and version of the store under test, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoreInfo {
    /// The name of the store's crate.
    pub name: String,
    /// The version of the store.
    pub version: String,
}

impl StoreInfo {
    /// Creates the info of a store from the name of its crate and its version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into() }
    }
}

/// An open store and the guard that must live as long as the store: a directory, a database, a container.
pub struct Instance<S> {
    store: Arc<S>,
    guard: Box<dyn Any + Send + Sync>,
}

impl<S> Instance<S> {
    /// Creates an instance of a store that leaves nothing behind.
    pub fn new(store: S) -> Self {
        Self::guarded(store, ())
    }

    /// Creates an instance with a guard that is dropped after the store.
    pub fn guarded(store: S, guard: impl Any + Send + Sync) -> Self {
        Self { store: Arc::new(store), guard: Box::new(guard) }
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// Returns the guard, if it is a `G`.
    pub fn guard<G: Any>(&self) -> Option<&G> {
        self.guard.downcast_ref()
    }

    /// Splits the instance into the store and, if it is a `G`, the guard, so that the store can be closed and another
    /// one opened with the same guard.
    pub fn into_parts<G: Any>(self) -> (Arc<S>, Option<G>) {
        (self.store, self.guard.downcast().ok().map(|guard| *guard))
    }
}
