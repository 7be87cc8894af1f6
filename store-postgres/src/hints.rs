//! Change hints by `NOTIFY`. A hint carries no data: a caller that only polls misses nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdover_store::Watch;
use holdover_store::hints::{Change, Named, Waiters};
use holdover_store::payload::Digest;
use sqlx::postgres::{PgListener, PgPool, PgRow};
use tokio::sync::{Notify, OnceCell};

use crate::call::{Call, Caller};
use crate::error::Fault;
use crate::sql::{Schema, Sql, push};

/// The time that the listener waits before it tries to reach a lost server again.
const RETRY_EVERY: Duration = Duration::from_millis(200);

/// The time for which less urgent changes are gathered. So their commits do not wait for the server-wide lock that a
/// notification takes.
const GATHERED: Duration = Duration::from_millis(10);

/// The number of changes in one notification, which must have less than 8000 bytes.
const CHANGES_MAX: usize = 250;

/// Returns the name of the channel for changes of a schema.
pub(crate) fn channel(schema: &Schema) -> String {
    format!("holdover_{:.16}", Digest::of(schema.name().as_bytes()).to_string())
}

/// The change hints of a handle. It announces its own changes, and listens for others from the first wait on.
pub(crate) struct Hints {
    /// The pool of the listener's own connection. None if the handle does not listen.
    pool: Option<PgPool>,
    channel: Arc<str>,
    waiters: Waiters,
    listener: OnceCell<Task>,
    caller: Caller,
    teller: OnceCell<Task>,
    gathered: Arc<Gathered>,
}

/// Changes that are not announced yet.
#[derive(Default)]
struct Gathered {
    changes: Mutex<HashMap<Named, Change>>,
    more: Notify,
}

/// A task that is aborted when its handle is dropped.
struct Task(tokio::task::AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Hints {
    pub(crate) fn new(pool: Option<PgPool>, channel: Arc<str>, caller: Caller) -> Self {
        Self {
            pool,
            channel,
            waiters: Waiters::default(),
            listener: OnceCell::new(),
            caller,
            teller: OnceCell::new(),
            gathered: Arc::default(),
        }
    }

    /// Returns when the watched data may have changed, after `at_most` at the latest.
    pub(crate) async fn wait(&self, watch: &Watch, at_most: Duration) {
        let Some(pool) = &self.pool else { return tokio::time::sleep(at_most).await };
        if self.listener.initialized() {
            return self.waiters.wait(watch, at_most).await;
        }
        // Changes from before the listener listened were missed, so this call returns, and the caller reads the
        // store.
        let listens = self.listener.get_or_init(|| listener(pool, &self.channel, &self.waiters));
        let _ = tokio::time::timeout(at_most, listens).await;
    }

    /// Announces a change of this handle that the statement of the write has not announced.
    pub(crate) async fn tell(&self, change: Change) {
        self.waiters.tell(&change);
        if self.caller.names.channel.is_none() {
            return;
        }
        self.gathered.changes.lock().unwrap_or_else(PoisonError::into_inner).insert(change.session, change);
        self.gathered.more.notify_one();
        self.teller.get_or_init(async || self.teller()).await;
    }

    /// Starts the task that announces gathered changes.
    fn teller(&self) -> Task {
        let (caller, gathered, channel) =
            (self.caller.clone(), Arc::clone(&self.gathered), self.channel.clone());
        let task = tokio::spawn(async move {
            loop {
                gathered.more.notified().await;
                tokio::time::sleep(GATHERED).await;
                let changes =
                    std::mem::take(&mut *gathered.changes.lock().unwrap_or_else(PoisonError::into_inner));
                let changes: Vec<Change> = changes.into_values().collect();
                for changes in changes.chunks(CHANGES_MAX) {
                    let tell = Tell { channel: channel.clone(), payload: payload(changes) };
                    if let Err(error) = caller.call(tell).await {
                        tracing::debug!(%error, "others were not told of changes");
                    }
                }
            }
        });
        Task(task.abort_handle())
    }

    pub(crate) async fn close(&self) {
        for task in [&self.listener, &self.teller].into_iter().filter_map(|task| task.get()) {
            task.0.abort();
        }
        if let Some(pool) = &self.pool {
            pool.close().await;
        }
    }
}

/// Starts the task that listens. Returns when it listens for the first time.
async fn listener(pool: &PgPool, channel: &Arc<str>, waiters: &Waiters) -> Task {
    let (listens, mut ready) = tokio::sync::watch::channel(false);
    let (pool, channel, waiters) = (pool.clone(), channel.clone(), waiters.clone());
    let task = tokio::spawn(async move {
        loop {
            if let Err(error) = listen(&pool, &channel, &waiters, &listens).await {
                tracing::debug!(%error, "the listener for changes is away");
            }
            // Changes may have been missed meanwhile.
            waiters.tell_all();
            if pool.is_closed() {
                return;
            }
            tokio::time::sleep(RETRY_EVERY).await;
        }
    });
    let task = Task(task.abort_handle());
    // Fails only if the task has ended.
    let _ = ready.wait_for(|ready| *ready).await;
    task
}

/// Listens until the connection is lost.
async fn listen(
    pool: &PgPool,
    channel: &str,
    waiters: &Waiters,
    listens: &tokio::sync::watch::Sender<bool>,
) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.ignore_pool_close_event(false);
    listener.eager_reconnect(false);
    listener.listen(channel).await?;
    listens.send_replace(true);
    waiters.tell_all();
    while let Some(notification) = listener.try_recv().await? {
        for change in notification.payload().split(',') {
            match Change::parse(change) {
                Some(change) => waiters.tell(&change),
                None => waiters.tell_all(),
            }
        }
    }
    Ok(())
}

/// Returns the text of a notification about these changes.
pub(crate) fn payload(changes: &[Change]) -> String {
    changes.iter().map(Change::to_string).collect::<Vec<_>>().join(",")
}

/// A call that notifies all listeners.
struct Tell {
    channel: Arc<str>,
    payload: String,
}

impl Call for Tell {
    type Outcome = ();

    fn operation(&self) -> &'static str {
        "tell"
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let (channel, payload) = (sql.bind(&*self.channel), sql.bind(self.payload.as_str()));
        push!(sql, "SELECT pg_notify({channel}, {payload}) IS NULL");
    }

    fn answer(&self, _rows: &[PgRow]) -> Result<(), Fault> {
        Ok(())
    }
}
