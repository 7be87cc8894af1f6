//! The models of an agent: its own, those of single modes, and its fallbacks. Also the fallbacks of tools, the retries
//! and the circuit breaker.

use std::sync::Arc;

use holdover_core::agent::{BreakerRules, Fallback, Prices, Retries};
use holdover_core::ids::ToolName;
use holdover_core::mode::Mode;
use holdover_core::model::Model;

use super::AgentBuilder;

impl AgentBuilder {
    /// Sets the agent's model.
    pub fn model(self, model: impl Model) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// Sets the agent's model. The model may be shared with other agents.
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Sets the model that the agent uses in `mode`, instead of the model for all modes. The model for all modes
    /// still makes the summaries. The fallbacks are the same in all modes. The tokens of this model have the prices
    /// of the model for all modes.
    pub fn model_in(mut self, mode: Mode, model: Arc<dyn Model>) -> Self {
        self.models.insert(mode, model);
        self.spec.mode_prices.remove(&mode);
        self
    }

    /// Sets the model that the agent uses in `mode`, with its own prices. See [`model_in`](Self::model_in).
    pub fn priced_model_in(mut self, mode: Mode, model: Arc<dyn Model>, prices: Prices) -> Self {
        self = self.model_in(mode, model);
        self.spec.mode_prices.insert(mode, prices);
        self
    }

    /// Adds a model that is asked in the same step if the models before it refuse for good, or fail on every try.
    /// May be called several times. The tokens of this model have the prices of the agent's own model.
    pub fn fallback(self, model: impl Model) -> Self {
        self.shared_fallback(Arc::new(model), None)
    }

    /// Adds a fallback. It may be shared with other agents, and may have its own prices.
    pub fn shared_fallback(mut self, model: Arc<dyn Model>, prices: Option<Prices>) -> Self {
        self.spec.fallback.push(Fallback { model: model.name().to_owned(), prices });
        self.fallback.push(model);
        self
    }

    /// Sets the tool that is called with the same arguments if a call of `tool` did not act and is not sent again. This
    /// includes a read that gave no result, unless it is dangerous. A call that may have acted has no fallback. The gate,
    /// the hooks and people decide anew, as on any call of `fallback`, and the result says which tool it is from. Replaces
    /// an earlier fallback of `tool`. A fallback may have a fallback, up to
    /// [`TOOL_FALLBACKS_MAX`](holdover_core::agent::TOOL_FALLBACKS_MAX) in a row. A sub-agent has this fallback if it has
    /// both tools.
    pub fn tool_fallback(mut self, tool: ToolName, fallback: ToolName) -> Self {
        self.spec.tool_fallbacks.insert(tool, fallback);
        self
    }

    /// Sets which failures are retried, and the waits before each retry.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.spec.retries = retries;
        self
    }

    /// Sets the rules by which a failing model is skipped for a while. All agents with a breaker share what
    /// their sessions learn about a model, in all processes on the same store. A model is identified by its
    /// [circuit](Model::circuit): for the models of this repository, by its name, its server and its account.
    /// Without a breaker, each session learns for itself.
    pub fn breaker(mut self, rules: BreakerRules) -> Self {
        self.spec.breaker = Some(rules);
        self
    }
}
