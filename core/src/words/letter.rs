//! Dead letters: records of sessions whose turn was given up although it may succeed later (requirement C52), and of
//! sessions that could not be read (requirement C03).

use serde::{Deserialize, Serialize};

use crate::store::{NewPending, PendingCall, PendingKind};
use crate::time::Timestamp;
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, Epoch, Incarnation, InvalidId, MessageSeq, PendingId, TurnNumber};
use crate::words::message::PendingBody;
use crate::words::payload::{Digest, Payload};

/// The name in the tool field of the pending call that is a dead letter. No model sees it.
pub const DEAD_LETTER: &str = "dead_letter";

/// The reason why a session has a dead letter: a turn was given up, or the session cannot be read.
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
    /// A run could not read the state of the session, or a staged result. The session was set aside as it was: a turn
    /// that was open is not over, and a version that can read it goes on with it.
    Unreadable,
}

impl LetterCause {
    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Poisoned => "poisoned",
            Self::Retries => "retries",
            Self::Circuit => "circuit",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The content of a dead letter. It is stored with the failure, and never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Letter {
    /// The reason why the turn was given up, or the session was set aside.
    pub cause: LetterCause,
    /// The error with which the turn failed, or that says what cannot be read.
    pub error: ErrorInfo,
    /// The number of attempts: runs that died, requests to the last model, or calls in a row without a result. 1 if the
    /// session cannot be read.
    pub attempts: u32,
    /// The first run that died. For other causes than dead runs, the run that gave the turn up or set the session aside.
    pub first_run: Epoch,
    /// The last run that died. For other causes than dead runs, the run that gave the turn up or set the session aside.
    pub last_run: Epoch,
    /// The number of the turn. 0 before the first turn, and if the number cannot be read either.
    pub turn: TurnNumber,
    /// The newest message before the turn. The messages of the turn follow it. 0 if it cannot be read.
    pub after_message: MessageSeq,
    /// The instant at which the turn was given up or the session set aside, by the store's clock.
    pub at: Timestamp,
    /// True if the session was set aside while its turn was parked, so that no call was out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
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
        Self { cause, error, attempts, first_run, last_run, turn, after_message, at, parked: false }
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

/// Returns the letter as a pending call that the commit of a run opens.
///
/// # Errors
/// Returns one line that says which part cannot be stored.
pub(crate) fn opened(letter: &Letter, (call, id): (CallId, PendingId)) -> Result<NewPending, String> {
    let tool = DEAD_LETTER.parse().map_err(|error| format!("tool name {DEAD_LETTER}: {error}"))?;
    let arguments = serde_json::to_string(letter).map_err(|error| error.to_string())?;
    let digest = Digest::of(arguments.as_bytes());
    let prompt = Some(letter.error.to_string());
    // The form of every pending call, so programs that do not know letters can show it.
    let body = PendingBody { tool, arguments, digest, prompt, panel: None };
    let body = Payload::json(&body).map_err(|error| error.to_string())?;
    Ok(NewPending { id, call, kind: PendingKind::DeadLetter, needed: 1, deadline: None, body })
}

/// Returns the call and the id of the letter of a turn that was given up. A turn is given up at most once.
pub(crate) fn names(life: Incarnation, turn: TurnNumber) -> Result<(CallId, PendingId), InvalidId> {
    named(life, turn, 1)
}

/// Returns the call and the id of the letter about a session that `run` could not read in this turn. A turn may have
/// several such letters, one after the other, and be given up later: so the id follows from the run, too.
pub(crate) fn names_aside(
    life: Incarnation,
    turn: TurnNumber,
    run: Epoch,
) -> Result<(CallId, PendingId), InvalidId> {
    named(life, turn, u32::try_from(run.0).unwrap_or(u32::MAX).saturating_add(1).max(2))
}

fn named(life: Incarnation, turn: TurnNumber, round: u32) -> Result<(CallId, PendingId), InvalidId> {
    let call = CallId::new(format!("dead-{turn}"))?;
    let id = PendingId::of(life, &call, round)?;
    Ok((call, id))
}
