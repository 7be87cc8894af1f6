//! Calls that somebody outside owes an answer.

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, InboxSeq, Incarnation, PendingId, SessionKey};
use crate::payload::Payload;
use crate::time::Timestamp;

/// Who owes the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingKind {
    /// A person owes a decision.
    Approval,
    /// A client owes the result of a tool that it runs.
    ClientTool,
}

impl PendingKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Approval, Self::ClientTool];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::ClientTool => "client_tool",
        }
    }

    /// The kind with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// What a commit opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPending {
    /// Unique in the session for ever; contains the incarnation and the round of asking.
    pub id: PendingId,
    /// The call that waits.
    pub call: CallId,
    /// Who owes the answer.
    pub kind: PendingKind,
    /// How many answers it takes; at least 1.
    pub needed: u32,
    /// From this instant on no answer is taken; none only if the caller asked for none.
    pub deadline: Option<Timestamp>,
    /// What is shown to whoever owes the answer.
    pub body: Payload,
}

/// An open pending call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCall {
    /// Which session.
    pub key: SessionKey,
    /// Which life of it; an answer must name it.
    pub incarnation: Incarnation,
    /// Unique in the session for ever.
    pub id: PendingId,
    /// The call that waits.
    pub call: CallId,
    /// Who owes the answer.
    pub kind: PendingKind,
    /// How many answers it takes.
    pub needed: u32,
    /// How many it has; `needed` when an answer settled it alone.
    pub answered: u32,
    /// The newest answer's place in the inbox; 0 if there is none.
    pub last_answer: InboxSeq,
    /// From this instant on no answer is taken.
    pub deadline: Option<Timestamp>,
    /// What is shown to whoever owes the answer.
    pub body: Payload,
    /// When it was opened.
    pub opened_at: Timestamp,
}
