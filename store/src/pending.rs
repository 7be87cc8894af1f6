//! Pending calls: calls that wait for an answer from outside.

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, InboxSeq, Incarnation, KindName, PendingId, SessionKey};
use crate::payload::Payload;
use crate::time::Timestamp;

/// The kind of a pending call: who owes the answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingKind {
    /// A person owes a decision.
    Approval,
    /// A client owes the result of a tool that it runs.
    ClientTool,
    /// Other sessions owe the outcomes of their turns.
    Child,
    /// Somebody that only a newer version knows. It is kept and shown as it is. Only a run that knows it
    /// continues its session, which has a [format](crate::ids::StateFormat) of that version.
    #[serde(untagged)]
    Other(KindName),
}

impl PendingKind {
    /// Every kind that this version knows.
    pub const ALL: [Self; 3] = [Self::Approval, Self::ClientTool, Self::Child];

    /// The wire name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Approval => "approval",
            Self::ClientTool => "client_tool",
            Self::Child => "child",
            Self::Other(name) => name.as_str(),
        }
    }

    /// The kind with this wire name. None: the text cannot be the name of a kind.
    pub fn from_wire(name: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        known.or_else(|| KindName::new(name).ok().map(Self::Other))
    }

    /// Whether it is what its name says: not [`Other`](Self::Other) under a name that is known.
    pub(crate) fn is_itself(&self) -> bool {
        Self::from_wire(self.as_str()).as_ref() == Some(self)
    }
}

/// A pending call that a commit opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPending {
    /// The id, unique in the session for ever. It contains the incarnation and the round of asking.
    pub id: PendingId,
    /// The call that waits.
    pub call: CallId,
    /// Who owes the answer.
    pub kind: PendingKind,
    /// The number of answers that it takes; at least 1.
    pub needed: u32,
    /// The instant from which no answer is taken; none only if the caller asked for none.
    pub deadline: Option<Timestamp>,
    /// The content that is shown to whoever owes the answer.
    pub body: Payload,
}

/// An open pending call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCall {
    /// The session.
    pub key: SessionKey,
    /// The life of the session. An answer must name it.
    pub incarnation: Incarnation,
    /// The id, unique in the session for ever.
    pub id: PendingId,
    /// The call that waits.
    pub call: CallId,
    /// Who owes the answer.
    pub kind: PendingKind,
    /// The number of answers that it takes.
    pub needed: u32,
    /// The number of answers that it has; `needed` when one answer settled it alone.
    pub answered: u32,
    /// The newest answer's place in the inbox; 0 if there is none.
    pub last_answer: InboxSeq,
    /// The instant from which no answer is taken.
    pub deadline: Option<Timestamp>,
    /// The content that is shown to whoever owes the answer.
    pub body: Payload,
    /// When it was opened.
    pub opened_at: Timestamp,
}
