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

/// The time in which all masters of a cluster must report their settings. A master that hangs delays calls to other
/// masters by no more than this.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// The pause in which the settings are not read again, after a master of a cluster took longer than [`READ_WITHIN`].
/// A single server delays only its own calls, so it is always asked.
const LATE_PAUSE: Duration = Duration::from_secs(5);

/// Counts breaks: events after which another server may answer, or the same one with other settings. Examples are a
/// lost connection, a slot that moved, and a master that became a replica.
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

/// The promises of the servers when their settings were last read, and the break count up to which they hold.
pub(crate) struct Trust {
    options: RedisOptions,
    capabilities: RwLock<Capabilities>,
    known: AtomicU64,
    /// The number of times that the settings could not be read.
    missed: AtomicU64,
    /// Held while one task reads the settings for all. Holds the last instant at which a master of the cluster
    /// took too long to report them.
    reading: Mutex<Option<Instant>>,
}

impl Trust {
    /// Creates the state after the capabilities were read, at break count `breaks`.
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

    /// Reads the settings of the servers that answer now, if a break happened since they were last read. If they
    /// cannot be read, this succeeds: the command itself then fails in its own way, and they are read before the
    /// next command.
    ///
    /// # Errors
    /// Fails if the store refuses the settings.
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
            // The failure came quickly, so the next command asks again: a master that was away may have come back
            // with other settings.
            Ok(Err(_)) => {}
            Err(_) => *late = cluster.then(Instant::now),
        }
        self.missed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Checks again after a command was answered, because only then is it known whether an unchecked server
    /// answered.
    ///
    /// # Errors
    /// [`Fault::Unchecked`]: a server that the store refuses ran the command.
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
