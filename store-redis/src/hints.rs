//! Change hints. Scripts publish them to a channel of their partition, and each handle listens on a connection of its
//! own. A hint only names what may have changed: a caller that only polls misses nothing.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::sync::{Arc, Weak};
use std::time::Duration;

use holdover_store::Watch;
use holdover_store::hints::{Change, Waiters};
use redis::{PushInfo, PushKind, Value};

use crate::ear::Ear;
use crate::keys::Keys;
use crate::options::RedisOptions;
use crate::wire::Listener;

/// The change hints that one handle listens to.
pub(crate) struct Hints {
    options: RedisOptions,
    channels: Vec<String>,
    changes: Arc<Changes>,
}

struct Changes {
    waiters: Waiters,
    ear: Ear<Listener>,
}

/// A connection that is being opened. When this value is dropped, even because the runtime of its task ended, the
/// next waiter may begin another.
struct Opening {
    changes: Weak<Changes>,
    number: u64,
}

impl Hints {
    pub(crate) fn new(options: RedisOptions, keys: &Keys) -> Self {
        let channels = keys.partitions().map(|partition| keys.hints(partition)).collect();
        let changes = Changes { waiters: Waiters::default(), ear: Ear::new() };
        Self { options, channels, changes: Arc::new(changes) }
    }

    /// Returns when the watched data may have changed, after `at_most` at the latest. If no hints can be heard,
    /// returns after `at_most`.
    pub(crate) async fn wait(&self, watch: &Watch, at_most: Duration) {
        let wait = self.changes.waiters.begin(watch);
        self.listen();
        wait.heard(at_most).await;
    }

    /// Opens the connection if it is closed. A task of its own opens it, so that it is opened once even if the first
    /// waits are short. Then all waiters are woken, because changes may have been missed before.
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
                // If it was lost before this point, the handler of the loss has woken all waiters.
                if changes.ear.open(number, listener) {
                    changes.waiters.tell_all();
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
    /// Handles a message that the connection of an opening received.
    fn hear(&self, push: PushInfo, number: u64) {
        match push.kind {
            PushKind::SMessage => match push.data.into_iter().nth(1) {
                Some(Value::BulkString(text)) => self.tell(std::str::from_utf8(&text).unwrap_or_default()),
                _ => self.waiters.tell_all(),
            },
            PushKind::Disconnection | PushKind::SUnsubscribe => {
                self.ear.close(number);
                self.waiters.tell_all();
            }
            _ => {}
        }
    }

    fn tell(&self, text: &str) {
        match Change::parse(text) {
            Some(change) => self.waiters.tell(&change),
            None => self.waiters.tell_all(),
        }
    }
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
