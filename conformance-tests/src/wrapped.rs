//! A harness that puts the stores of another harness inside a layer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::StateStore;

use crate::case::Capability;
use crate::clock::ClockControl;
use crate::gap::{Claim, Gap};
use crate::harness::{Instance, StoreHarness, StoreInfo};
use crate::proxy::Proxy;

/// A harness that puts every store of another harness inside a layer, to test the layer. If the store passes the suite
/// and the layer keeps the contract, the layer passes too.
///
/// A child process or an unopened place would be opened without the layer, so this harness offers neither.
pub struct Wrapped<H, F> {
    harness: H,
    wrap: F,
}

impl<H: StoreHarness, W: StateStore, F: Fn(Arc<H::Store>) -> W> Wrapped<H, F> {
    /// Creates a harness that wraps every store of `harness`: fresh stores, peers and reopened stores.
    pub fn new(harness: H, wrap: F) -> Self {
        Self { harness, wrap }
    }

    fn around(&self, inner: Instance<H::Store>) -> Instance<W> {
        let store = (self.wrap)(Arc::clone(inner.store()));
        Instance::guarded(store, inner)
    }
}

/// The capabilities that would bypass the layer.
const WITHOUT: [(Capability, &str); 2] = [
    (Capability::ChildProcess, "a child opens the store without the layer"),
    (Capability::RawData, "a place is opened without the layer"),
];

/// Returns the instance inside the layer.
fn inner<W, S: StateStore>(of: &Instance<W>) -> &Instance<S> {
    match of.guard() {
        Some(inner) => inner,
        None => panic!("the instance is of another harness"),
    }
}

/// Takes the instance out of the layer.
fn unwrapped<W, S: StateStore>(of: Instance<W>) -> Instance<S> {
    match of.into_parts() {
        (_, Some(inner)) => inner,
        (_, None) => panic!("the instance is of another harness"),
    }
}

#[async_trait]
impl<H, W, F> StoreHarness for Wrapped<H, F>
where
    H: StoreHarness,
    W: StateStore,
    F: Fn(Arc<H::Store>) -> W + Send + Sync + 'static,
{
    type Store = W;

    fn info(&self) -> StoreInfo {
        let StoreInfo { name, version } = self.harness.info();
        StoreInfo::new(format!("{name} in a layer"), version)
    }

    async fn fresh(&self) -> Instance<W> {
        self.around(self.harness.fresh().await)
    }

    async fn peer(&self, of: &Instance<W>) -> W {
        (self.wrap)(Arc::new(self.harness.peer(inner(of)).await))
    }

    async fn reopen(&self, of: Instance<W>) -> Instance<W> {
        self.around(self.harness.reopen(unwrapped(of)).await)
    }

    async fn dispose(&self, of: Instance<W>) {
        self.harness.dispose(unwrapped(of)).await;
    }

    async fn peer_through(&self, of: &Instance<W>, proxy: &Proxy) -> Option<W> {
        let peer = self.harness.peer_through(inner(of), proxy).await?;
        Some((self.wrap)(Arc::new(peer)))
    }

    fn clock(&self) -> ClockControl {
        self.harness.clock()
    }

    fn case_time_max(&self) -> Duration {
        self.harness.case_time_max()
    }

    fn peers_max(&self) -> usize {
        self.harness.peers_max()
    }

    fn in_layer(&self) -> bool {
        true
    }

    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.harness.gaps();
        for (capability, reason) in WITHOUT {
            if gaps.iter().all(|gap| gap.claim != Claim::Capability(capability)) {
                gaps.push(Gap::capability(capability, reason));
            }
        }
        gaps
    }
}

impl<H: fmt::Debug, F> fmt::Debug for Wrapped<H, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapped").field("harness", &self.harness).finish_non_exhaustive()
    }
}
