//! Change hints: scripts publish to a channel of their partition, each handle listens on a connection of its own.
//! Only hints: whoever polls misses nothing.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use holdover_core::ids::{SessionId, SessionKey, TenantId};
use holdover_core::store::Watch;
use redis::{PushInfo, PushKind, RedisResult, Value};
use tokio::sync::{Mutex, broadcast};

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
    /// Nobody knows what: the connection was lost.
    Anything,
}

/// The hints that one handle hears.
pub(crate) struct Hints {
    options: RedisOptions,
    keys: Keys,
    changes: Arc<Changes>,
    /// Opened by the first who waits.
    listener: Mutex<Option<Listener>>,
}

struct Changes {
    sender: broadcast::Sender<Change>,
    /// The connection was lost: it must be opened anew.
    lost: AtomicBool,
}

impl Hints {
    pub(crate) fn new(options: RedisOptions, keys: Keys) -> Self {
        let changes = Changes { sender: broadcast::channel(HINTS_KEPT).0, lost: AtomicBool::new(false) };
        Self { options, keys, changes: Arc::new(changes), listener: Mutex::new(None) }
    }

    /// Returns when what is watched may have changed, at the latest after `at_most`. Where nothing can be heard it
    /// waits as long as whoever polls.
    pub(crate) async fn wait(&self, watch: &Watch, at_most: Duration) {
        let mut changes = self.changes.sender.subscribe();
        let changed = async {
            match self.listen().await {
                // It may have changed while nobody listened.
                Ok(Heard::FromNow) => return,
                Ok(Heard::Before) => {}
                Err(error) => {
                    tracing::warn!(%error, "change hints cannot be heard; waiters poll");
                    std::future::pending::<()>().await;
                }
            }
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

    async fn listen(&self) -> RedisResult<Heard> {
        let mut listener = self.listener.lock().await;
        if listener.is_some() && !self.changes.lost.swap(false, Ordering::AcqRel) {
            return Ok(Heard::Before);
        }
        *listener = None;
        let changes = Arc::clone(&self.changes);
        let channels: Vec<String> =
            self.keys.partitions().map(|partition| self.keys.hints(partition)).collect();
        let hear = move |push: PushInfo| {
            changes.hear(push);
            Ok::<(), redis::aio::SendError>(())
        };
        *listener = Some(Listener::open(&self.options, hear, &channels).await?);
        Ok(Heard::FromNow)
    }
}

/// Since when a waiter's changes are heard.
enum Heard {
    /// Since before it began to wait.
    Before,
    /// Only from now on.
    FromNow,
}

impl Changes {
    fn hear(&self, push: PushInfo) {
        let change = match push.kind {
            PushKind::SMessage => match push.data.into_iter().nth(1) {
                Some(Value::BulkString(message)) => read(message.into()).unwrap_or(Change::Anything),
                _ => Change::Anything,
            },
            PushKind::Disconnection | PushKind::SUnsubscribe => {
                self.lost.store(true, Ordering::Release);
                Change::Anything
            }
            _ => return,
        };
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
