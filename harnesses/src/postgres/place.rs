//! A schema that no store has opened yet, and SQL that bypasses the store.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_conformance_tests::{OpenResult, Place, Tampering};
use holdover_store::StateStore;
use holdover_store::ids::SessionKey;
use holdover_store_postgres::{PostgresOptions, PostgresStore};

use super::schemas::Admin;

pub(super) struct SchemaPlace {
    pub(super) admin: Arc<Admin>,
    pub(super) schema: String,
    pub(super) options: PostgresOptions,
}

async fn open(options: PostgresOptions) -> OpenResult {
    Ok(Arc::new(PostgresStore::open(options).await?) as Arc<dyn StateStore>)
}

/// Returns the SQL condition that selects a session by its key. The cases choose keys that need no escaping.
fn of(key: &SessionKey) -> String {
    format!("tenant = '{}' AND id = '{}'", key.tenant, key.id)
}

#[async_trait]
impl Place for SchemaPlace {
    async fn open(&self) -> OpenResult {
        open(self.options.clone()).await
    }

    async fn open_as_it_is(&self) -> Option<OpenResult> {
        Some(open(self.options.clone().as_it_is()).await)
    }

    async fn tamper(&self, with: Tampering<'_>) {
        let schema = &self.schema;
        self.admin
            .run(match with {
                Tampering::Newer => format!("UPDATE {schema}.mark SET version = version + 1"),
                Tampering::NotNewer => format!("UPDATE {schema}.mark SET version = version - 1"),
                Tampering::UnknownStatus(key) => {
                    format!("UPDATE {schema}.session SET status = 'asleep' WHERE {}", of(key))
                }
                Tampering::Message(key) => format!(
                    "UPDATE {schema}.message SET payload = set_byte(payload, 0, 0) WHERE seq = 1 \
                     AND sid = (SELECT sid FROM {schema}.session WHERE {})",
                    of(key)
                ),
                _ => panic!("{with:?} is not known here"),
            })
            .await;
    }

    async fn remove(&self) {
        self.admin.run(format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema)).await;
    }
}
