//! What model calls used: those that gave a whole answer, and those that were broken off or stopped on their way.

use super::partial::StoppedModel;
use super::{ShortenedInVain, StepIterator};
use crate::agent::Prices;
use crate::compaction::estimate;
use crate::machine::{AgentState, DoneReason, Ending, Input, Usage, steering};
use crate::model::{PartialUse, TokenUsage};

impl StepIterator {
    /// What a summary used, with what it cost: it is made by the model of all modes.
    pub(super) fn usage_of(&self, tokens: TokenUsage) -> Usage {
        usage(tokens, self.prices_of_summary())
    }

    /// What an answer used, with what it cost: it is the one of the model of the mode.
    pub(super) fn usage_of_answer(&self, tokens: TokenUsage) -> Usage {
        usage(tokens, self.prices_of_answer())
    }

    /// What an answer used that was broken off; nothing, if none had begun.
    pub(super) fn usage_of_broken(&self, used: Option<PartialUse>) -> Usage {
        self.usage_of_part(used, self.prices_of_answer(), self.tokens())
    }

    /// The same of a summary.
    pub(super) fn usage_of_broken_summary(&self, used: Option<PartialUse>) -> Usage {
        self.usage_of_part(used, self.prices_of_summary(), self.tokens())
    }

    /// The same of the summary of an old result, for which the model was shown so many tokens.
    pub(super) fn usage_of_broken_short(&self, broken: &ShortenedInVain) -> Usage {
        self.usage_of_part(Some(broken.used), self.prices_of_summary(), broken.shown)
    }

    /// Counts what a model call used that was stopped on its way.
    pub(super) fn count_stopped(&mut self, stopped: StoppedModel, used: Option<PartialUse>) {
        if used.is_none() {
            return;
        }
        let usage =
            if stopped.summary { self.usage_of_broken_summary(used) } else { self.usage_of_broken(used) };
        self.mind.draft.decided = true;
        self.feed(Input::ModelStopped { usage });
    }

    /// Ends the turn where a step asks a model once more though the session has used up what it may: answers that break off
    /// lead to no steering. False: the model is asked.
    pub(super) fn end_over_budget(&mut self) -> bool {
        let AgentState::Thinking { attempt, .. } = self.mind.machine.state else { return false };
        let again = attempt > 0 || self.mind.machine.turn.model > 0;
        let spent = |limits| steering::is_spent(&self.mind.machine.usage, limits);
        if !again || !self.agent.as_ref().is_some_and(|agent| spent(&agent.limits)) {
            return false;
        }
        self.mind.draft.decided = true;
        self.feed(Input::CutShort { ending: Ending::of(DoneReason::BudgetExceeded), drains: false })
    }

    /// What the provider counted. Of an answer that did not come whole, where it counted nothing: what the model was
    /// `shown`, and what came of its answer, as [`estimate`] says it.
    fn usage_of_part(&self, used: Option<PartialUse>, prices: Option<&Prices>, shown: u64) -> Usage {
        let Some(PartialUse { counted, bytes, whole }) = used else { return Usage::default() };
        if whole {
            return usage(counted, prices);
        }
        let shown = if counted.input == 0 { shown } else { 0 };
        let said = estimate(bytes).saturating_sub(counted.output);
        let tokens = TokenUsage {
            input: counted.input.saturating_add(shown),
            output: counted.output.saturating_add(said),
            ..counted
        };
        Usage { estimated_tokens: shown.saturating_add(said), ..usage(tokens, prices) }
    }

    fn prices_of_summary(&self) -> Option<&Prices> {
        self.agent.as_ref().map(|agent| agent.prices(self.mind.machine.turn.model))
    }

    fn prices_of_answer(&self) -> Option<&Prices> {
        let (mode, model) = (self.mode(), self.mind.machine.turn.model);
        self.agent.as_ref().map(|agent| agent.prices_in(mode, model))
    }
}

/// What one model call used.
fn usage(tokens: TokenUsage, prices: Option<&Prices>) -> Usage {
    let cost_microusd = prices.map_or(0, |prices| steering::cost_microusd(&tokens, prices));
    Usage { tokens, cost_microusd, model_calls: 1, ..Usage::default() }
}
