//! The store that `--store` names, of any kind.

mod file;
mod keys;
mod url;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use holdover_core::store::{StateStore, StoreError, StoreErrorKind};
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use holdover_store_redis::{RedisOptions, RedisStore};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};

use crate::exit::Failure;

pub(crate) use keys::{KEYS, Keys};
pub(crate) use url::{DEFAULT_STORE, Kind, StoreUrl, VARIABLE};

/// The name of this program for the administrators of a server.
const APPLICATION: &str = "holdover";

/// The changes that opening may make to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// The command adds data: a missing store is created.
    Create,
    /// The command changes data: a missing store is not created.
    Refuse,
    /// The command only reads: nothing may be changed, not even the schema.
    AsItIs,
}

/// An open store of any kind. It is used through [`StateStore`], with its payloads decoded by the keys that
/// are here.
pub(crate) struct OpenStore {
    backend: Backend,
    keys: Keys,
    decoded: Arc<dyn StateStore>,
}

/// The kind of a store.
enum Backend {
    /// A file.
    Sqlite(SqliteStore),
    /// A schema of a database.
    Postgres(PostgresStore),
    /// A namespace of a server or a cluster.
    Redis(RedisStore),
}

impl OpenStore {
    /// Opens the store `url`.
    pub(crate) async fn open(url: &StoreUrl, if_missing: IfMissing) -> Result<Self, Failure> {
        let keys = Keys::from_environment()?;
        let backend = Backend::open(url, if_missing).await?;
        let decoded = keys.around(backend.shared());
        Ok(Self { backend, keys, decoded })
    }

    /// Returns the same store for the runtime.
    pub(crate) fn shared(&self) -> Arc<dyn StateStore> {
        Arc::clone(&self.decoded)
    }

    /// Returns the store with its payloads as they are kept.
    pub(crate) fn encoded(&self) -> Arc<dyn StateStore> {
        self.backend.shared()
    }

    /// The keys that are here.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns why this user cannot write the store, if so. Changes nothing.
    pub(crate) async fn unwritable(&self, url: &StoreUrl) -> Result<Option<String>, Failure> {
        self.backend.unwritable(url).await
    }

    /// Returns the number of free bytes on the store's disk, if the store is a file on this machine.
    pub(crate) fn room(&self, url: &StoreUrl) -> Option<u64> {
        file_of(url).and_then(|path| holdover_store_sqlite::room(path).ok())
    }

    /// Closes the store in good order.
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

impl Backend {
    async fn open(url: &StoreUrl, if_missing: IfMissing) -> Result<Self, Failure> {
        let wrong = |error: StoreError| Failure::wrong_use(format!("store {url}: {}", why(&error)));
        let opened = match url.kind()? {
            Kind::Sqlite(path) => {
                let options = SqliteOptions::from_url(url.secret()).map_err(wrong)?;
                let options = of_file(url, options, path, if_missing)?;
                SqliteStore::open(options).await.map(Self::Sqlite)
            }
            Kind::Postgres => {
                let options =
                    PostgresOptions::from_url(url.secret()).map_err(wrong)?.application(APPLICATION);
                let options = match if_missing {
                    IfMissing::Create => options,
                    IfMissing::Refuse => options.must_exist(),
                    IfMissing::AsItIs => options.as_it_is(),
                };
                PostgresStore::open(options).await.map(Self::Postgres)
            }
            Kind::Redis | Kind::RedisCluster => {
                let options = RedisOptions::from_url(url.secret()).map_err(wrong)?;
                let options = match if_missing {
                    IfMissing::Create => options,
                    IfMissing::Refuse => options.must_exist(),
                    IfMissing::AsItIs => options.as_it_is(),
                };
                RedisStore::open(options).await.map(Self::Redis)
            }
        };
        opened.map_err(|error| refused(url, &error))
    }

    fn shared(&self) -> Arc<dyn StateStore> {
        match self {
            Self::Sqlite(store) => Arc::new(store.clone()),
            Self::Postgres(store) => Arc::new(store.clone()),
            Self::Redis(store) => Arc::new(store.clone()),
        }
    }

    async fn unwritable(&self, url: &StoreUrl) -> Result<Option<String>, Failure> {
        match self {
            Self::Sqlite(_) => Ok(file_of(url).and_then(holdover_store_sqlite::unwritable)),
            Self::Postgres(store) => Ok(store.unwritable().await?),
            Self::Redis(store) => Ok(store.unwritable().await?),
        }
    }

    async fn close(self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
            // Every call has its answer; the connections go with the last handle.
            Self::Redis(store) => drop(store),
        }
    }
}

fn of_file(
    url: &StoreUrl,
    options: SqliteOptions,
    path: &Path,
    if_missing: IfMissing,
) -> Result<SqliteOptions, Failure> {
    let must_be_there =
        || file::must_hold_something(path).map_err(|why| Failure::failed(format!("store {url}: {why}")));
    match if_missing {
        IfMissing::Create => Ok(options),
        IfMissing::Refuse => must_be_there().map(|()| options),
        IfMissing::AsItIs => must_be_there().map(|()| options.as_it_is()),
    }
}

/// Returns the file that `url` names, if it names one.
pub(crate) fn file_of(url: &StoreUrl) -> Option<&Path> {
    match url.kind() {
        Ok(Kind::Sqlite(path)) => Some(path),
        Ok(Kind::Postgres | Kind::Redis | Kind::RedisCluster) | Err(_) => None,
    }
}

/// The failure of a store that does not open. If the URL asks for something impossible, it is an error of
/// use.
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

/// Returns the error of a store without the store's own name.
fn why(error: &StoreError) -> String {
    let line = error.to_string();
    let line = line.strip_prefix("store: open: ").unwrap_or(&line);
    line.strip_prefix("invalid argument: ").unwrap_or(line).to_owned()
}
