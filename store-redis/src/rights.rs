//! The rights of the server's user.

use futures::future::try_join_all;
use holdover_store::StoreError;

use crate::args::Args;
use crate::error::{Call, Fault, said};
use crate::script::TRY_WRITE;
use crate::store::RedisStore;

impl RedisStore {
    /// Returns the reason why the store cannot be written, or none if it can. The user may lack the right, or the
    /// server may have no memory left, be unable to save, or have too few replicas. Changes nothing.
    ///
    /// # Errors
    /// Errors have the operation `unwritable`. The call fails if a server cannot be asked.
    pub async fn unwritable(&self) -> Result<Option<String>, StoreError> {
        let keys = &self.shared.keys;
        let args = Args::default();
        let tried = keys.partitions().map(|partition| {
            let (key, args) = (keys.unused(partition), &args);
            async move { self.shared.wire.run(&TRY_WRITE, &[&key], args).await }
        });
        match try_join_all(tried).await {
            Ok(_) => Ok(None),
            Err(Fault::Redis(error, _)) if error.code().is_some() => {
                Ok(Some(format!("{}: {}", error.code().unwrap_or_default(), said(&error))))
            }
            Err(fault) => Err(fault.of(Call::Read, "unwritable", None)),
        }
    }
}
