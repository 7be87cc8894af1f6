//! The places that are measured: a store of ours, and the way to the same place without it.

use std::path::PathBuf;
use std::sync::Arc;

use holdover::{PostgresOptions, PostgresStore, RedisOptions, RedisStore, SqliteStore, StateStore};
use tempfile::TempDir;
use uuid::Uuid;

use super::bare::Bare;
use crate::{Failed, Settings, scene};

/// A place that is measured.
pub(super) enum Place {
    /// A new file in this folder.
    Sqlite(PathBuf),
    /// A new schema in the database that the URL names.
    Postgres(String),
    /// A new namespace on the server or the cluster that the URL names.
    Redis(String),
}

impl Place {
    /// SQLite, and what the settings name.
    pub(super) fn all(settings: &Settings) -> Vec<Self> {
        let redis = [&settings.redis, &settings.redis_cluster].into_iter().flatten();
        let postgres = settings.postgres.iter().cloned().map(Self::Postgres);
        let sqlite = [Self::Sqlite(settings.folder.clone())];
        sqlite.into_iter().chain(postgres).chain(redis.cloned().map(Self::Redis)).collect()
    }

    pub(super) fn name(&self) -> &'static str {
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

/// An open place.
pub(super) struct Backend {
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
    pub(super) async fn open(place: &Place) -> Result<Self, Failed> {
        match place {
            Place::Sqlite(folder) => {
                let folder = tempfile::tempdir_in(folder)?;
                let store = scene::open(folder.path()).await?;
                let bare = Bare::sqlite(folder.path(), &store.capabilities()).await?;
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

    pub(super) fn store(&self) -> &Arc<dyn StateStore> {
        &self.store
    }

    pub(super) fn bare(&self) -> &Arc<Bare> {
        &self.bare
    }

    /// Removes what was made. Of a namespace of Redis its few keys without sessions stay.
    pub(super) async fn close(self) -> Result<(), Failed> {
        match self.opened {
            Opened::Sqlite { store, folder } => {
                store.close().await;
                self.bare.remove().await?;
                Ok(folder.close()?)
            }
            Opened::Postgres { store } => {
                store.close().await;
                self.bare.remove().await
            }
            Opened::Redis => self.bare.remove().await,
        }
    }
}
