//! The items of a stream.

use holdover_core::delta::Delta;
use holdover_core::ids::SessionId;
use holdover_core::store::StreamId;
use holdover_runtime_local::TreeMember;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::look::PlaceView;
use crate::problem::Told;
use crate::wire::EventView;

/// An item of a stream: `event` is its name, and `data` its content, as JSON. Its `id` is a cursor.
#[derive(JsonSchema)]
#[schemars(tag = "event", content = "data", rename_all = "snake_case")]
#[expect(dead_code, reason = "only described: names and contents are written apart")]
pub(super) enum StreamItem {
    /// Something that is committed and final.
    Event(Box<EventView>),
    /// Something provisional: text that a model is writing, or the progress of a call.
    Delta(DeltaView),
    /// The deltas of a stream are void, because its attempt died or failed.
    Dropped(Dropped),
    /// An error. The stream ends.
    Problem(Told<'static>),
    /// The stream ends.
    End(End),
}

/// An item of the stream of a tree, as [`StreamItem`], with the session to which it belongs.
#[derive(JsonSchema)]
#[schemars(tag = "event", content = "data", rename_all = "snake_case")]
#[expect(dead_code, reason = "only described: names and contents are written apart")]
pub(super) enum TreeStreamItem {
    /// Something that is committed and final.
    Event(Box<OfMember<EventView>>),
    /// Something provisional: text that a model is writing, or the progress of a call.
    Delta(OfMember<DeltaView>),
    /// The deltas of a stream are void, because its attempt died or failed.
    Dropped(OfMember<Dropped>),
    /// An error. The stream ends.
    Problem(Told<'static>),
    /// The stream ends.
    End(End),
}

/// An item of a session of a tree.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tree{T}")]
pub(super) struct OfMember<T> {
    #[serde(flatten)]
    pub(super) member: MemberView,
    #[serde(flatten)]
    pub(super) item: T,
}

/// A session of a tree that is followed.
#[derive(Serialize, JsonSchema)]
pub(super) struct MemberView {
    /// The session.
    session: SessionId,
    /// The number of sessions above it: 0 for the root.
    depth: u32,
    /// The call that the session answers, or that began it in the background. Absent for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PlaceView>,
    /// The tool of that call, which is the name of the sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
}

impl From<&TreeMember> for MemberView {
    fn from(of: &TreeMember) -> Self {
        Self {
            session: of.session.clone(),
            depth: of.depth,
            place: of.place.clone().map(Into::into),
            tool: of.tool.as_ref().map(ToString::to_string),
        }
    }
}

/// A provisional item.
#[derive(JsonSchema)]
#[schemars(rename = "DeltaEntry")]
#[expect(dead_code, reason = "only described: the engine has a type of its own")]
pub(super) struct DeltaView {
    /// The stream that the delta belongs to: a model call, or the calls of a step.
    stream: StreamId,
    /// The position of the delta in that stream, counted from 1.
    place: u64,
    /// The content.
    delta: Delta,
}

/// Deltas that are void.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: the engine has a type of its own")]
pub(super) struct Dropped {
    /// The stream of these deltas.
    stream: StreamId,
}

/// The content of the last event of a stream, which has the name `end`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EndOfStream")]
pub(super) struct End {
    /// The reason.
    pub(super) reason: Reason,
    /// The cursor from which to go on.
    pub(super) cursor: String,
}

/// The reason for the end of a stream.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EndReason")]
pub(super) enum Reason {
    /// The point was reached at which the stream was to end.
    Reached,
    /// This process stops, so that the reader goes on elsewhere.
    Stopping,
    /// The token no longer holds.
    Unauthorized,
}
