//! Change hints: scripts publish to a channel of their partition, each handle listens on a connection of its own.
//! Only hints: whoever polls misses nothing.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use holdover_core::ids::{SessionId, SessionKey, TenantId};
use holdover_core::store::Watch;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::broadcast;

use crate::error::Fault;
use crate::keys::Keys;
use crate::options::RedisOptions;
use crate::reply::{self, Packed};
use crate::wire::Listener;

/// A waiter that falls further behind is woken for nothing.
const HINTS_KEPT: usize = 1024;

/// Something changed.
#[derive(Debug, Clone)]
enum Change {
    /// This session, and whether it is due now.
    Session(SessionKey, bool),
    /// Nobody knows what: the connection was lost, or listens only from now on.
    Anything,
}

/// The hints that one handle hears.
pub(crate) struct Hints {
    options: RedisOptions,
    channels: Vec<String>,
    changes: Arc<Changes>,
}

struct Changes {
    sender: broadcast::Sender<Change>,
    ear: Mutex<Ear>,
}

/// The connection that listens. The first who waits opens it.
enum Ear {
    Closed,
    Opening,
    Open(#[expect(dead_code, reason = "it listens as long as it lives")] Listener),
}

impl Hints {
    pub(crate) fn new(options: RedisOptions, keys: &Keys) -> Self {
        let channels = keys.partitions().map(|partition| keys.hints(partition)).collect();
        let changes = Changes { sender: broadcast::channel(HINTS_KEPT).0, ear: Mutex::new(Ear::Closed) };
        Self { options, channels, changes: Arc::new(changes) }
    }

    /// Returns when what is watched may have changed, at the latest after `at_most`. Where nothing can be heard it
    /// waits as long as whoever polls.
    pub(crate) async fn wait(&self, watch: &Watch, at_most: Duration) {
        let mut changes = self.changes.sender.subscribe();
        self.listen();
        let changed = async {
            while let Ok(change) = changes.recv().await {
                let wanted = match (watch, change) {
                    (_, Change::Anything) => true,
                    (Watch::Session(key), Change::Session(changed, _)) => *key == changed,
                    (Watch::Due, Change::Session(_, due)) => due,
                };
                if wanted {
                    return;
                }
            }
        };
        // Running out of time is an answer like any other.
        let _ = tokio::time::timeout(at_most, changed).await;
    }

    /// Opens the connection if it is not open, in a task of its own: however short the first waits are, it is opened
    /// once. Then whoever waits is woken, since what it waits for may have changed while nobody listened.
    fn listen(&self) {
        let mut ear = self.changes.ear();
        if !matches!(*ear, Ear::Closed) {
            return;
        }
        *ear = Ear::Opening;
        let (options, channels) = (self.options.clone(), self.channels.clone());
        let changes = Arc::downgrade(&self.changes);
        tokio::spawn(async move {
            let heard = Weak::clone(&changes);
            let hear = move |push: PushInfo| {
                if let Some(changes) = heard.upgrade() {
                    changes.hear(push);
                }
                Ok::<(), redis::aio::SendError>(())
            };
            let opened = Listener::open(&options, hear, &channels).await;
            let Some(changes) = changes.upgrade() else { return };
            let mut ear = changes.ear();
            match opened {
                // Lost before it was told of.
                Ok(_) if matches!(*ear, Ear::Closed) => {}
                Ok(listener) => *ear = Ear::Open(listener),
                Err(error) => {
                    *ear = Ear::Closed;
                    tracing::warn!(%error, "change hints cannot be heard; waiters poll");
                    return;
                }
            }
            drop(ear);
            changes.tell(Change::Anything);
        });
    }
}

impl Changes {
    fn ear(&self) -> MutexGuard<'_, Ear> {
        self.ear.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, push: PushInfo) {
        let change = match push.kind {
            PushKind::SMessage => match push.data.into_iter().nth(1) {
                Some(Value::BulkString(message)) => read(message.into()).unwrap_or(Change::Anything),
                _ => Change::Anything,
            },
            PushKind::Disconnection | PushKind::SUnsubscribe => {
                let lost = std::mem::replace(&mut *self.ear(), Ear::Closed);
                drop(lost);
                Change::Anything
            }
            _ => return,
        };
        self.tell(change);
    }

    fn tell(&self, change: Change) {
        // Fails when nobody waits, which is fine.
        let _ = self.sender.send(change);
    }
}

fn read(message: Bytes) -> Result<Change, Fault> {
    let mut packed = Packed::new(message);
    let tenant = reply::id::<TenantId>(&packed.next()?)?;
    let id = reply::id::<SessionId>(&packed.next()?)?;
    Ok(Change::Session(SessionKey::new(tenant, id), packed.next()?.as_ref() == b"1"))
}
