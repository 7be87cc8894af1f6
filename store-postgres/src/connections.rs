//! The connections of a handle. A connection is reused directly after its call.
//!
//! The pool checks each connection that is returned to it, which costs one exchange with the server for every
//! call. So a connection that is in order after its call is kept here. It is returned to the pool only after it
//! was idle for a while, or when the server's settings must be read again.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPool;
use sqlx::{PgConnection, Postgres};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::open::IDLE_TRUSTED;
use crate::server::Server;

/// The connections of a handle.
#[derive(Clone)]
pub(crate) struct Connections {
    pool: PgPool,
    /// A permit for each connection: the holder of a permit finds a connection here or in the pool.
    free: Arc<Semaphore>,
    kept: Arc<Mutex<Kept>>,
    server: Arc<Server>,
    wait_max: Duration,
}

#[derive(Default)]
struct Kept {
    idle: Vec<(PoolConnection<Postgres>, Instant)>,
    closed: bool,
}

/// A connection in use. If it is dropped, it is returned to the pool.
pub(crate) struct Conn {
    conn: PoolConnection<Postgres>,
    home: Connections,
    _free: OwnedSemaphorePermit,
}

impl Connections {
    pub(crate) fn new(pool: PgPool, server: Arc<Server>, wait_max: Duration) -> Self {
        let connections = usize::try_from(pool.options().get_max_connections()).unwrap_or(usize::MAX);
        let free = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
        Self { pool, free, kept: Arc::default(), server, wait_max }
    }

    /// Returns the maximum number of connections.
    pub(crate) fn most(&self) -> u32 {
        self.pool.options().get_max_connections()
    }

    /// Waits for a free connection. Fails after `wait_max`.
    pub(crate) async fn acquire(&self) -> Result<Conn, sqlx::Error> {
        let began = Instant::now();
        let free = tokio::time::timeout(self.wait_max, Arc::clone(&self.free).acquire_owned()).await;
        let free = free.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)?;
        let conn = match self.kept() {
            Some(conn) => conn,
            None => {
                let left = self.wait_max.saturating_sub(began.elapsed());
                let conn = tokio::time::timeout(left, self.pool.acquire()).await;
                conn.unwrap_or(Err(sqlx::Error::PoolTimedOut))?
            }
        };
        Ok(Conn { conn, home: self.clone(), _free: free })
    }

    /// Returns a connection that was used just now, if there is one.
    fn kept(&self) -> Option<PoolConnection<Postgres>> {
        let mut kept = self.lock();
        if self.server.is_to_be_asked() {
            // The pool then reads the server's settings again.
            kept.idle.clear();
        }
        let (conn, used) = kept.idle.pop()?;
        if used.elapsed() > IDLE_TRUSTED {
            // The others have been idle for longer still.
            kept.idle.clear();
            return None;
        }
        Some(conn)
    }

    /// Closes all connections, each when its call has ended.
    pub(crate) async fn close(&self) {
        {
            let mut kept = self.lock();
            kept.closed = true;
            kept.idle.clear();
        }
        self.pool.close().await;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A panic cannot leave the data half changed.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conn {
    /// Keeps a connection that is in order, so the next call can use it as it is.
    pub(crate) fn keep(self) {
        let Self { conn, home, _free } = self;
        let mut kept = home.lock();
        if !kept.closed {
            kept.idle.push((conn, Instant::now()));
        }
    }

    /// Closes the connection, because no call waits for the answers that may still arrive on it.
    pub(crate) fn forget(self) {
        drop(self.conn.detach());
    }
}

impl Deref for Conn {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.conn
    }
}

impl DerefMut for Conn {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.conn
    }
}
