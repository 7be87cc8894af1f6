//! Access to the store's internals for test harnesses, behind the feature `test-access`.

use std::net::SocketAddr;
use std::sync::Arc;

use holdover_store::StoreError;
use sqlx::postgres::PgConnectOptions;

use crate::error::Fault;
use crate::options::PostgresOptions;
use crate::store::PostgresStore;

impl PostgresOptions {
    /// Replaces the server's clock. `expression` is SQL that yields milliseconds. It is evaluated at
    /// each place where it occurs in a statement.
    #[must_use]
    pub fn test_clock(mut self, expression: impl Into<String>) -> Self {
        self.clock = Some(expression.into());
        self
    }

    /// Sets another address of the same database, such as that of a proxy.
    #[must_use]
    pub fn test_address(mut self, address: SocketAddr) -> Self {
        self.connect = self.connect.host(&address.ip().to_string()).port(address.port());
        self
    }

    /// Returns the options of a bare connection to the database, for statements that bypass the store.
    pub fn test_connection(&self) -> PgConnectOptions {
        self.connect_options()
    }
}

impl PostgresStore {
    /// Returns true if this handle has no other clone.
    pub fn test_is_last(&self) -> bool {
        Arc::strong_count(&self.handle) == 1
    }

    /// Returns the store's error for a failed statement that bypassed the store and wrote.
    pub fn test_error(error: sqlx::Error, operation: &'static str) -> StoreError {
        Fault::from(error).of(operation, None, true)
    }
}
