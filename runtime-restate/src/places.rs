//! The places of the sessions that run in this process.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use holdover_core::ids::SessionKey;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places, of which each session that runs has one. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    taken: Arc<Mutex<HashMap<SessionKey, Weak<Place>>>>,
}

impl Places {
    pub(crate) fn new(max: NonZeroUsize) -> Self {
        let free = Arc::new(Semaphore::new(max.get().min(Semaphore::MAX_PERMITS)));
        Self { free, taken: Arc::default() }
    }

    /// Waits for a place, and then performs `work` in a task of its own. The task has the place until `work` ends, also if
    /// this future is dropped, for example because the connection to Restate broke. A call for a session that has a place
    /// shares it, so a call that Restate repeats takes no second one. Returns `None` if `work` panicked.
    pub(crate) async fn perform<T: Send + 'static>(
        &self,
        key: &SessionKey,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let place = self.place(key).await?;
        let task = async move {
            let done = work.await;
            drop(place);
            done
        };
        tokio::spawn(task).await.ok()
    }

    async fn place(&self, key: &SessionKey) -> Option<Arc<Place>> {
        let taken = self.taken().get(key).and_then(Weak::upgrade);
        if taken.is_some() {
            return taken;
        }
        // The semaphore is never closed.
        let permit = Arc::clone(&self.free).acquire_owned().await.ok()?;
        let place = Arc::new(Place { places: self.clone(), key: key.clone(), _permit: permit });
        self.taken().insert(key.clone(), Arc::downgrade(&place));
        Some(place)
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<SessionKey, Weak<Place>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a session. Dropping it frees the place.
struct Place {
    places: Places,
    key: SessionKey,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        // Two calls may have waited at once. The entry then is that of the second place.
        if taken.get(&self.key).is_some_and(|place| place.strong_count() == 0) {
            taken.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use futures::FutureExt as _;
    use holdover_core::ids::{SessionId, TenantId};
    use tokio::sync::oneshot;

    use super::*;

    fn session(name: &str) -> SessionKey {
        SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new(name).unwrap())
    }

    #[tokio::test]
    async fn a_run_has_its_place_after_the_call_of_the_handler_was_dropped() {
        let places = Places::new(NonZeroUsize::MIN);
        let (one, two) = (session("one"), session("two"));
        let (end, ended) = oneshot::channel::<()>();
        let mut first = Box::pin(places.perform(&one, ended));
        assert!(first.as_mut().now_or_never().is_none());
        drop(first);
        let mut second = Box::pin(places.perform(&two, async { 2 }));
        for _ in 0..10 {
            assert!(second.as_mut().now_or_never().is_none(), "the run of the first session goes on");
            tokio::task::yield_now().await;
        }
        // Restate repeats the first call, which takes no second place.
        assert_eq!(places.perform(&one, async { 1 }).await, Some(1));
        end.send(()).unwrap();
        assert_eq!(second.await, Some(2));
        assert!(places.taken().is_empty());
    }

    #[tokio::test]
    async fn a_work_that_panics_frees_its_place() {
        let places = Places::new(NonZeroUsize::MIN);
        let panics = async {
            if true {
                panic!("on purpose")
            }
        };
        assert_eq!(places.perform(&session("one"), panics).await, None);
        assert_eq!(places.perform(&session("two"), async { 2 }).await, Some(2));
        assert!(places.taken().is_empty());
    }

    #[tokio::test]
    async fn there_may_be_any_number_of_places() {
        assert_eq!(Places::new(NonZeroUsize::MAX).perform(&session("one"), async { 1 }).await, Some(1));
    }
}
