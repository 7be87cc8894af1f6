//! The usage of model calls, including those that were broken off or stopped.

use crate::engine::compaction::estimate;
use crate::engine::context::Context;
use crate::engine::model::ModelHandler;
use crate::engine::reply::ShortenedInVain;
use crate::machine::{AgentState, steering};
use crate::words::agent::Prices;
use crate::words::ending::{DoneReason, Ending};
use crate::words::history::Input;
use crate::words::model::{PartialUse, TokenUsage};
use crate::words::usage::Usage;

impl Context {
    /// Returns the usage and cost of a summary. Summaries are made by the model for all modes.
    pub(crate) fn usage_of(&self, tokens: TokenUsage) -> Usage {
        usage(tokens, self.prices_of_summary())
    }

    /// Returns the usage and cost of an answer. Answers come from the model for the present mode.
    pub(crate) fn usage_of_answer(&self, tokens: TokenUsage) -> Usage {
        usage(tokens, self.prices_of_answer())
    }

    /// Returns the usage of an answer that was broken off; zero if none had begun.
    pub(crate) fn usage_of_broken(&self, used: Option<PartialUse>) -> Usage {
        self.usage_of_part(used, self.prices_of_answer(), self.mind.tokens())
    }

    /// Returns the usage of a request for a summary that failed; zero if `used` is `None`, because the model had
    /// not begun to answer.
    pub(crate) fn usage_of_broken_summary(&self, used: Option<PartialUse>) -> Usage {
        self.usage_of_part(used, self.prices_of_summary(), self.mind.tokens())
    }

    /// Returns the usage of a failed summary of an old result.
    pub(crate) fn usage_of_broken_short(&self, broken: &ShortenedInVain) -> Usage {
        self.usage_of_part(Some(broken.used), self.prices_of_summary(), broken.shown)
    }

    /// Counts the usage of a model call that was stopped before its end.
    pub(crate) fn count_stopped(&mut self, summary: bool, used: Option<PartialUse>) {
        if used.is_none() {
            return;
        }
        let usage = if summary { self.usage_of_broken_summary(used) } else { self.usage_of_broken(used) };
        self.mind.draft.decided = true;
        self.feed(Input::ModelStopped { usage });
    }

    /// Returns the usage as the provider counted it. If the answer is incomplete, the parts that the provider did
    /// not count are estimated by [`estimate`]: the messages that the model was `shown`, and the part of the answer
    /// that arrived.
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
        self.run.agent.as_ref().map(|agent| agent.prices(self.mind.machine.turn.model))
    }

    fn prices_of_answer(&self) -> Option<&Prices> {
        let (mode, model) = (self.mode(), self.mind.machine.turn.model);
        self.run.agent.as_ref().map(|agent| agent.prices_in(mode, model))
    }
}

impl ModelHandler<'_> {
    /// Ends the turn if a step asks a model again although the session has used up its budget. Steering does not
    /// see answers that break off, so the budget is checked here. Returns false if the model may be asked.
    pub(crate) fn end_over_budget(&mut self) -> bool {
        let AgentState::Thinking { attempt, .. } = self.cx.mind.machine.state else { return false };
        let again = attempt > 0 || self.cx.mind.machine.turn.model > 0;
        let used = self.cx.mind.machine.used_and_set_aside();
        let spent = |limits| steering::is_spent(&used, limits);
        if !again || !self.cx.run.agent.as_ref().is_some_and(|agent| spent(&agent.limits)) {
            return false;
        }
        self.cx.mind.draft.decided = true;
        self.cx.feed(Input::CutShort { ending: Ending::of(DoneReason::BudgetExceeded), drains: false })
    }
}

/// Returns the usage of one model call.
fn usage(tokens: TokenUsage, prices: Option<&Prices>) -> Usage {
    let cost_microusd = prices.map_or(0, |prices| steering::cost_microusd(&tokens, prices));
    Usage { tokens, cost_microusd, model_calls: 1, ..Usage::default() }
}
