//! A namespace that no store has opened yet, and scripts that bypass the store.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{OpenResult, Place, Tampering};
use holdover_store::StateStore;
use holdover_store::ids::SessionKey;
use holdover_store_redis::test_access::Layout;
use holdover_store_redis::{RedisOptions, RedisStore};

use super::{KeyClock, PARTITIONS};

const ADD_TO_FORMAT: &str = "return redis.call('HINCRBY', KEYS[1], 'format', ARGV[1])";

const UNKNOWN_STATUS: &str = "
assert(redis.call('EXISTS', KEYS[1]) == 1)
return redis.call('HSET', KEYS[1], 'status', 'asleep')";

/// The script that changes the last byte of the first message of a session. `KEYS[1]` is the session's row, whose key
/// has the same prefix as the message's.
const MESSAGE: &str = "
local life = redis.call('HGET', KEYS[1], 'life')
local messages = string.match(KEYS[1], '^%b{}') .. ':' .. life .. ':messages'
local sealed = redis.call('HGET', messages, '1')
local last = string.byte(sealed, -1)
return redis.call('HSET', messages, '1', string.sub(sealed, 1, -2) .. string.char((last + 1) % 256))";

pub(super) struct NamespacePlace {
    pub(super) clock: Arc<KeyClock>,
    pub(super) namespace: String,
    pub(super) options: RedisOptions,
}

impl NamespacePlace {
    async fn version(&self, by: &str) {
        self.clock.run(ADD_TO_FORMAT, &self.layout().meta(), &[by]).await;
    }

    async fn on(&self, key: &SessionKey, script: &str) {
        self.clock.run(script, &self.layout().row(key), &[]).await;
    }

    fn layout(&self) -> Layout {
        Layout::new(&self.namespace, PARTITIONS)
    }
}

#[async_trait]
impl Place for NamespacePlace {
    async fn open(&self) -> OpenResult {
        Ok(Arc::new(RedisStore::open(self.options.clone()).await?) as Arc<dyn StateStore>)
    }

    async fn open_as_it_is(&self) -> Option<OpenResult> {
        let opened = RedisStore::open(self.options.clone().as_it_is()).await;
        Some(opened.map(|store| Arc::new(store) as Arc<dyn StateStore>))
    }

    async fn tamper(&self, with: Tampering<'_>) {
        match with {
            Tampering::Newer => self.version("1").await,
            Tampering::NotNewer => self.version("-1").await,
            Tampering::UnknownStatus(key) => self.on(key, UNKNOWN_STATUS).await,
            Tampering::Message(key) => self.on(key, MESSAGE).await,
            _ => panic!("{with:?} is not known here"),
        }
    }

    async fn remove(&self) {
        self.clock.forget(&self.namespace).await;
    }
}
