//! A file that nobody has opened, and SQL behind the store's back.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{OpenResult, Place, Tampering};
use holdover_store::StateStore;
use holdover_store::ids::SessionKey;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tempfile::TempDir;

use super::FILE;
use crate::migration::NEWEST;
use crate::options::SqliteOptions;
use crate::store::SqliteStore;

const UNKNOWN_STATUS: &str = "UPDATE session SET status = 'asleep' WHERE tenant = ? AND id = ?";
const MESSAGE: &str = "UPDATE message SET payload = CAST(x'00' || substr(payload, 2) AS BLOB) WHERE seq = 1 \
     AND sid = (SELECT sid FROM session WHERE tenant = ? AND id = ?)";

pub(super) struct FilePlace {
    pub(super) folder: TempDir,
    pub(super) options: SqliteOptions,
}

async fn open(options: SqliteOptions) -> OpenResult {
    Ok(Arc::new(SqliteStore::open(options).await?) as Arc<dyn StateStore>)
}

impl FilePlace {
    async fn on(&self, key: &SessionKey, sql: &'static str) {
        let mut conn = self.connect().await;
        let query = sqlx::query(sql).bind(key.tenant.as_str()).bind(key.id.as_str());
        let changed = query.execute(&mut conn).await.expect("the database obeys").rows_affected();
        assert_eq!(changed, 1, "{key} is there to be changed");
        conn.close().await.expect("it closes");
    }

    async fn set_version(&self, version: usize) {
        let mut conn = self.connect().await;
        let sql = AssertSqlSafe(format!("PRAGMA user_version = {version}"));
        sqlx::raw_sql(sql).execute(&mut conn).await.expect("the database obeys");
        conn.close().await.expect("it closes");
    }

    async fn connect(&self) -> sqlx::SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.folder.path().join(FILE));
        options.connect().await.expect("the file is there")
    }
}

#[async_trait]
impl Place for FilePlace {
    async fn open(&self) -> OpenResult {
        open(self.options.clone()).await
    }

    async fn open_as_it_is(&self) -> Option<OpenResult> {
        Some(open(self.options.clone().as_it_is()).await)
    }

    async fn tamper(&self, with: Tampering<'_>) {
        match with {
            Tampering::Newer => self.set_version(NEWEST + 1).await,
            Tampering::NotNewer => self.set_version(NEWEST).await,
            Tampering::UnknownStatus(key) => self.on(key, UNKNOWN_STATUS).await,
            Tampering::Message(key) => self.on(key, MESSAGE).await,
            _ => panic!("{with:?} is not known here"),
        }
    }
}
