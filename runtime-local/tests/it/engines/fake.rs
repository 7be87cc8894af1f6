//! A durable engine in memory. It remembers each execution until its session rests, and serves sessions by the processes
//! that work for it. A process can leave, and the engine can be down.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_runtime_local::{Engine, EngineError, Next, Runtime, Seen, WakeUp};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::bench::options;

/// The time after which an engine gives up a process that does not answer, and asks another one.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(60);

/// The engine. A clone is the same engine.
#[derive(Clone, Default)]
pub(crate) struct Fake {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The wake-ups that were received.
    woken: Mutex<Vec<WakeUp>>,
    /// The number of the coming wake-ups to refuse.
    refused: Mutex<usize>,
    /// The time that the answer to a wake-up takes.
    slow: Duration,
    /// The wake-ups that wait for their answer, and the most that ever did.
    waiting: Mutex<(usize, usize)>,
    /// The instant at which each open execution is served next; `None` if only a wake-up helps.
    open: Mutex<HashMap<SessionKey, Option<Instant>>>,
    changed: Notify,
    /// The next steps that were told, in order.
    told: Mutex<Vec<Next>>,
}

#[async_trait]
impl Engine for Fake {
    async fn wake(&self, wake: &WakeUp) -> Result<(), EngineError> {
        {
            let mut waiting = self.inner.waiting.lock().unwrap();
            waiting.0 += 1;
            waiting.1 = waiting.1.max(waiting.0);
        }
        sleep(self.inner.slow).await;
        self.inner.waiting.lock().unwrap().0 -= 1;
        {
            let mut refused = self.inner.refused.lock().unwrap();
            if *refused > 0 {
                *refused -= 1;
                return Err(EngineError::new("the engine is down"));
            }
        }
        self.inner.woken.lock().unwrap().push(wake.clone());
        self.inner.open.lock().unwrap().insert(wake.key.clone(), Some(Instant::now()));
        self.inner.changed.notify_one();
        Ok(())
    }

    async fn look(&self, key: &SessionKey) -> Result<Option<Seen>, EngineError> {
        let open = self.inner.open.lock().unwrap();
        Ok(open.get(key).map(|next| Seen::new(None, next.is_none())))
    }

    fn name(&self) -> String {
        "fake://".into()
    }
}

impl Fake {
    pub(super) fn refusing(wakes: usize) -> Self {
        let fake = Self::default();
        *fake.inner.refused.lock().unwrap() = wakes;
        fake
    }

    /// Returns an engine that takes `slow` to answer a wake-up.
    pub(super) fn slow(slow: Duration) -> Self {
        Self { inner: Arc::new(Inner { slow, ..Inner::default() }) }
    }

    /// Returns the most wake-ups that ever waited for their answer at once.
    pub(super) fn most_at_once(&self) -> usize {
        self.inner.waiting.lock().unwrap().1
    }

    /// Returns the options of a runtime that works with this engine and leaves all runs to it.
    pub(super) fn options(&self) -> holdover_runtime_local::RuntimeOptions {
        options().engine(Some(Arc::new(self.clone()))).run_here(false)
    }

    /// Takes the wake-ups that were received since the last call.
    pub(super) fn take_woken(&self) -> Vec<WakeUp> {
        std::mem::take(&mut *self.inner.woken.lock().unwrap())
    }

    /// Returns the number of wake-ups that are still to be refused.
    pub(super) fn left_to_refuse(&self) -> usize {
        *self.inner.refused.lock().unwrap()
    }

    /// Returns the sessions with an open execution.
    pub(super) fn open(&self) -> Vec<SessionKey> {
        self.inner.open.lock().unwrap().keys().cloned().collect()
    }

    pub(super) fn told(&self) -> Vec<Next> {
        self.inner.told.lock().unwrap().clone()
    }

    /// Serves sessions with the process that `process` returns, one after the other, for ever.
    pub(super) async fn work(&self, process: impl Fn() -> Runtime) {
        loop {
            let next = self.next_open();
            match next {
                Some((key, at)) if at <= Instant::now() => self.serve(&key, &process()).await,
                Some((_, at)) => tokio::select! {
                    () = sleep_until(at) => {}
                    () = self.inner.changed.notified() => {}
                },
                None => self.inner.changed.notified().await,
            }
        }
    }

    fn next_open(&self) -> Option<(SessionKey, Instant)> {
        let open = self.inner.open.lock().unwrap();
        open.iter().filter_map(|(key, at)| Some((key.clone(), (*at)?))).min_by_key(|(_, at)| *at)
    }

    async fn serve(&self, key: &SessionKey, process: &Runtime) {
        // A wake-up that comes meanwhile is remembered.
        let asked = Instant::now();
        self.inner.open.lock().unwrap().insert(key.clone(), None);
        let Ok(served) = timeout(HEARTBEAT, process.serve(key)).await else {
            return self.again(key, asked);
        };
        let Ok(served) = served else {
            sleep(Duration::from_millis(100)).await;
            return self.again(key, asked);
        };
        self.inner.told.lock().unwrap().push(served.next);
        let mut open = self.inner.open.lock().unwrap();
        let woken = open.get(key).copied().flatten().is_some();
        match served.next {
            _ if woken => {}
            Next::Rests | Next::Gone => {
                open.remove(key);
            }
            Next::Waits => {}
            Next::At(after) => {
                open.insert(key.clone(), Some(Instant::now() + after));
            }
            Next::NotHere => {
                open.insert(key.clone(), Some(Instant::now() + Duration::from_secs(1)));
            }
        }
    }

    fn again(&self, key: &SessionKey, at: Instant) {
        self.inner.open.lock().unwrap().insert(key.clone(), Some(at));
    }
}
