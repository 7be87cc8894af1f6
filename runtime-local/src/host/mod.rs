//! The parts that runs, workers and the operations of a runtime share: the store with its clock, the options,
//! claims that are given back, and the open runs.

mod alarms;
mod claim;
mod draw;
mod options;
mod repeat;
mod runs;
mod unbuilt;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use holdover_core::ids::WorkerId;
use holdover_core::store::{Layered, StateStore};
use holdover_core::time::Timestamp;
use tokio::time::Instant;

pub use claim::GIVE_BACK_FOR;
pub use options::RuntimeOptions;

use alarms::Alarms;
pub(crate) use alarms::Bell;
pub(crate) use claim::{Claimed, Try, is_stopped};
pub(crate) use draw::{draw_id, draw_run};
pub(crate) use repeat::{GivenUp, until_answered};
use runs::OpenRuns;
use unbuilt::Unbuilt;

use crate::clock::StoreClock;
use crate::engine::{Desk, Nudges};

/// A store, and this process as one of its workers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn StateStore>,
    records: Arc<dyn StateStore>,
    options: RuntimeOptions,
    worker: WorkerId,
    /// The store's clock. `None` before the store's first answer.
    clock: Mutex<Option<StoreClock>>,
    alarms: Alarms,
    unbuilt: Unbuilt,
    runs: OpenRuns,
    desk: Desk,
    nudges: Option<Nudges>,
}

impl Host {
    /// Creates a host on `store` with these options. A lease outside its limits is moved to the nearer one. Writes wake
    /// the engine, if the options name one.
    pub(crate) fn new(store: impl StateStore, options: RuntimeOptions) -> Self {
        let options = options.bounded();
        let desk = Desk::default();
        let records: Arc<dyn StateStore> = Arc::new(store);
        let nudges =
            options.engine.clone().map(|engine| Nudges::new(engine, desk.clone(), Arc::clone(&records)));
        let store = match &nudges {
            Some(nudges) => {
                Arc::new(Layered::<Arc<dyn StateStore>, _>::new(Arc::clone(&records), nudges.clone()))
            }
            None => Arc::clone(&records),
        };
        let inner = Inner {
            store,
            records,
            worker: options.worker.clone().unwrap_or_else(draw::draw_worker),
            options,
            clock: Mutex::new(None),
            alarms: Alarms::default(),
            unbuilt: Unbuilt::default(),
            runs: OpenRuns::default(),
            desk,
            nudges,
        };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn store(&self) -> &Arc<dyn StateStore> {
        &self.inner.store
    }

    /// Returns the store for records that are no sessions: those of breakers, and the probe of writes. These writes wake
    /// no engine.
    pub(crate) fn records(&self) -> &Arc<dyn StateStore> {
        &self.inner.records
    }

    pub(crate) fn options(&self) -> &RuntimeOptions {
        &self.inner.options
    }

    /// Returns the name of this worker in leases and run records.
    pub(crate) fn worker(&self) -> &WorkerId {
        &self.inner.worker
    }

    /// Returns the time by the store's clock, as this process knows it. Before the store's first answer, it is this
    /// machine's time.
    pub(crate) fn now(&self) -> Timestamp {
        match *self.inner.clock.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(clock) => clock.now(),
            None => Timestamp::EPOCH.after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
        }
    }

    /// Returns true if the store has told its time.
    pub(crate) fn knows_time(&self) -> bool {
        self.inner.clock.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Notes that a session that this process leaves to workers wants one at `alarm`, if it names an instant.
    pub(crate) fn note_alarm(&self, alarm: Option<Timestamp>) {
        if let Some(at) = alarm {
            self.inner.alarms.note(at, self.now());
        }
    }

    /// Starts to listen for the alarms that are noted here.
    pub(crate) fn listen_for_alarms(&self) -> Bell {
        self.inner.alarms.listen(self.now())
    }

    /// Returns the runs that an engine requested from this process.
    pub(crate) fn desk(&self) -> &Desk {
        &self.inner.desk
    }

    /// Returns the wake-ups of the engine, if there is an engine.
    pub(crate) fn nudges(&self) -> Option<&Nudges> {
        self.inner.nudges.as_ref()
    }

    /// Notes that the store's clock shows `now`.
    pub(crate) fn hear(&self, now: Timestamp) {
        *self.inner.clock.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(StoreClock::heard(Instant::now(), now));
    }

    /// Notes that the store's clock has reached `then` or passed it.
    pub(crate) fn hear_at_least(&self, then: Timestamp) {
        if self.now() < then {
            self.hear(then);
        }
    }
}
