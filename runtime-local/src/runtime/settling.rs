//! Settlements of calls that ended in doubt.

use holdover_core::ids::{PendingId, SessionKey};
use holdover_core::message::Settlement;
use holdover_core::payload::Digest;
use holdover_core::store::PendingKind;

use super::Runtime;
use super::deliver::{Delivered, What};
use super::keys::Same;
use super::pending::Bound;
use crate::error::RuntimeError;

impl Runtime {
    /// Settles a call that ended in doubt: says what became of it. The agent must
    /// [ask](holdover_core::agent::OnDoubt::Ask) for that. `pending` has the same meaning as in
    /// [`approve`](Self::approve), and its kind is [`InDoubt`](PendingKind::InDoubt).
    ///
    /// The result of the call does not change. A run adds the settlement to the transcript as a notice that the model
    /// sees, and closes the pending call. A session at rest is due for that at once, and rests again without asking its
    /// model. In the middle of a turn, the notice is added at the end of the step, and the next step of the model reads
    /// it. The first settlement of a call counts. The same settlement again is a [`Duplicate`](Delivered::Duplicate).
    ///
    /// Errors, besides those of [`deliver`](Self::deliver): there is [no such pending call](RuntimeError::NotAsked), it
    /// waits for [another kind of answer](RuntimeError::OtherAnswer), the name is [empty](RuntimeError::Id), or the texts
    /// are [too long](RuntimeError::TooLong)
    /// ([`SETTLEMENT_BYTES_MAX`](holdover_core::message::SETTLEMENT_BYTES_MAX)).
    pub async fn settle(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        settlement: Settlement,
    ) -> Result<Delivered, RuntimeError> {
        let Bound { key, life, .. } = self.bound_to(key, pending, PendingKind::InDoubt).await?;
        let said = serde_json::to_vec(&settlement)
            .map_err(|error| RuntimeError::unreadable(&key, "settlement", error))?;
        let what = What::Settlement { pending: pending.clone(), settlement };
        self.say(&key, pending, life, Same::Words(Digest::of(&said)), what).await
    }
}
