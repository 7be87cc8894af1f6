//! The part of an agent that shortens old results.

use std::sync::Arc;

use holdover_core::compaction::ResultSummariser;
use holdover_core::model::Model;

use super::AgentBuilder;

/// The part of an agent that shortens old results, if it is not the agent's model.
#[derive(Clone)]
pub(crate) enum Summariser {
    /// Code of the program. It uses no tokens of the agent, and no hook is asked about it.
    Own(Arc<dyn ResultSummariser>),
    /// Another model, which is asked as the agent's model would be.
    Model(Arc<dyn Model>),
}

impl AgentBuilder {
    /// Sets the summariser that shortens old results before they are cleared, and turns
    /// [`Compaction::summarise_results`](holdover_core::agent::Compaction::summarise_results) on. If that setting is on
    /// and no summariser is set, the agent's model shortens them.
    pub fn result_summariser(self, summariser: impl ResultSummariser) -> Self {
        self.shared_result_summariser(Arc::new(summariser))
    }

    /// Does the same as [`result_summariser`](Self::result_summariser), with a summariser that may be shared with
    /// other agents.
    pub fn shared_result_summariser(mut self, summariser: Arc<dyn ResultSummariser>) -> Self {
        self.summariser = Some(Summariser::Own(summariser));
        self
    }

    /// Sets the model that shortens old results before they are cleared, and turns
    /// [`Compaction::summarise_results`](holdover_core::agent::Compaction::summarise_results) on. It replaces a
    /// [summariser](Self::result_summariser) that was set before. Hooks see its requests and answers like those of the
    /// agent's model. Its tokens count towards the limits of the agent, at the prices of the agent's model. It has no
    /// retries, and no fallback.
    pub fn summariser_model(mut self, model: Arc<dyn Model>) -> Self {
        self.summariser = Some(Summariser::Model(model));
        self
    }
}
