//! The clock that a case uses to let time pass.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::time::{Clock, Timestamp};

/// The clock of a store under test, which may be kept in this process ([`VirtualClock`]), in a row of a table, or in a
/// key. It stands still until it is advanced, and every handle on the data uses it.
///
/// The methods panic if the clock cannot be reached, because then nothing can be said about the store.
#[async_trait]
pub trait TestClock: Send + Sync {
    /// Returns the current instant. Every operation sees this instant until the next advance.
    async fn now(&self) -> Timestamp;

    /// Advances the clock by `by`, in whole milliseconds. After this returns, every handle sees the new time.
    async fn advance(&self, by: Duration);
}

/// The instant at which a virtual clock starts, in 2027. Its value has no meaning.
const START_MS: i64 = 1_800_000_000_000;

/// A clock in this process that stands still until a case advances it, for stores that accept a clock. A clone is the
/// same clock: give a clone to every handle on the same data, so that peers share the time.
#[derive(Debug, Clone)]
pub struct VirtualClock {
    now_ms: Arc<AtomicI64>,
}

impl VirtualClock {
    /// Creates a clock that stands still.
    pub fn new() -> Self {
        Self { now_ms: Arc::new(AtomicI64::new(START_MS)) }
    }

    /// Advances the clock by `by`, in whole milliseconds.
    pub fn advance(&self, by: Duration) {
        let ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.now_ms.load(Ordering::SeqCst))
    }
}

#[async_trait]
impl TestClock for VirtualClock {
    async fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    async fn advance(&self, by: Duration) {
        Self::advance(self, by);
    }
}

/// The way in which time passes for the store under test.
#[derive(Clone)]
#[non_exhaustive]
pub enum ClockControl {
    /// Real time: cases sleep. Leases should be short, but long enough that every operation of the backend takes less
    /// than a tenth of a lease.
    Real {
        /// The duration of the leases that cases ask for.
        lease: Duration,
    },
    /// Virtual time: it passes only when a case advances the clock, and nothing sleeps.
    Virtual(Arc<dyn TestClock>),
}

impl ClockControl {
    /// The extra time to sleep in real time, so that `by` has passed on the store's clock too.
    const SLACK: Duration = Duration::from_millis(50);
    /// The lease under a virtual clock.
    const VIRTUAL_LEASE: Duration = Duration::from_secs(10);

    /// Returns control of the virtual clock `clock`.
    pub fn with(clock: impl TestClock + 'static) -> Self {
        Self::Virtual(Arc::new(clock))
    }

    /// Returns the duration of the leases that cases ask for. Cases also use it as their unit of time.
    pub fn lease(&self) -> Duration {
        match self {
            Self::Real { lease } => *lease,
            Self::Virtual(_) => Self::VIRTUAL_LEASE,
        }
    }

    /// Lets the duration `by` pass.
    pub async fn advance(&self, by: Duration) {
        match self {
            Self::Real { .. } => tokio::time::sleep(by + Self::SLACK).await,
            Self::Virtual(clock) => clock.advance(by).await,
        }
    }
}

impl fmt::Debug for ClockControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real { lease } => f.debug_struct("Real").field("lease", lease).finish(),
            Self::Virtual(_) => f.write_str("Virtual"),
        }
    }
}
