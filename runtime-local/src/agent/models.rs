//! The models of an agent: its own, those of single modes, its fallbacks, and its circuit breaker.

use std::sync::Arc;

use holdover_core::agent::{BreakerRules, Fallback, Prices, Retries};
use holdover_core::mode::Mode;
use holdover_core::model::Model;

use super::AgentBuilder;

impl AgentBuilder {
    /// The model it thinks with.
    pub fn model(self, model: impl Model) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// The model it thinks with, shared with others.
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// The model it thinks with in `mode`, instead of the one for all modes, which makes its summaries. What it falls
    /// back on is the same in all modes. Its tokens cost as much as those of that one.
    pub fn model_in(mut self, mode: Mode, model: Arc<dyn Model>) -> Self {
        self.models.insert(mode, model);
        self.spec.mode_prices.remove(&mode);
        self
    }

    /// The same, with prices of its own.
    pub fn priced_model_in(mut self, mode: Mode, model: Arc<dyn Model>, prices: Prices) -> Self {
        self = self.model_in(mode, model);
        self.spec.mode_prices.insert(mode, prices);
        self
    }

    /// A model that is asked in the same step when the ones before it refuse for good, or have failed as often as they
    /// are tried. May be said several times. Its tokens cost as much as those of the agent's own model.
    pub fn fallback(self, model: impl Model) -> Self {
        self.shared_fallback(Arc::new(model), None)
    }

    /// The same, shared with others, with prices of its own if there are any.
    pub fn shared_fallback(mut self, model: Arc<dyn Model>, prices: Option<Prices>) -> Self {
        self.spec.fallback.push(Fallback { model: model.name().to_owned(), prices });
        self.fallback.push(model);
        self
    }

    /// What is tried again when it failed, and after which waits.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.spec.retries = retries;
        self
    }

    /// When its models are left alone because their providers fail: what one session finds out, on any process that shares
    /// the store, all that set a breaker know. A model is known by its [circuit](Model::circuit): of those in this repository
    /// by its name, its server and its account. Without it each session finds out by itself.
    pub fn breaker(mut self, rules: BreakerRules) -> Self {
        self.spec.breaker = Some(rules);
        self
    }
}
