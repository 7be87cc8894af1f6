//! A session with its result and its pending calls.

use holdover_core::error::ErrorInfo;
use holdover_core::ids::SessionKey;
use holdover_core::machine::{DoneReason, Usage};
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Response, Runtime, RuntimeError, Snapshot};
use schemars::JsonSchema;
use serde::Serialize;

use super::{OutcomeView, PendingList, SessionView};

/// A session, with everything that a page about it shows besides its messages.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionDetails")]
pub(crate) struct Details {
    #[serde(flatten)]
    session: SessionView,
    /// The usage up to the newest commit.
    usage: Usage,
    /// The ending of the last turn, or the reason why the turn waits. Absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeView>,
    /// The result of the last turn. Absent before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ResultView>,
    /// The calls that wait for an answer.
    pending: PendingList,
    /// The cursor from which to follow what happens next.
    cursor: EventCursor,
}

/// The result of a turn.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TurnResult")]
struct ResultView {
    /// The reason for the ending.
    reason: DoneReason,
    /// The agent's last text in the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The number of steps of the turn.
    steps: u32,
    /// The usage of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// The error, if the turn failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorInfo>,
}

impl From<Response> for ResultView {
    fn from(of: Response) -> Self {
        Self { reason: of.reason, text: of.text, steps: of.steps, usage: of.usage, error: of.error }
    }
}

impl Details {
    /// Reads a session.
    pub(crate) async fn read(runtime: &Runtime, key: &SessionKey) -> Result<Self, RuntimeError> {
        let Snapshot { standing, cursor, .. } = runtime.snapshot(key, 0).await?;
        let result = runtime.response(key).await?;
        Ok(Self {
            session: (&standing.session).into(),
            usage: standing.usage,
            outcome: standing.outcome.map(Into::into),
            result: result.map(Into::into),
            pending: PendingList::of(standing.pending, standing.unreadable),
            cursor,
        })
    }
}
