//! The reasons for which calls are cancelled.

use serde::{Deserialize, Serialize};

/// The reason for which a call was cancelled. Programs read the wire names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CancelReason {
    /// A request stopped the turn, or this call alone.
    #[serde(rename = "user:cancelled")]
    UserCancelled,
    /// A message interrupted the turn or rolled it back.
    #[serde(rename = "user:interrupted")]
    UserInterrupted,
    /// An earlier message was edited, so the turn was stopped.
    #[serde(rename = "system:edited")]
    SystemEdited,
    /// The engine ended the turn, because of an error or a limit. Also, the call is a read that was out in the session
    /// from which this session was forked.
    #[serde(rename = "system:disposed")]
    SystemDisposed,
    /// The call is dangerous, and its run died before the call started.
    #[serde(rename = "system:safety")]
    SystemSafety,
    /// A person refused another call of the step, and this call was cancelled with it: by the agent's rules, or because
    /// the person aborted the step.
    #[serde(rename = "user:rejected")]
    UserRejected,
    /// The call was open in the session from which this session was forked. It stays with that session.
    #[serde(rename = "system:forked")]
    SystemForked,
    /// Code that plans the session no longer waited for the call.
    #[serde(rename = "flow:dropped")]
    FlowDropped,
}

impl CancelReason {
    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserCancelled => "user:cancelled",
            Self::UserInterrupted => "user:interrupted",
            Self::SystemEdited => "system:edited",
            Self::SystemDisposed => "system:disposed",
            Self::SystemSafety => "system:safety",
            Self::UserRejected => "user:rejected",
            Self::SystemForked => "system:forked",
            Self::FlowDropped => "flow:dropped",
        }
    }
}
