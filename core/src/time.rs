//! Instants on the store's clock. Core is told the time; it never asks.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant on the store's clock: whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Milliseconds, because every backend keeps them exactly (a Redis score is a double: exact to 2⁵³).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// The instant `ms` milliseconds after [`Timestamp::EPOCH`].
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since [`Timestamp::EPOCH`].
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// The instant `by` later, rounded down to a millisecond; the last instant there is, if beyond it.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long it is from `self` until `later`; zero if `later` has passed.
    pub fn until(self, later: Self) -> Duration {
        let ms = later.0.saturating_sub(self.0);
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// Where a store reads its clock. Core reads none: a store is given one when it is opened, a test gives
/// it one that it moves by hand.
pub trait Clock: Send + Sync + 'static {
    /// The instant now.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}
