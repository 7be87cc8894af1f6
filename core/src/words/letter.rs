//! Dead letters: records of sessions whose turn was given up although it may succeed later (requirement C52).

use serde::{Deserialize, Serialize};

use crate::store::{PendingCall, PendingKind};
use crate::time::Timestamp;
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, Epoch, Incarnation, InvalidId, MessageSeq, PendingId, TurnNumber};
use crate::words::message::PendingBody;

/// The name in the tool field of the pending call that is a dead letter. No model sees it.
pub const DEAD_LETTER: &str = "dead_letter";

/// The reason why a turn was given up and left a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LetterCause {
    /// Several runs in a row died without a commit.
    Poisoned,
    /// A model failed with an error that may pass, and no retry was left.
    Retries,
    /// Several tool calls in a row could not be run or gave no result, each after its own retries.
    Circuit,
}

impl LetterCause {
    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Poisoned => "poisoned",
            Self::Retries => "retries",
            Self::Circuit => "circuit",
        }
    }
}

/// The content of a dead letter. It is stored with the failure, and never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Letter {
    /// The reason why the turn was given up.
    pub cause: LetterCause,
    /// The error with which the turn failed.
    pub error: ErrorInfo,
    /// The number of attempts: runs that died, requests to the last model, or calls in a row without a result.
    pub attempts: u32,
    /// The first run that died. For other causes than dead runs, the run that gave the turn up.
    pub first_run: Epoch,
    /// The last run that died. For other causes than dead runs, the run that gave the turn up.
    pub last_run: Epoch,
    /// The number of the turn.
    pub turn: TurnNumber,
    /// The newest message before the turn. The messages of the turn follow it.
    pub after_message: MessageSeq,
    /// The instant at which the turn was given up, by the store's clock.
    pub at: Timestamp,
}

impl Letter {
    /// Creates the content of a letter about a turn. `attempts` is at least 1.
    pub fn new(
        cause: LetterCause,
        error: ErrorInfo,
        attempts: u32,
        runs: (Epoch, Epoch),
        turn: (TurnNumber, MessageSeq),
        at: Timestamp,
    ) -> Self {
        let ((first_run, last_run), (turn, after_message)) = (runs, turn);
        Self { cause, error, attempts, first_run, last_run, turn, after_message, at }
    }

    /// Returns the content of a dead letter.
    ///
    /// # Errors
    /// Returns one line that says why the pending call cannot be read as a dead letter.
    pub fn of(call: &PendingCall) -> Result<Self, String> {
        if call.kind != PendingKind::DeadLetter {
            return Err(format!("it is no dead letter, but of kind {}", call.kind.as_str()));
        }
        let read = || serde_json::from_str(&call.body.parse::<PendingBody>()?.arguments);
        read().map_err(|error: serde_json::Error| error.to_string().replace('\n', " "))
    }
}

/// Returns the call and the id of the letter of a turn. A turn has at most one letter.
pub(crate) fn names(life: Incarnation, turn: TurnNumber) -> Result<(CallId, PendingId), InvalidId> {
    let call = CallId::new(format!("dead-{turn}"))?;
    let id = PendingId::of(life, &call, 1)?;
    Ok((call, id))
}
