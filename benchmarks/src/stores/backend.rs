//! The measured places: each with a Holdover store, and with bare access to the same backend.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdover::store::{PostgresOptions, PostgresStore, RedisOptions, RedisStore, SqliteStore, StateStore};
use tempfile::TempDir;
use uuid::Uuid;

use super::bare::Bare;
use crate::{Failed, Places, scene};

/// A place that is measured.
pub(crate) enum Place {
    /// A new file in this folder.
    Sqlite(PathBuf),
    /// A new schema in the database that the URL names.
    Postgres(String),
    /// A new namespace on the server or the cluster that the URL names.
    Redis(String),
}

impl Place {
    /// Returns SQLite, and each server that the arguments name.
    pub(crate) fn all(places: &Places) -> Vec<Self> {
        let redis = [&places.redis, &places.redis_cluster].into_iter().flatten();
        let postgres = places.postgres.iter().cloned().map(Self::Postgres);
        let sqlite = [Self::Sqlite(places.folder.clone())];
        sqlite.into_iter().chain(postgres).chain(redis.cloned().map(Self::Redis)).collect()
    }

    /// Returns the place that a URL names. `sqlite:FILE` stands for a new file in the folder of FILE.
    pub(crate) fn of(url: &str) -> Result<Self, Failed> {
        match url.split_once(':') {
            Some(("sqlite", file)) => {
                let folder = Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty());
                Ok(Self::Sqlite(folder.unwrap_or(Path::new(".")).to_owned()))
            }
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(url.to_owned())),
            Some((scheme, _)) if scheme.starts_with("redis") => Ok(Self::Redis(url.to_owned())),
            _ => Err(format!("--store: {url} names no store that is measured").into()),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
            Self::Redis(url) if url.starts_with("redis+cluster:") || url.starts_with("rediss+cluster:") => {
                "redis cluster"
            }
            Self::Redis(_) => "redis",
        }
    }
}

/// The sizes of the files that were written, in bytes. Both are 0 for a server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Files {
    pub(crate) store: u64,
    pub(crate) bare: u64,
}

/// An open place.
pub(crate) struct Backend {
    store: Arc<dyn StateStore>,
    opened: Opened,
    bare: Arc<Bare>,
}

enum Opened {
    Sqlite { store: SqliteStore, folder: TempDir },
    Postgres { store: PostgresStore },
    Redis,
}

impl Backend {
    pub(crate) async fn open(place: &Place) -> Result<Self, Failed> {
        match place {
            Place::Sqlite(folder) => {
                let folder = tempfile::tempdir_in(folder)?;
                let store = scene::open(folder.path()).await?;
                let bare = Bare::sqlite(folder.path(), &store.capabilities())?;
                Ok(Self::new(Arc::new(store.clone()), Opened::Sqlite { store, folder }, bare))
            }
            Place::Postgres(url) => {
                let schema = format!("benchmark_{}", Uuid::new_v4().simple());
                let store = PostgresStore::open(PostgresOptions::from_url(url)?.schema(&schema)?).await?;
                let bare = Bare::postgres(url, schema).await?;
                Ok(Self::new(Arc::new(store.clone()), Opened::Postgres { store }, bare))
            }
            Place::Redis(url) => {
                let namespace = format!("benchmark:{}", Uuid::new_v4().simple());
                let store = RedisStore::open(RedisOptions::from_url(url)?.namespace(&namespace)?).await?;
                let bare = Bare::redis(url, &namespace).await?;
                Ok(Self::new(Arc::new(store), Opened::Redis, bare))
            }
        }
    }

    fn new(store: Arc<dyn StateStore>, opened: Opened, bare: Bare) -> Self {
        Self { store, opened, bare: Arc::new(bare) }
    }

    pub(crate) fn store(&self) -> &Arc<dyn StateStore> {
        &self.store
    }

    pub(crate) fn bare(&self) -> &Arc<Bare> {
        &self.bare
    }

    /// Returns the number of bytes that the server stores: for Postgres those of the tables with their indexes, for
    /// Redis all memory. Returns 0 for SQLite.
    pub(crate) async fn server_bytes(&self) -> Result<u64, Failed> {
        self.bare.server_bytes().await
    }

    /// Returns the number of exchanges that the server has counted, including this one. Returns `None` if there is no
    /// server, or if there are several.
    pub(crate) async fn exchanges(&self) -> Result<Option<u64>, Failed> {
        self.bare.exchanges().await
    }

    /// Makes Postgres vacuum the tables of the store at once, as it does in the background after many writes. Does
    /// nothing for other backends.
    pub(crate) async fn settle(&self) -> Result<(), Failed> {
        self.bare.settle().await
    }

    /// Removes everything that was created. Returns the sizes of the files once everything is written back.
    pub(crate) async fn close(self) -> Result<Files, Failed> {
        match self.opened {
            Opened::Sqlite { store, folder } => {
                store.close().await;
                // The last handle writes its log back.
                drop(self.store);
                self.bare.remove().await?;
                drop(self.bare);
                let bytes =
                    |file: &str| Ok::<_, std::io::Error>(std::fs::metadata(folder.path().join(file))?.len());
                let files = Files { store: bytes("holdover.db")?, bare: bytes("raw.db")? };
                folder.close()?;
                Ok(files)
            }
            Opened::Postgres { store } => {
                store.close().await;
                self.bare.remove().await?;
                Ok(Files::default())
            }
            Opened::Redis => {
                self.bare.remove().await?;
                Ok(Files::default())
            }
        }
    }
}
