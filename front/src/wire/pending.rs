//! Pending calls, as those who owe an answer see them.

use holdover_core::gate::AtExpiry;
use holdover_core::ids::{CallId, PendingId, SessionId};
use holdover_core::payload::Digest;
use holdover_core::store::{PageCursor, PendingKind};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{Answered, Deciders, PendingEntry, PendingPage, UnreadablePending};
use schemars::JsonSchema;
use serde::Serialize;

/// A call that waits for an answer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Pending")]
pub(crate) struct PendingView {
    /// The id to answer under.
    id: PendingId,
    /// The session of the call. For a child of a session, this is the child.
    session: SessionId,
    /// The call.
    call: CallId,
    /// The answer that the call waits for.
    kind: PendingKind,
    /// The tool.
    tool: String,
    /// The arguments, as JSON text. Values whose names look like those of secrets are replaced.
    arguments: String,
    /// The digest of the exact arguments. An answer must name it.
    digest: Digest,
    /// The reason for asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// The time of asking.
    opened_at: Timestamp,
    /// The instant after which no answer counts. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Timestamp>,
    /// The people who decide, if the policy says who or how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    deciders: Option<DecidersView>,
    /// The answer that a run will take. Absent while answers are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<AnsweredView>,
}

/// The people who decide on a call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Deciders")]
struct DecidersView {
    /// The number of people who must approve.
    needed: u32,
    /// The people who have approved so far.
    approved: Vec<String>,
    /// The people who may answer now. If empty, everybody with a name may.
    may: Vec<String>,
    /// The people who may answer later, too.
    later: Vec<LaterView>,
    /// The outcome without a decision by the deadline.
    at_expiry: AtExpiry,
}

/// People who may answer from an instant on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Later")]
struct LaterView {
    /// The instant.
    at: Timestamp,
    /// The people.
    to: Vec<String>,
}

/// An answer that was given.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answered")]
struct AnsweredView {
    /// The person who answered, if the answer names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The time of the answer, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
}

impl From<Deciders> for DecidersView {
    fn from(of: Deciders) -> Self {
        let Deciders { needed, approved, may, later, at_expiry } = of;
        let later = later.into_iter().map(|later| LaterView { at: later.at, to: later.to }).collect();
        Self { needed, approved, may, later, at_expiry }
    }
}

impl From<Answered> for AnsweredView {
    fn from(of: Answered) -> Self {
        Self { by: of.by, at: of.at }
    }
}

impl From<PendingEntry> for PendingView {
    fn from(of: PendingEntry) -> Self {
        let body = of.body.redacted();
        Self {
            id: of.call.id,
            session: of.call.key.id,
            call: of.call.call,
            kind: of.call.kind,
            tool: body.tool.to_string(),
            arguments: body.arguments,
            digest: body.digest,
            prompt: body.prompt,
            opened_at: of.call.opened_at,
            deadline: of.call.deadline,
            deciders: of.deciders.map(Into::into),
            answered: of.answered.map(Into::into),
        }
    }
}

/// A call that this version cannot read. A process of a newer version can.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnreadablePending")]
struct UnreadableView {
    /// The id of the pending call.
    id: PendingId,
    /// The session of the call.
    session: SessionId,
    /// The reason why it cannot be read.
    why: String,
}

impl From<UnreadablePending> for UnreadableView {
    fn from(of: UnreadablePending) -> Self {
        Self { id: of.call.id, session: of.call.key.id, why: of.why }
    }
}

/// A page of pending calls.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PendingList {
    /// The calls, soonest deadline first.
    items: Vec<PendingView>,
    /// The calls of the page that this version cannot read.
    unreadable: Vec<UnreadableView>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<PageCursor>,
}

impl PendingList {
    /// Returns a list that is complete.
    pub(crate) fn of(items: Vec<PendingEntry>, unreadable: Vec<UnreadablePending>) -> Self {
        Self {
            items: items.into_iter().map(Into::into).collect(),
            unreadable: unreadable.into_iter().map(Into::into).collect(),
            next: None,
        }
    }
}

impl From<PendingPage> for PendingList {
    fn from(of: PendingPage) -> Self {
        Self { next: of.next, ..Self::of(of.items, of.unreadable) }
    }
}
