//! The models of an agent: its own, those of single modes, its fallbacks, and its circuit breaker.

use std::sync::Arc;

use holdover_core::agent::{BreakerRules, Fallback, Prices, Retries};
use holdover_core::mode::Mode;
use holdover_core::model::Model;

use super::AgentBuilder;

impl AgentBuilder {
    /// Sets the model that the agent thinks with.
    pub fn model(self, model: impl Model) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// Sets the model that the agent thinks with, shared with others.
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Sets the model that the agent thinks with in `mode`, instead of the one for all modes. The latter
    /// still makes the summaries. The fallbacks are the same in all modes. The tokens of this model cost as
    /// much as those of the other.
    pub fn model_in(mut self, mode: Mode, model: Arc<dyn Model>) -> Self {
        self.models.insert(mode, model);
        self.spec.mode_prices.remove(&mode);
        self
    }

    /// Sets the model of a mode, with prices of its own.
    pub fn priced_model_in(mut self, mode: Mode, model: Arc<dyn Model>, prices: Prices) -> Self {
        self = self.model_in(mode, model);
        self.spec.mode_prices.insert(mode, prices);
        self
    }

    /// Adds a model that is asked in the same step when the models before it refuse for good, or have failed
    /// on every try. May be called several times. The tokens of this model cost as much as those of the
    /// agent's own model.
    pub fn fallback(self, model: impl Model) -> Self {
        self.shared_fallback(Arc::new(model), None)
    }

    /// Adds a fallback that is shared with others, with prices of its own if there are any.
    pub fn shared_fallback(mut self, model: Arc<dyn Model>, prices: Option<Prices>) -> Self {
        self.spec.fallback.push(Fallback { model: model.name().to_owned(), prices });
        self.fallback.push(model);
        self
    }

    /// Sets what is retried after a failure, and after which waits.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.spec.retries = retries;
        self
    }

    /// Sets the rules by which a failing model is skipped for a while. What one session learns of a model,
    /// all agents that set a breaker know, in any process on the same store. A model is identified by its
    /// [circuit](Model::circuit): for the models of this repository, by its name, its server and its account.
    /// Without a breaker, each session finds out by itself.
    pub fn breaker(mut self, rules: BreakerRules) -> Self {
        self.spec.breaker = Some(rules);
        self
    }
}
