//! Opens stores in a namespace of a Redis server or a Redis Cluster.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::store::StateStore;
use holdover_store_redis::{RedisOptions, RedisStore};

use super::{Backend, IfMissing, Opened, StoreUrl, refused, wrong};
use crate::exit::Failure;

/// Opens the server or the cluster that `url` names.
pub(super) async fn open(url: &StoreUrl, if_missing: IfMissing) -> Result<Opened, Failure> {
    let options = RedisOptions::from_url(url.secret()).map_err(|error| wrong(url, &error))?;
    let options = match if_missing {
        IfMissing::Create => options,
        IfMissing::Refuse => options.must_exist(),
        IfMissing::AsItIs => options.as_it_is(),
    };
    let store = RedisStore::open(options).await.map_err(|error| refused(url, &error))?;
    Ok(Box::new(store))
}

#[async_trait]
impl Backend for RedisStore {
    fn shared(&self) -> Arc<dyn StateStore> {
        Arc::new(self.clone())
    }

    async fn unwritable(&self) -> Result<Option<String>, Failure> {
        Ok(Self::unwritable(self).await?)
    }

    async fn close(self: Box<Self>) {
        // All calls are answered by now. The connections close with the last handle.
    }
}
