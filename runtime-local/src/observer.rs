//! Looking on while a model answers.

use holdover_core::ids::{SessionKey, StepNumber};

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
}

/// Told of what models say before it is durable, so that a person may read along. Called in the middle of
/// the stream: it must return at once.
pub trait RunObserver: Send + Sync + 'static {
    /// A model call begins.
    fn on_model_call(&self, _of: &Provisional) {}

    /// More text came.
    fn on_text(&self, _of: &Provisional, _text: &str) {}

    /// More reasoning came.
    fn on_reasoning(&self, _of: &Provisional, _text: &str) {}

    /// The model began to ask for a tool.
    fn on_call_started(&self, _of: &Provisional, _tool: &str) {}
}
