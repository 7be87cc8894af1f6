//! Checks whether the store accepts writes.

use holdover_core::ids::{Incarnation, SessionId, SessionKey, StateFormat, TenantId};
use holdover_core::payload::Payload;
use holdover_core::store::{Deletion, Labels, NewSession, Retry, Start};
use uuid::Uuid;

use super::Runtime;
use crate::breaker::{BREAKER_QUEUE, BREAKER_TENANT};
use crate::error::RuntimeError;
use crate::host::draw_id;

/// The number of bytes to write: about as many as a step of a session writes.
const PROBE_BYTES: usize = 64 * 1024;

/// The id of the session that is written. It is always the same, so that the next check removes a session that a
/// dead process left behind.
const PROBE: &str = "write-probe";

impl Runtime {
    /// Writes up to 64 KiB to the store and removes them again. Fails if the store takes no writes now, for
    /// example because the disk is full.
    ///
    /// A front end can use this to explain a wait: if a session that another process runs does not go on, that
    /// process may be waiting for the store. The check writes one session of the tenant [`BREAKER_TENANT`], which
    /// no worker runs.
    pub async fn check_writes(&self) -> Result<(), RuntimeError> {
        let store = self.host.records();
        let bytes = PROBE_BYTES.min(store.capabilities().payload_bytes_max);
        let key = SessionKey::new(TenantId::new(BREAKER_TENANT)?, SessionId::new(PROBE)?);
        let remove = || store.delete_session(&key, Deletion::FORCE);
        remove().await?;
        let new = NewSession {
            key: key.clone(),
            incarnation: Incarnation(Uuid::new_v4()),
            operation: draw_id(),
            queue: BREAKER_QUEUE.parse()?,
            labels: Labels::default(),
            definition: Payload::new(vec![b' '; bytes]),
            format: StateFormat(u32::MAX),
            items: Vec::new(),
            start: Start::WithItems,
        };
        match store.create_session(new).await {
            Err(error) if error.retry != Retry::OutcomeUnknown => Err(error.into()),
            written => {
                self.host.repeated(remove).await?;
                Ok(written.map(drop)?)
            }
        }
    }
}
