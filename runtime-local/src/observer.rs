//! Observes runs in this process.

use std::time::Duration;

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{CallId, Fence, MessageSeq, SessionKey, StepNumber, ToolName};
use holdover_core::model::TokenUsage;
use holdover_core::store::StoreErrorKind;
use holdover_core::time::Timestamp;

/// The model call that provisional output comes from. The output becomes final only with the commit of the message.
/// The next attempt may produce different output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provisional {
    /// The session.
    pub session: SessionKey,
    /// The step.
    pub step: StepNumber,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// The newest message that the model is shown, or 0 for none. The answer comes after that message.
    pub after: MessageSeq,
}

/// An outage of the store. A run waits until the store works again, as long as the lease of its session
/// lasts. Nothing is lost meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreOutage {
    /// The fence of the run that waits. It names the session.
    pub run: Fence,
    /// The kind of the newest failure: [`Full`](StoreErrorKind::Full) if there is no room.
    pub kind: StoreErrorKind,
    /// The newest failure in one line. It names the operation that is tried again.
    pub error: String,
    /// The time of the first failure, by the store's clock.
    pub since: Timestamp,
    /// The time since the first attempt failed.
    pub lasts: Duration,
}

/// Observes runs in this process: the model's text before it is durable, so that a person can read along, and the
/// ends of runs. Methods must return quickly, because the run waits for them.
pub trait RunObserver: Send + Sync + 'static {
    /// A model call begins.
    fn on_model_call(&self, _of: &Provisional) {}

    /// More text came.
    fn on_text(&self, _of: &Provisional, _text: &str) {}

    /// More reasoning came.
    fn on_reasoning(&self, _of: &Provisional, _text: &str) {}

    /// The model began to ask for a tool.
    fn on_call_started(&self, _of: &Provisional, _tool: &str) {}

    /// A model call was answered.
    fn on_model_answered(&self, _of: &Provisional, _used: TokenUsage) {}

    /// A tool call was sent.
    fn on_call_sent(&self, _session: &SessionKey, _call: &CallId, _tool: &ToolName) {}

    /// A tool call is no longer out, whatever its result.
    fn on_call_over(&self, _session: &SessionKey, _call: &CallId) {}

    /// The store fails, and a run waits for it. Called at the first failure. Later failures are reported at
    /// most every 30 seconds, until the store answers or the run gives up.
    fn on_store_outage(&self, _outage: &StoreOutage) {}

    /// The store for which a run waited answers again.
    fn on_store_outage_over(&self, _outage: &StoreOutage) {}

    /// A run is over. Everything that it left is durable.
    fn on_run_over(&self, _session: &SessionKey, _outcome: &RunOutcome) {}
}
