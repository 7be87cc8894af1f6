//! Connections that only read. Each read sees one instant.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::Fault;
use crate::migration;
use crate::open::Connector;

/// Begins a transaction that sees what was committed when its first read began.
const BEGIN: &str = "BEGIN DEFERRED";
const END: &str = "COMMIT";

/// A bounded pool of connections that only read, opened when they are needed. Reads run on threads for blocking work.
/// Each read runs to its end, even if the future that waits for it is dropped.
pub(crate) struct Readers {
    connector: Arc<Connector>,
    free: Mutex<Vec<Connection>>,
    turns: Semaphore,
    most: u32,
    wait_max: Duration,
}

impl Readers {
    pub(crate) fn new(connector: Arc<Connector>) -> Arc<Self> {
        let (most, wait_max) =
            (connector.readers_max(), connector.busy_timeout().max(Duration::from_secs(1)));
        let turns = Semaphore::new(most as usize);
        Arc::new(Self { connector, free: Mutex::default(), turns, most, wait_max })
    }

    /// Runs `read` in one read transaction.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let turn = tokio::time::timeout(self.wait_max, self.turns.acquire()).await;
        let turn = match turn {
            Ok(Ok(turn)) => turn,
            Ok(Err(_)) => return Err(Fault::Closed),
            Err(_) => return Err(Fault::Unreachable("too many reads wait for a connection".into())),
        };
        // The thread gives the permit back, because it may outlive this future.
        turn.forget();
        let readers = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let found = readers.read_here(read);
            readers.turns.add_permits(1);
            found
        });
        done.await.unwrap_or(Err(Fault::Closed))
    }

    fn read_here<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let free = self.free().pop();
        let conn = match free {
            Some(conn) => conn,
            None => self.connector.connect_reader()?,
        };
        conn.prepare_cached(BEGIN)?.execute([])?;
        let found = migration::check(&conn).and_then(|()| read(&conn));
        let ended = conn.prepare_cached(END).and_then(|mut end| end.execute([])).is_ok();
        let tainted = found.as_ref().is_err_and(Fault::taints_connection);
        if ended && !tainted && conn.is_autocommit() && !self.turns.is_closed() {
            self.free().push(conn);
        }
        found
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes all connections, once the running reads are done.
    pub(crate) async fn close(&self) {
        if let Ok(all) = self.turns.acquire_many(self.most).await {
            all.forget();
        }
        self.turns.close();
        self.free().clear();
    }
}
