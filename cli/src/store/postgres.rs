//! Opens stores in a schema of a Postgres database.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::store::StateStore;
use holdover_store_postgres::{PostgresOptions, PostgresStore};

use super::{Backend, IfMissing, Opened, StoreUrl, refused, wrong};
use crate::exit::Failure;

/// The name of this program that administrators of the server see.
const APPLICATION: &str = "holdover";

/// Opens the database that `url` names.
pub(super) async fn open(url: &StoreUrl, if_missing: IfMissing) -> Result<Opened, Failure> {
    let options = PostgresOptions::from_url(url.secret()).map_err(|error| wrong(url, &error))?;
    let options = options.application(APPLICATION);
    let options = match if_missing {
        IfMissing::Create => options,
        IfMissing::Refuse => options.must_exist(),
        IfMissing::AsItIs => options.as_it_is(),
    };
    let store = PostgresStore::open(options).await.map_err(|error| refused(url, &error))?;
    Ok(Box::new(store))
}

#[async_trait]
impl Backend for PostgresStore {
    fn shared(&self) -> Arc<dyn StateStore> {
        Arc::new(self.clone())
    }

    async fn unwritable(&self) -> Result<Option<String>, Failure> {
        Ok(Self::unwritable(self).await?)
    }

    async fn close(self: Box<Self>) {
        Self::close(&self).await;
    }
}
