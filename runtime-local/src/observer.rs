//! Observes runs in this process.

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{CallId, MessageSeq, SessionKey, StepNumber, ToolName};
use holdover_core::model::TokenUsage;

use crate::outage::StoreOutage;

/// Which model call something provisional comes from. Only the commit of the message makes it true: the
/// next attempt may say something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provisional {
    /// Which session.
    pub session: SessionKey,
    /// Which step.
    pub step: StepNumber,
    /// Which attempt at it, from 0.
    pub attempt: u32,
    /// The newest message that the model is shown; 0 for none. What it says comes after that one.
    pub after: MessageSeq,
}

/// Told of what happens in this process: what models say before it is durable, so that a person may read
/// along, and how runs end. It must return at once: whoever calls it waits.
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

    /// A tool call is out.
    fn on_call_sent(&self, _session: &SessionKey, _call: &CallId, _tool: &ToolName) {}

    /// A tool call that was out is not any more, whatever became of it.
    fn on_call_over(&self, _session: &SessionKey, _call: &CallId) {}

    /// The store fails, and a run waits for it. Told at the first failure, then every 30 seconds until the store answers
    /// or the run gives up.
    fn on_store_outage(&self, _outage: &StoreOutage) {}

    /// The store answers again what a run waited for.
    fn on_store_outage_over(&self, _outage: &StoreOutage) {}

    /// A run is over; what it left is durable.
    fn on_run_over(&self, _session: &SessionKey, _outcome: &RunOutcome) {}
}
