//! The end of the process: its exit code, and a one-line error message.

use std::process::ExitCode;

use holdover_core::engine::RunOutcome;
use holdover_core::machine::DoneReason;
use holdover_core::message::SignalBody;
use holdover_core::phrases;
use holdover_core::store::StoreError;
use holdover_runtime_local::{RuntimeError, SignalError};

use crate::print::{instant, one_line};
use crate::store::StoreUrl;

/// The exit codes. For a command that runs or awaits a session, they describe the state of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded: the turn is completed, or there was nothing to run.
    Completed,
    /// The turn, or the command, failed.
    Failed,
    /// The command line or the agent file is wrong.
    WrongUse,
    /// The session waits for an answer or a time.
    Suspended,
    /// The session was still running when the waiting time was over.
    StillRunning,
    /// The session was interrupted or aborted.
    Stopped,
    /// The turn reached its maximum number of steps.
    MaxTurns,
    /// The turn ended at a limit for tokens, money or time.
    OverBudget,
    /// The model repeated the same calls too often.
    Looped,
    /// Ctrl-C stopped the process at once.
    Killed,
    /// SIGTERM or SIGHUP stopped the process at once.
    Terminated,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::WrongUse => 2,
            Self::Suspended => 10,
            Self::StillRunning => 11,
            Self::Stopped => 20,
            Self::MaxTurns => 21,
            Self::OverBudget => 22,
            Self::Looped => 23,
            Self::Killed => 130,
            Self::Terminated => 143,
        }
    }

    /// Returns the exit for output that did not reach its reader. A success becomes a failure; all other exits stay.
    pub(crate) fn with_output_lost(self) -> Self {
        match self {
            Self::Completed => Self::Failed,
            Self::Failed
            | Self::WrongUse
            | Self::Suspended
            | Self::StillRunning
            | Self::Stopped
            | Self::MaxTurns
            | Self::OverBudget
            | Self::Looped
            | Self::Killed
            | Self::Terminated => self,
        }
    }

    /// Returns the exit of a process that followed a run with this outcome.
    pub(crate) fn of(outcome: &RunOutcome) -> Self {
        match outcome {
            // There was nothing to run.
            RunOutcome::Released => Self::Completed,
            RunOutcome::Suspended(_) | RunOutcome::BackingOff { .. } => Self::Suspended,
            RunOutcome::Lost => Self::Failed,
            RunOutcome::Ended(ending) => match ending.reason {
                DoneReason::ModelStop | DoneReason::ToolStop => Self::Completed,
                DoneReason::UserAbort => Self::Stopped,
                DoneReason::Error => Self::Failed,
                DoneReason::MaxTurns => Self::MaxTurns,
                DoneReason::BudgetExceeded => Self::OverBudget,
                DoneReason::LoopDetected => Self::Looped,
                // Every variant of this version is named above; the lint finds missing ones.
                _ => Self::Failed,
            },
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The failure of a command, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// The message, without `error: `.
    pub(crate) line: String,
}

impl Failure {
    /// Creates a failure with exit code 1.
    pub(crate) fn failed(line: impl AsRef<str>) -> Self {
        Self { exit: Exit::Failed, line: one_line(line.as_ref()) }
    }

    /// Adds the URL of the store to a message that begins with `store: `.
    pub(crate) fn on_store(self, url: &StoreUrl) -> Self {
        match self.line.strip_prefix("store: ") {
            Some(rest) => Self { line: format!("store {url}: {rest}"), ..self },
            None => self,
        }
    }

    /// Creates the failure for a wrong command line or agent file.
    pub(crate) fn wrong_use(line: impl AsRef<str>) -> Self {
        Self { exit: Exit::WrongUse, line: one_line(line.as_ref()) }
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        match &error {
            RuntimeError::Held { key, worker, epoch, lease_ends } => Self::failed(format!(
                "session {}: run {epoch} of {worker} holds it until {}",
                key.id,
                instant(*lease_ends)
            )),
            RuntimeError::NotFound { key } => Self::unknown(&key.id),
            RuntimeError::Aborted { key } => Self::failed(format!("session {}: it is aborted", key.id)),
            RuntimeError::NotResumable { key, status, signal: SignalBody::Compact } => Self::failed(format!(
                "session {}: it is {}; only a session at rest can be compacted",
                key.id,
                phrases::status(*status)
            )),
            RuntimeError::NotResumable { key, status, .. } => Self::failed(format!(
                "session {}: it is {}: there is nothing to resume; say something with holdover send",
                key.id,
                phrases::status(*status)
            )),
            RuntimeError::TooLong { key, pending, what, bytes, bytes_max } => Self::wrong_use(format!(
                "session {}: call {}: {what}: {bytes} bytes, at most {bytes_max} are allowed",
                key.id,
                pending.parts().map_or_else(|| pending.to_string(), |(_, call)| call.to_string()),
            )),
            RuntimeError::EffectsRefused { agent, tool, backend, .. } => Self::failed(format!(
                "store: {backend}: commits do not survive a killed process, as tool {tool} of agent {agent} needs; \
                 holdover doctor says why"
            )),
            RuntimeError::Gone { key } => Self::failed(format!(
                "session {}: the cursor belongs to another session, or to a deleted session of this name",
                key.id
            )),
            RuntimeError::Busy { key, status } => Self::failed(format!(
                "session {}: it is {} and busy, so the message is rejected; nothing was stored",
                key.id,
                phrases::status(*status)
            )),
            RuntimeError::NotQueued { key, item } => Self::failed(format!(
                "session {}: no message {item} waits: it was taken, withdrawn, or never there",
                key.id
            )),
            RuntimeError::Signal(SignalError::Full { key, held_max }) => Self::failed(format!(
                "session {}: it holds {held_max} signals that no call has taken, which is the most; nothing was stored",
                key.id
            )),
            RuntimeError::Signal(SignalError::TooLong { key, name, bytes, bytes_max }) => {
                Self::wrong_use(format!(
                    "session {}: signal {name}: --body: {bytes} bytes, at most {bytes_max} are allowed",
                    key.id
                ))
            }
            RuntimeError::Signal(SignalError::NotJson { key, name, detail }) => Self::wrong_use(format!(
                "session {}: signal {name}: --body: it is not JSON: {detail}",
                key.id
            )),
            RuntimeError::NotOpen { key, call } => {
                Self::failed(format!("session {}: call {call} is not open", key.id))
            }
            RuntimeError::Goal { key, why } => Self::wrong_use(format!("session {}: {why}", key.id)),
            RuntimeError::NotEditable { key, message, why } => {
                Self::failed(format!("session {}: message {message}: {why}", key.id))
            }
            RuntimeError::NotApprover { key, pending, by, may } => Self::failed(format!(
                "session {}: call {}: {} may not decide on it{}",
                key.id,
                pending.parts().map_or_else(|| pending.to_string(), |(_, call)| call.to_string()),
                by.as_deref().unwrap_or("somebody without a name"),
                if may.is_empty() {
                    ": say who you are with --as".to_owned()
                } else {
                    format!(", only {}", may.join(", "))
                },
            )),
            RuntimeError::Unfit { key, call, why, .. } => {
                Self::wrong_use(format!("session {}: call {call}: {why}; nothing was decided", key.id))
            }
            RuntimeError::KeyConflict { .. }
            | RuntimeError::Changed { .. }
            | RuntimeError::NotFirst { .. }
            | RuntimeError::NoChild { .. }
            | RuntimeError::OtherAgent { .. }
            | RuntimeError::NotServed { .. }
            | RuntimeError::AgentUnknown { .. }
            | RuntimeError::OtherAnswer { .. }
            | RuntimeError::AlreadyAnswered { .. }
            | RuntimeError::NotPending { .. }
            | RuntimeError::NotAsked { .. }
            | RuntimeError::Unanswered { .. }
            | RuntimeError::Running { .. }
            | RuntimeError::Contended { .. }
            | RuntimeError::Unreadable { .. }
            | RuntimeError::Start(_)
            | RuntimeError::Panicked { .. }
            | RuntimeError::Exists { .. }
            | RuntimeError::NoCheckpoint { .. }
            | RuntimeError::Fork(_)
            | RuntimeError::Id(_)
            | RuntimeError::Signal(_)
            | RuntimeError::Store(_) => Self::failed(error.to_string()),
            // Every error of this version is named above; the lint finds missing ones.
            _ => Self::failed(error.to_string()),
        }
    }
}

impl Failure {
    /// Creates the failure for a session that does not exist.
    pub(crate) fn unknown(session: &holdover_core::ids::SessionId) -> Self {
        Self::failed(format!("session {session}: there is no such session"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::failed(error.to_string())
    }
}
