//! An instance of a store together with its harness, with their types erased.

use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::StateStore;

use crate::case::Capability;
use crate::gap::Claim;
use crate::harness::{Instance, StoreHarness};
use crate::proxy::Proxy;
use crate::raw_data::Place;

/// The maximum time for the disposal of one instance, even if a case may take longer.
const DISPOSE_TIME_MAX: Duration = Duration::from_secs(30);

/// One instance of a store, as cases use it.
#[async_trait]
pub(crate) trait World: Send + Sync {
    fn store(&self) -> Arc<dyn StateStore>;
    async fn peer(&self) -> Arc<dyn StateStore>;
    fn peers_max(&self) -> usize;
    fn in_layer(&self) -> bool;
    fn claims(&self, capability: Capability) -> bool;
    fn child(&self) -> Option<Command>;
    async fn peer_through(&self, proxy: &Proxy) -> Option<Arc<dyn StateStore>>;
    async fn place(&self) -> Option<Arc<dyn Place>>;
    async fn fresh(&self) -> Box<dyn World>;
    async fn reopen(self: Box<Self>) -> Box<dyn World>;
}

/// A harness, with every instance and place that it has made and not yet disposed of. Each belongs to one world. When
/// that world is dropped, the instance or place stays here until it is disposed of, because a drop cannot await.
pub(crate) struct Worlds<H: StoreHarness> {
    harness: H,
    instances: Mutex<Vec<Arc<Instance<H::Store>>>>,
    places: Mutex<Vec<Arc<dyn Place>>>,
}

impl<H: StoreHarness> Worlds<H> {
    pub(crate) fn new(harness: H) -> Arc<Self> {
        Arc::new(Self { harness, instances: Mutex::default(), places: Mutex::default() })
    }

    pub(crate) fn harness(&self) -> &H {
        &self.harness
    }

    /// Makes an empty store, after disposing of unused instances.
    pub(crate) async fn fresh(self: Arc<Self>) -> HarnessWorld<H> {
        self.dispose().await;
        let instance = self.harness.fresh().await;
        self.world(instance)
    }

    /// Disposes of unused instances and places, one after another. A disposal that takes too long is cancelled.
    pub(crate) async fn dispose(&self) {
        while let Some(instance) = self.next_over() {
            let _ = tokio::time::timeout(self.dispose_time_max(), self.harness.dispose(instance)).await;
        }
        let over: Vec<_> = lock(&self.places).extract_if(.., |place| Arc::strong_count(place) == 1).collect();
        for place in over {
            let _ = tokio::time::timeout(self.dispose_time_max(), place.remove()).await;
        }
    }

    fn dispose_time_max(&self) -> Duration {
        self.harness.case_time_max().min(DISPOSE_TIME_MAX)
    }

    fn world(self: Arc<Self>, instance: Instance<H::Store>) -> HarnessWorld<H> {
        let instance = Arc::new(instance);
        lock(&self.instances).push(Arc::clone(&instance));
        HarnessWorld { worlds: self, instance }
    }

    fn next_over(&self) -> Option<Instance<H::Store>> {
        let mut instances = lock(&self.instances);
        let over = instances.iter().position(|instance| Arc::strong_count(instance) == 1)?;
        Arc::into_inner(instances.swap_remove(over))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One instance of a store, with the harness that made it.
pub(crate) struct HarnessWorld<H: StoreHarness> {
    worlds: Arc<Worlds<H>>,
    instance: Arc<Instance<H::Store>>,
}

#[async_trait]
impl<H: StoreHarness> World for HarnessWorld<H> {
    fn store(&self) -> Arc<dyn StateStore> {
        Arc::clone(self.instance.store()) as Arc<dyn StateStore>
    }

    async fn peer(&self) -> Arc<dyn StateStore> {
        Arc::new(self.worlds.harness.peer(&self.instance).await)
    }

    fn peers_max(&self) -> usize {
        self.worlds.harness.peers_max()
    }

    fn in_layer(&self) -> bool {
        self.worlds.harness.in_layer()
    }

    fn claims(&self, capability: Capability) -> bool {
        !self.worlds.harness.gaps().iter().any(|gap| gap.claim == Claim::Capability(capability))
    }

    fn child(&self) -> Option<Command> {
        self.worlds.harness.child(&self.instance)
    }

    async fn peer_through(&self, proxy: &Proxy) -> Option<Arc<dyn StateStore>> {
        let peer = self.worlds.harness.peer_through(&self.instance, proxy).await?;
        Some(Arc::new(peer))
    }

    async fn place(&self) -> Option<Arc<dyn Place>> {
        let place = self.worlds.harness.place().await?;
        lock(&self.worlds.places).push(Arc::clone(&place));
        Some(place)
    }

    async fn fresh(&self) -> Box<dyn World> {
        Box::new(Arc::clone(&self.worlds).fresh().await)
    }

    async fn reopen(self: Box<Self>) -> Box<dyn World> {
        let Self { worlds, instance } = *self;
        lock(&worlds.instances).retain(|other| !Arc::ptr_eq(other, &instance));
        let Some(instance) = Arc::into_inner(instance) else {
            panic!("an instance belongs to one world");
        };
        let instance = worlds.harness.reopen(instance).await;
        Box::new(worlds.world(instance))
    }
}
