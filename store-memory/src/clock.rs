//! The system clock as the store's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use holdover_store::time::{Clock, Timestamp};

/// The clock of the machine that this process runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::EPOCH.after(since)
    }
}
