//! The moments of an answer.

use holdover_core::ending::Ending;
use holdover_core::ids::{CallId, MessageSeq, PendingId, SessionId, StepNumber};
use holdover_core::message::{CallRequest, PendingBody, ToolResult, UserMessage};
use holdover_core::payload::Digest;
use holdover_core::store::PendingKind;
use holdover_core::tool::Progress;
use holdover_runtime_local::PendingEntry;
use serde_json::Value;

/// Something that happens in an answer, as a page shows it. Arguments are redacted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Moment {
    /// The message to which this is the answer was taken.
    Asked {
        /// The position of the message.
        seq: MessageSeq,
        /// The message.
        said: UserMessage,
    },
    /// The answer to the message at this position goes on, although nobody has asked again.
    GoesOn {
        /// The position of the message.
        seq: MessageSeq,
    },
    /// A step begins.
    StepBegan(StepNumber),
    /// A step ends.
    StepEnded(StepNumber),
    /// A piece of text begins.
    PieceBegan {
        /// The id of the piece, unique in the session.
        id: String,
        /// Says who is to read the piece.
        kind: PieceKind,
    },
    /// A piece of text goes on.
    PieceGrew {
        /// The id of the piece.
        id: String,
        /// The kind of the piece.
        kind: PieceKind,
        /// What is new.
        text: String,
    },
    /// A piece of text is complete.
    PieceEnded {
        /// The id of the piece.
        id: String,
        /// The kind of the piece.
        kind: PieceKind,
    },
    /// The pieces that the step has so far are void, because the attempt of the model died or failed. They are complete.
    Voided {
        /// The ids of the pieces.
        pieces: Vec<String>,
    },
    /// The model asked for a call.
    Called(CallRequest),
    /// A running call reports progress.
    Progressed {
        /// The call.
        call: CallId,
        /// The tool of the call.
        tool: String,
        /// The report.
        progress: Progress,
    },
    /// A call waits for the answer of a person or of a client.
    Waits(Question),
    /// Children work on a call.
    Delegated {
        /// The call. `None` if a request from outside began the children.
        call: Option<CallId>,
        /// The sub-agent.
        agent: String,
        /// The sessions of the children.
        children: Vec<SessionId>,
    },
    /// A call has its result.
    Returned(Box<ToolResult>),
    /// There is nothing more to show, at least for now.
    Ended(End),
}

/// The reader for whom a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// The text is the answer.
    Text,
    /// The text is the model's reasoning.
    Reasoning,
}

/// A call that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// The pending call.
    pub(crate) pending: PendingId,
    /// The call.
    pub(crate) call: CallId,
    /// The tool of the call.
    pub(crate) tool: String,
    /// The kind of answer.
    pub(crate) kind: PendingKind,
    /// The digest of the arguments, which an answer must name.
    pub(crate) digest: Digest,
    /// The reason for asking.
    pub(crate) reason: Option<String>,
}

impl Question {
    /// Returns the question about a call that waits.
    pub(crate) fn of(entry: PendingEntry) -> Self {
        let PendingEntry { call, body, .. } = entry;
        Self {
            pending: call.id,
            call: call.call,
            tool: body.tool.to_string(),
            kind: call.kind,
            digest: body.digest,
            reason: body.prompt,
        }
    }

    /// Returns the question of a child about a call of its own, as one about the call for which the child works.
    pub(crate) fn of_a_child(entry: PendingEntry, works_for: CallId) -> Self {
        let PendingBody { tool, arguments, prompt, .. } = entry.body.clone().redacted();
        let prompt = prompt.map(|prompt| format!(": {prompt}")).unwrap_or_default();
        let reason = Some(format!("{}: {tool} {arguments}{prompt}", entry.call.key.id));
        Self { call: works_for, reason, ..Self::of(entry) }
    }

    /// Returns the id under which a page answers: the pending call, and the digest of the arguments that it was shown.
    pub(crate) fn id(&self) -> String {
        answer_id(&self.pending, self.digest)
    }
}

/// Returns the id under which a page answers a call with these arguments.
pub(crate) fn answer_id(pending: &PendingId, saw: Digest) -> String {
    format!("{pending}.{saw}")
}

/// Reads such an id.
pub(crate) fn answered(id: &str) -> Option<(PendingId, Digest)> {
    let (pending, saw) = id.rsplit_once('.')?;
    Some((pending.parse().ok()?, serde_json::from_value(Value::from(saw)).ok()?))
}

/// The way in which an answer ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The turn is over.
    Done(Option<Ending>),
    /// The turn waits for the answers of people or clients.
    Waits,
    /// The rest of the turn answers a later message.
    Superseded,
    /// The message was withdrawn before a turn took it.
    Withdrawn,
}
