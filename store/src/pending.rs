//! Pending calls: calls that wait for an answer from outside.

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, InboxSeq, Incarnation, KindName, PendingId, SessionKey};
use crate::payload::Payload;
use crate::time::Timestamp;

/// The kind of a pending call. It says who owes the answer.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingKind {
    /// A person owes a decision.
    Approval,
    /// A client owes the result of a tool that it runs.
    ClientTool,
    /// Child sessions or remote agents owe their outcomes.
    Child,
    /// Somebody must say what became of a call that ended in doubt.
    InDoubt,
    /// Somebody must look at a session whose turn was given up although it may succeed later.
    DeadLetter,
    /// A kind that only a newer version knows. The store keeps the call and shows it unchanged. The session
    /// has a [format](crate::ids::StateFormat) of that version, so `claim_due` returns the session only to
    /// workers that read that format, unless an interrupt waits.
    #[serde(untagged)]
    Other(KindName),
}

impl PendingKind {
    /// Every kind that this version knows.
    pub const ALL: [Self; 5] =
        [Self::Approval, Self::ClientTool, Self::Child, Self::InDoubt, Self::DeadLetter];

    /// Returns the wire name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Approval => "approval",
            Self::ClientTool => "client_tool",
            Self::Child => "child",
            Self::InDoubt => "in_doubt",
            Self::DeadLetter => "dead_letter",
            Self::Other(name) => name.as_str(),
        }
    }

    /// Returns the kind with this wire name, or none if the text cannot be the name of a kind.
    pub fn from_wire(name: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        known.or_else(|| KindName::new(name).ok().map(Self::Other))
    }

    /// Returns true if a [`RetentionRule`](crate::RetentionRule) leaves a session alone while a call of this kind is
    /// open: what somebody is asked to look at must not vanish unseen, although no turn waits for it.
    pub fn keeps_session(&self) -> bool {
        match self {
            Self::InDoubt | Self::DeadLetter => true,
            Self::Approval | Self::ClientTool | Self::Child | Self::Other(_) => false,
        }
    }

    /// Returns false for [`Other`](Self::Other) with the name of a known kind.
    pub(crate) fn is_itself(&self) -> bool {
        Self::from_wire(self.as_str()).as_ref() == Some(self)
    }
}

/// A pending call that a commit opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPending {
    /// The id of the pending call. A session never reuses it. See [`PendingId::of`].
    pub id: PendingId,
    /// The tool call that waits.
    pub call: CallId,
    /// The kind, which says who owes the answer.
    pub kind: PendingKind,
    /// The number of answers that the call needs; at least 1.
    pub needed: u32,
    /// The instant from which the store refuses answers. If none, it accepts answers until the call is
    /// closed.
    pub deadline: Option<Timestamp>,
    /// The content that is shown to the person or program that owes the answer.
    pub body: Payload,
}

/// An open pending call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCall {
    /// The session.
    pub key: SessionKey,
    /// The incarnation of the session. An answer must name it.
    pub incarnation: Incarnation,
    /// The id of the pending call.
    pub id: PendingId,
    /// The tool call that waits.
    pub call: CallId,
    /// The kind, which says who owes the answer.
    pub kind: PendingKind,
    /// The number of answers that the call needs.
    pub needed: u32,
    /// The number of answers that the call has. It equals `needed` if one answer settled the call alone.
    pub answered: u32,
    /// The place of the newest answer in the inbox; 0 if there is none.
    pub last_answer: InboxSeq,
    /// The instant from which the store refuses answers, if there is one.
    pub deadline: Option<Timestamp>,
    /// The content that is shown to the person or program that owes the answer.
    pub body: Payload,
    /// The instant at which the call was opened.
    pub opened_at: Timestamp,
}
