//! A file that no store has opened yet, and SQL that bypasses the store.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{OpenResult, Place, Tampering};
use holdover_store::StateStore;
use holdover_store::ids::SessionKey;
use holdover_store_sqlite::rusqlite::Connection;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

use super::FILE;

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
    fn on(&self, key: &SessionKey, sql: &str) {
        let names = (key.tenant.as_str(), key.id.as_str());
        let changed = self.connect().execute(sql, names).expect("the database obeys");
        assert_eq!(changed, 1, "{key} is there to be changed");
    }

    /// Raises or lowers the schema version in the file.
    fn change_version(&self, by: i64) {
        let file = self.connect();
        let version = file.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
        let version = version.expect("a version") + by;
        file.pragma_update(None, "user_version", version).expect("the database obeys");
    }

    fn connect(&self) -> Connection {
        Connection::open(self.folder.path().join(FILE)).expect("the file is there")
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
            Tampering::Newer => self.change_version(1),
            Tampering::NotNewer => self.change_version(-1),
            Tampering::UnknownStatus(key) => self.on(key, UNKNOWN_STATUS),
            Tampering::Message(key) => self.on(key, MESSAGE),
            _ => panic!("{with:?} is not known here"),
        }
    }
}
