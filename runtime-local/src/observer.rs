//! Observes runs in this process.

use std::time::Duration;

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{CallId, Fence, MessageSeq, SessionKey, StepNumber, ToolName};
use holdover_core::model::TokenUsage;
use holdover_core::store::StoreErrorKind;
use holdover_core::time::Timestamp;
use holdover_core::tool::Progress;

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

/// Observes runs in this process: the model's output before it is durable, so that a person can read along, tool
/// calls, outages of the store, and the ends of runs. Methods must return quickly, because the run waits for them.
pub trait RunObserver: Send + Sync + 'static {
    /// Called when a model call begins.
    fn on_model_call(&self, _of: &Provisional) {}

    /// Called when more text has come.
    fn on_text(&self, _of: &Provisional, _text: &str) {}

    /// Called when more reasoning has come.
    fn on_reasoning(&self, _of: &Provisional, _text: &str) {}

    /// Called when the model begins to ask for a tool.
    fn on_call_started(&self, _of: &Provisional, _tool: &str) {}

    /// Called when a model call was answered, with its usage.
    fn on_model_answered(&self, _of: &Provisional, _used: TokenUsage) {}

    /// Called when a tool call was sent.
    fn on_call_sent(&self, _session: &SessionKey, _call: &CallId, _tool: &ToolName) {}

    /// Called when a tool call in flight has reported progress: with all reports since the last time, as one. Called at
    /// most once for each call in one [`delta_interval`](crate::RuntimeOptions::delta_interval), and never if the
    /// runtime has none.
    fn on_call_progress(&self, _session: &SessionKey, _call: &CallId, _progress: &Progress) {}

    /// Called when a tool call is no longer in flight, whatever its result.
    fn on_call_over(&self, _session: &SessionKey, _call: &CallId) {}

    /// Called when the store fails and a run waits for it: at the first failure, and then at most every 30 seconds
    /// until the store answers or the run gives up.
    fn on_store_outage(&self, _outage: &StoreOutage) {}

    /// Called when the store for which a run waited answers again.
    fn on_store_outage_over(&self, _outage: &StoreOutage) {}

    /// Called when a run is over. Everything that it left is durable.
    fn on_run_over(&self, _session: &SessionKey, _outcome: &RunOutcome) {}
}
