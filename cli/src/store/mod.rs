//! The store that `--store` names, of any kind.

mod keys;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod sqlite;
mod url;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::store::{StateStore, StoreError, StoreErrorKind};

use crate::exit::Failure;
#[cfg(not(feature = "postgres"))]
use crate::left_out::postgres;
#[cfg(not(feature = "redis"))]
use crate::left_out::redis;

pub(crate) use keys::{KEYS, Keys};
pub(crate) use url::{DEFAULT_STORE, Kind, StoreUrl, VARIABLE, forms};

/// The policy for a missing store, and for changes when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// The command adds data: a missing store is created.
    Create,
    /// The command changes data: a missing store is not created.
    Refuse,
    /// The command only reads: a missing store is not created, and nothing is changed, not even the schema.
    AsItIs,
}

/// An open store of any kind, used through [`StateStore`]. Payloads are encoded and decoded with the keys of this
/// process.
pub(crate) struct OpenStore {
    backend: Opened,
    keys: Keys,
    decoded: Arc<dyn StateStore>,
}

/// An open store of one kind, with its payloads as stored.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// Returns another handle of the store.
    fn shared(&self) -> Arc<dyn StateStore>;

    /// Returns the reason why this user cannot write the store, if any. Changes nothing.
    async fn unwritable(&self) -> Result<Option<String>, Failure>;

    /// Closes the store cleanly.
    async fn close(self: Box<Self>);
}

/// A store that was opened.
pub(crate) type Opened = Box<dyn Backend>;

impl OpenStore {
    /// Opens the store `url`.
    pub(crate) async fn open(url: &StoreUrl, if_missing: IfMissing) -> Result<Self, Failure> {
        let keys = Keys::from_environment()?;
        let backend = match url.kind()? {
            Kind::Sqlite(path) => sqlite::open(url, path, if_missing).await?,
            Kind::Postgres => postgres::open(url, if_missing).await?,
            Kind::Redis | Kind::RedisCluster => redis::open(url, if_missing).await?,
        };
        let decoded = keys.around(backend.shared());
        Ok(Self { backend, keys, decoded })
    }

    /// Returns another handle of the store for the runtime.
    pub(crate) fn shared(&self) -> Arc<dyn StateStore> {
        Arc::clone(&self.decoded)
    }

    /// Returns the store with its payloads as stored, without decoding.
    pub(crate) fn encoded(&self) -> Arc<dyn StateStore> {
        self.backend.shared()
    }

    /// Returns the keys of this process.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the reason why this user cannot write the store, if any. Changes nothing.
    pub(crate) async fn unwritable(&self) -> Result<Option<String>, Failure> {
        self.backend.unwritable().await
    }

    /// Returns the number of free bytes on the store's disk, if the store is a file and the number can be read.
    pub(crate) fn room(&self, url: &StoreUrl) -> Option<u64> {
        file_of(url).and_then(|path| holdover_store_sqlite::room(path).ok())
    }

    /// Closes the store cleanly.
    pub(crate) async fn close(self) {
        let Self { backend, keys: _, decoded } = self;
        drop(decoded);
        backend.close().await;
    }
}

impl Deref for OpenStore {
    type Target = dyn StateStore;

    fn deref(&self) -> &Self::Target {
        &*self.decoded
    }
}

/// Returns the file that `url` names, if it is a file.
pub(crate) fn file_of(url: &StoreUrl) -> Option<&Path> {
    match url.kind() {
        Ok(Kind::Sqlite(path)) => Some(path),
        Ok(Kind::Postgres | Kind::Redis | Kind::RedisCluster) | Err(_) => None,
    }
}

/// Returns the failure for a store that cannot be opened. An invalid argument is a wrong use.
pub(crate) fn refused(url: &StoreUrl, error: &StoreError) -> Failure {
    let line = format!("store {url}: {}", why(error));
    match error.kind {
        StoreErrorKind::InvalidArgument => Failure::wrong_use(line),
        StoreErrorKind::TooLarge
        | StoreErrorKind::NotFound
        | StoreErrorKind::Unsupported
        | StoreErrorKind::Corrupt
        | StoreErrorKind::KeyMissing
        | StoreErrorKind::Newer
        | StoreErrorKind::Unavailable
        | StoreErrorKind::Full
        | StoreErrorKind::Backend => Failure::failed(line),
    }
}

/// Returns the failure for a URL that its kind of store does not understand.
fn wrong(url: &StoreUrl, error: &StoreError) -> Failure {
    Failure::wrong_use(format!("store {url}: {}", why(error)))
}

/// Returns the message of a store error without the prefix that names the store.
fn why(error: &StoreError) -> String {
    let line = error.to_string();
    let line = line.strip_prefix("store: open: ").unwrap_or(&line);
    line.strip_prefix("invalid argument: ").unwrap_or(line).to_owned()
}
