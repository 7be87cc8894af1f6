//! A clock kept in a table row. Every handle on the data uses it, in any process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::TestClock;
use holdover_store::time::Timestamp;

use super::schemas::Admin;

pub(super) struct RowClock(pub(super) Arc<Admin>);

#[async_trait]
impl TestClock for RowClock {
    async fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.now_ms().await)
    }

    async fn advance(&self, by: Duration) {
        self.0.advance(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)).await;
    }
}
