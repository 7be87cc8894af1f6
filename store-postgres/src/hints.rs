//! Change hints by `NOTIFY`. Only hints: whoever polls misses nothing.

use std::sync::Arc;
use std::time::Duration;

use holdover_store::Watch;
use holdover_store::ids::SessionKey;
use holdover_store::payload::Digest;
use sqlx::postgres::{PgListener, PgPool};
use tokio::sync::{OnceCell, broadcast};

use crate::sql::Schema;

/// A waiter that falls further behind is woken for nothing.
const HINTS_KEPT: usize = 1024;

/// How long the listener waits before it tries again to reach a server that is away.
const RETRY_EVERY: Duration = Duration::from_millis(200);

/// Where the changes of a schema are told.
pub(crate) fn channel(schema: &Schema) -> String {
    format!("holdover_{:.16}", Digest::of(schema.name().as_bytes()).to_string())
}

/// The hints that a handle listens to, from the first time that somebody waits for one.
pub(crate) struct Hints {
    /// The listener's own connection; none if it does not listen.
    pool: Option<PgPool>,
    channel: Arc<str>,
    listener: OnceCell<Listener>,
}

/// The task that listens, and those who wait.
struct Listener {
    changes: broadcast::Sender<Arc<str>>,
    task: tokio::task::AbortHandle,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hints {
    pub(crate) fn new(pool: Option<PgPool>, channel: Arc<str>) -> Self {
        Self { pool, channel, listener: OnceCell::new() }
    }

    /// Returns when what is watched may have changed, at the latest after `at_most`.
    pub(crate) async fn wait(&self, watch: &Watch, at_most: Duration) {
        let Some(pool) = &self.pool else { return tokio::time::sleep(at_most).await };
        let changed = async {
            let Some(listener) = self.listener.get() else {
                // What changed before it listened, it has not heard: the caller looks again.
                self.listener.get_or_init(|| Listener::start(pool, &self.channel)).await;
                return;
            };
            listener.wait(watch).await;
        };
        // Running out of time is an answer like any other.
        let _ = tokio::time::timeout(at_most, changed).await;
    }

    pub(crate) async fn close(&self) {
        if let Some(listener) = self.listener.get() {
            listener.task.abort();
        }
        if let Some(pool) = &self.pool {
            pool.close().await;
        }
    }
}

impl Listener {
    /// Starts the task; returns when it listens for the first time.
    async fn start(pool: &PgPool, channel: &Arc<str>) -> Self {
        let changes = broadcast::channel(HINTS_KEPT).0;
        let (listens, mut ready) = tokio::sync::watch::channel(false);
        let (pool, channel, tell) = (pool.clone(), channel.clone(), changes.clone());
        let task = tokio::spawn(async move {
            loop {
                if let Err(error) = listen(&pool, &channel, &tell, &listens).await {
                    tracing::debug!(%error, "the listener for changes is away");
                }
                // Nobody knows what changed meanwhile.
                let _ = tell.send(EVERYTHING.into());
                if pool.is_closed() {
                    return;
                }
                tokio::time::sleep(RETRY_EVERY).await;
            }
        });
        let listener = Self { changes, task: task.abort_handle() };
        // Fails only if the task has ended.
        let _ = ready.wait_for(|ready| *ready).await;
        listener
    }

    async fn wait(&self, watch: &Watch) {
        let mut changes = self.changes.subscribe();
        let wanted = match watch {
            Watch::Session(key) => digest(key),
            Watch::Due => DUE.to_owned(),
        };
        while let Ok(change) = changes.recv().await {
            if *change == *EVERYTHING || change.contains(&wanted) {
                return;
            }
        }
    }
}

const EVERYTHING: &str = "everything";
const DUE: &str = "due ";

/// Listens until the connection is lost.
async fn listen(
    pool: &PgPool,
    channel: &str,
    tell: &broadcast::Sender<Arc<str>>,
    listens: &tokio::sync::watch::Sender<bool>,
) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.ignore_pool_close_event(false);
    listener.eager_reconnect(false);
    listener.listen(channel).await?;
    listens.send_replace(true);
    let _ = tell.send(EVERYTHING.into());
    while let Some(notification) = listener.try_recv().await? {
        // Fails when nobody waits, which is fine.
        let _ = tell.send(notification.payload().into());
    }
    Ok(())
}

/// What is told of a session.
pub(crate) fn payload(key: &SessionKey, due: bool) -> String {
    format!("{}{}", if due { DUE } else { "changed " }, digest(key))
}

/// The name of a session in a hint: as short as it may be.
fn digest(key: &SessionKey) -> String {
    let name = format!("{}\0{}", key.tenant, key.id);
    format!("{:.16}", Digest::of(name.as_bytes()).to_string())
}
