//! Tracks whether the settings of the servers that answer now are known.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use holdover_store::Capabilities;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::error::Fault;
use crate::options::RedisOptions;
use crate::settings;
use crate::wire::Wire;

/// How long all masters of a cluster may take to say their settings. One that hangs holds up no call to another for
/// longer.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// For how long they are not asked again when one took longer. A server that is alone holds up nobody but itself: it
/// is always asked.
const LATE_PAUSE: Duration = Duration::from_secs(5);

/// How often something happened after which another server may answer, or the same one with other settings: a
/// connection was lost, a slot has moved, a master became a replica.
#[derive(Debug, Clone, Default)]
pub(crate) struct Breaks(Arc<AtomicU64>);

impl Breaks {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// What the servers promised when their settings were last read, and up to which break that is true.
pub(crate) struct Trust {
    options: RedisOptions,
    capabilities: RwLock<Capabilities>,
    known: AtomicU64,
    /// How often the settings could not be read.
    missed: AtomicU64,
    /// One reads for all who need it. When a master of the cluster last took too long to say them.
    reading: Mutex<Option<Instant>>,
}

impl Trust {
    /// The capabilities were read after `breaks` breaks.
    pub(crate) fn new(options: RedisOptions, capabilities: Capabilities, breaks: u64) -> Self {
        Self {
            options,
            capabilities: RwLock::new(capabilities),
            known: AtomicU64::new(breaks),
            missed: AtomicU64::new(0),
            reading: Mutex::new(None),
        }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.capabilities.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the settings of what answers now, if something was lost since they were read. What cannot be read is
    /// left to the command itself, which fails in its own way, and read before the next.
    ///
    /// # Errors
    /// Settings that the store refuses.
    pub(crate) async fn check(&self, wire: &Wire) -> Result<(), Fault> {
        if self.is_known(wire) {
            return Ok(());
        }
        let missed = self.missed.load(Ordering::SeqCst);
        let mut late = self.reading.lock().await;
        if self.is_known(wire)
            || self.missed.load(Ordering::SeqCst) != missed
            || late.is_some_and(|at| at.elapsed() < LATE_PAUSE)
        {
            return Ok(());
        }
        let breaks = wire.breaks().count();
        let cluster = self.options.cluster;
        let within = if cluster { READ_WITHIN } else { self.options.operation_timeout };
        match timeout(within, settings::read(wire, &self.options)).await {
            Ok(Ok(capabilities)) => {
                *self.capabilities.write().unwrap_or_else(PoisonError::into_inner) = capabilities;
                self.known.store(breaks, Ordering::SeqCst);
                return Ok(());
            }
            Ok(Err(refused @ Fault::Settings(_))) => return Err(refused),
            // Quickly known, so asked again before the next command: a master that was away may have come back with
            // other settings.
            Ok(Err(_)) => {}
            Err(_) => *late = cluster.then(Instant::now),
        }
        self.missed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// The same after a command was answered: whether by a server that nobody had looked at is only known now.
    ///
    /// # Errors
    /// [`Fault::Unchecked`]: the command was run by a server that the store refuses.
    pub(crate) async fn confirm(&self, wire: &Wire) -> Result<(), Fault> {
        match self.check(wire).await {
            Err(Fault::Settings(why)) => Err(Fault::Unchecked(why)),
            checked => checked,
        }
    }

    fn is_known(&self, wire: &Wire) -> bool {
        self.known.load(Ordering::SeqCst) == wire.breaks().count()
    }
}
