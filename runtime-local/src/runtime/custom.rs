//! The custom state of a session.

use holdover_core::custom::CustomState;
use holdover_core::ids::SessionKey;

use super::{Runtime, machine_of};
use crate::error::RuntimeError;

impl Runtime {
    /// Returns the [custom state](holdover_core::custom) of a session, as the last durable step left it.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or its state cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn custom_state(&self, key: &SessionKey) -> Result<CustomState, RuntimeError> {
        let machine = machine_of(&self.existing(key).await?)?;
        Ok(machine.map(|machine| machine.custom).unwrap_or_default())
    }
}
