//! Change hints: scripts publish to a channel of their partition, each handle listens on a connection of its own.
//! Only hints: whoever polls misses nothing.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use holdover_store::Watch;
use holdover_store::ids::{SessionId, SessionKey, TenantId};
use redis::{PushInfo, PushKind, Value};
use tokio::sync::broadcast;

use crate::ear::Ear;
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
    ear: Ear<Listener>,
}

/// An opening on its way. However it ends, also with the runtime of its task, the next who waits may begin another.
struct Opening {
    changes: Weak<Changes>,
    number: u64,
}

impl Hints {
    pub(crate) fn new(options: RedisOptions, keys: &Keys) -> Self {
        let channels = keys.partitions().map(|partition| keys.hints(partition)).collect();
        let changes = Changes { sender: broadcast::channel(HINTS_KEPT).0, ear: Ear::new() };
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
        let Some(number) = self.changes.ear.begin() else { return };
        let opening = Opening { changes: Arc::downgrade(&self.changes), number };
        tokio::spawn(opening.run(self.options.clone(), self.channels.clone()));
    }
}

impl Opening {
    async fn run(self, options: RedisOptions, channels: Vec<String>) {
        let (heard, number) = (Weak::clone(&self.changes), self.number);
        let hear = move |push: PushInfo| {
            if let Some(changes) = heard.upgrade() {
                changes.hear(push, number);
            }
            Ok::<(), redis::aio::SendError>(())
        };
        let opened = Listener::open(&options, hear, &channels).await;
        let Some(changes) = self.changes.upgrade() else { return };
        match opened {
            Ok(listener) => {
                // Or it was lost before it was told of; whoever lost it has woken all.
                if changes.ear.open(number, listener) {
                    changes.tell(Change::Anything);
                }
            }
            Err(error) => tracing::warn!(%error, "change hints cannot be heard; waiters poll"),
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(changes) = self.changes.upgrade() {
            changes.ear.give_up(self.number);
        }
    }
}

impl Changes {
    /// What the connection of an opening has heard.
    fn hear(&self, push: PushInfo, number: u64) {
        let change = match push.kind {
            PushKind::SMessage => match push.data.into_iter().nth(1) {
                Some(Value::BulkString(message)) => read(message.into()).unwrap_or(Change::Anything),
                _ => Change::Anything,
            },
            PushKind::Disconnection | PushKind::SUnsubscribe => {
                self.ear.close(number);
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

#[cfg(test)]
mod tests {
    use tokio::runtime::Runtime;

    use super::*;

    #[test]
    fn an_opening_that_ends_with_its_runtime_is_begun_again() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}", silent.local_addr().unwrap());
        let hints = Hints::new(RedisOptions::from_url(&url).unwrap(), &Keys::new("n", 1));
        let due = Watch::Due;
        let wait = || {
            let runtime = Runtime::new().unwrap();
            runtime.block_on(hints.wait(&due, Duration::from_millis(1)));
        };
        wait();
        assert_eq!(hints.changes.ear.begin(), Some(2), "the first has ended");
    }
}
