//! Access to the store's internals for test harnesses, behind the feature `test-access`.

use std::fmt;

use holdover_store::StoreError;
use holdover_store::ids::SessionKey;

use crate::args::Args;
use crate::error::{Call, Fault};
use crate::keys::Keys;
use crate::options::RedisOptions;
use crate::script::{ClockSource, Script};
use crate::wire::Wire;

impl RedisOptions {
    /// Replaces the servers' clocks by the keys that [`Layout::clocks`] names. Each holds milliseconds as a
    /// decimal number, and must exist before the store is used.
    #[must_use]
    pub fn test_clock(mut self) -> Self {
        self.clock = ClockSource::Key;
        self
    }
}

/// The names of a store's keys.
#[derive(Debug, Clone)]
pub struct Layout {
    namespace: String,
    keys: Keys,
}

impl Layout {
    /// Returns the layout of a store with this number of partitions in `namespace`.
    pub fn new(namespace: &str, partitions: u16) -> Self {
        Self { namespace: namespace.to_owned(), keys: Keys::new(namespace, partitions) }
    }

    /// Returns the key of the store's fixed parameters: a hash with the field `format`.
    pub fn meta(&self) -> String {
        self.keys.of_store()
    }

    /// Returns the key of a session's row: a hash with the fields `status` and `life`.
    pub fn row(&self, key: &SessionKey) -> String {
        self.keys.row(key)
    }

    /// Returns the key of each partition's [`test_clock`](RedisOptions::test_clock).
    pub fn clocks(&self) -> Vec<String> {
        self.keys.partitions().map(|partition| format!("{}:clock", self.keys.tag(partition))).collect()
    }

    /// Returns the hash tags of all keys of the namespace: one for each partition, and one for the fixed parameters.
    pub fn tags(&self) -> Vec<String> {
        let partitions = self.keys.partitions().map(|partition| self.keys.tag(partition));
        partitions.chain([format!("{{{}}}", self.namespace)]).collect()
    }
}

/// A connection to the server or the cluster for scripts that bypass the store.
#[derive(Clone)]
pub struct Bypass(Wire);

impl Bypass {
    /// Connects to the server or cluster that the options name.
    ///
    /// # Errors
    /// Errors have the given `operation` and are those of the store's own writes.
    pub async fn connect(options: &RedisOptions, operation: &'static str) -> Result<Self, StoreError> {
        let connected = Wire::connect(options).await;
        connected.map(Self).map_err(|error| Fault::from(error).of(Call::Write, operation, None))
    }

    /// Runs a Lua script on the server that has `key`, with that key and these arguments.
    ///
    /// # Errors
    /// Errors have the given `operation` and are those of the store's own writes.
    pub async fn run(
        &self,
        script: &str,
        key: &str,
        arguments: &[&str],
        operation: &'static str,
    ) -> Result<(), StoreError> {
        let arguments = arguments.iter().fold(Args::default(), |all, one| all.text(one));
        let ran = self.0.run(&Script::plain(script), &[key], &arguments).await;
        ran.map(|_| ()).map_err(|fault| fault.of(Call::Write, operation, None))
    }
}

impl fmt::Debug for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bypass").finish_non_exhaustive()
    }
}
