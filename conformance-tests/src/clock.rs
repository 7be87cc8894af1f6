//! The clock with which a case makes time pass.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::time::{Clock, Timestamp};

/// The clock of a store under test, wherever it is kept: in this process ([`VirtualClock`]), in a row of a
/// table, in a key. It stands still until it is advanced, and every handle on the data goes by it.
///
/// It panics when it cannot be reached: then nothing can be said about the store.
#[async_trait]
pub trait TestClock: Send + Sync {
    /// The instant that every operation asked from now on sees, until the next advance.
    async fn now(&self) -> Timestamp;

    /// Moves it on by `by`, to the millisecond. Once this returns, every handle sees it.
    async fn advance(&self, by: Duration);
}

/// Where a virtual clock starts: an instant like any other, in 2027.
const START_MS: i64 = 1_800_000_000_000;

/// A clock in this process that stands still until a case moves it, for stores that take a clock. A clone is the same
/// clock: give one to every handle on the same data, so that peers share it.
#[derive(Debug, Clone)]
pub struct VirtualClock {
    now_ms: Arc<AtomicI64>,
}

impl VirtualClock {
    /// A clock that stands still.
    pub fn new() -> Self {
        Self { now_ms: Arc::new(AtomicI64::new(START_MS)) }
    }

    /// Moves it on.
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

/// How time passes for the store under test.
#[derive(Clone)]
#[non_exhaustive]
pub enum ClockControl {
    /// As it does: cases wait, with leases of this length. Short, but long enough that no single
    /// operation of the backend takes a tenth of it.
    Real {
        /// The lease that cases ask for.
        lease: Duration,
    },
    /// When a case says so; nothing sleeps.
    Virtual(Arc<dyn TestClock>),
}

impl ClockControl {
    /// How far real time overshoots, so that what should have passed has passed by the store's clock too.
    const SLACK: Duration = Duration::from_millis(50);
    /// The lease under a virtual clock.
    const VIRTUAL_LEASE: Duration = Duration::from_secs(10);

    /// Time passes on `clock`, when a case says so.
    pub fn with(clock: impl TestClock + 'static) -> Self {
        Self::Virtual(Arc::new(clock))
    }

    /// The lease that cases ask for, and the unit in which they tell time.
    pub fn lease(&self) -> Duration {
        match self {
            Self::Real { lease } => *lease,
            Self::Virtual(_) => Self::VIRTUAL_LEASE,
        }
    }

    /// Lets `by` pass.
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
