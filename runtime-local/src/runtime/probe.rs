//! Finding out whether the store takes writes.

use holdover_core::ids::{Incarnation, SessionKey, StateFormat, TenantId};
use holdover_core::payload::Payload;
use holdover_core::store::{Deletion, Labels, NewSession, Start};
use uuid::Uuid;

use super::{Runtime, draw_id};
use crate::breaker::{BREAKER_QUEUE, BREAKER_TENANT};
use crate::error::RuntimeError;

/// As much as a step of a session writes.
const PROBE_BYTES: usize = 64 * 1024;

impl Runtime {
    /// Writes 64 KiB to the store and removes them again. Fails if the store takes no writes now, for example because the
    /// disk is full.
    ///
    /// A front that has waited in vain for a session that another process runs says so with the reason: that process may
    /// wait for the store. The write is a session of the tenant [`BREAKER_TENANT`], which nobody runs.
    pub async fn check_writes(&self) -> Result<(), RuntimeError> {
        let store = &self.shared.store;
        let bytes = PROBE_BYTES.min(store.capabilities().payload_bytes_max);
        let key = SessionKey::new(TenantId::new(BREAKER_TENANT)?, draw_id());
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
        store.create_session(new).await?;
        store.delete_session(&key, Deletion::FORCE).await?;
        Ok(())
    }
}
