//! Shows who has answered a pending call, until a run takes the answer.

use holdover_core::ids::InboxSeq;
use holdover_core::message::{Decision, Settlement};
use holdover_core::store::{ItemKind, PendingCall, PendingKind, StoreErrorKind, StoredItem};
use holdover_core::time::Timestamp;
use serde::Serialize;

use super::Runtime;
use crate::error::RuntimeError;

/// The newest answer to a pending call that has all the answers it needs. The next run takes the answers, and no
/// person has to act on the call any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Answered {
    /// The person who answered, if the answer names one.
    pub by: Option<String>,
    /// The time of the answer. `None` if a run has just taken the answer, or if it is encrypted under a key that is
    /// missing here.
    pub at: Option<Timestamp>,
}

impl Runtime {
    /// Returns the newest answer to this open pending call, or `None` while answers are missing.
    pub async fn answered(&self, call: &PendingCall) -> Result<Option<Answered>, RuntimeError> {
        if call.answered < call.needed {
            return Ok(None);
        }
        let before = InboxSeq(call.last_answer.0.saturating_sub(1));
        let newest = match self.host.store().read_inbox(&call.key, before, 1).await {
            Ok(page) => page.items,
            // The session was just deleted, or the answer is encrypted under a key that is missing here.
            Err(error) if matches!(error.kind, StoreErrorKind::NotFound | StoreErrorKind::KeyMissing) => {
                Vec::new()
            }
            Err(error) => return Err(error.into()),
        };
        let answers = |item: &&StoredItem| matches!(&item.kind, ItemKind::Answer { pending, .. } if *pending == call.id);
        Ok(Some(newest.iter().find(answers).map_or_else(Answered::default, |item| Answered {
            by: match call.kind {
                PendingKind::InDoubt => item.payload.parse::<Settlement>().ok().and_then(|said| said.by),
                PendingKind::Approval
                | PendingKind::ClientTool
                | PendingKind::Child
                | PendingKind::DeadLetter
                | PendingKind::Other(_) => {
                    item.payload.parse::<Decision>().ok().and_then(|decision| decision.by)
                }
            },
            at: Some(item.at),
        })))
    }
}
