//! Decides whether a turn goes on after a step (requirements B17, C37 to C43, A17 to A19).

use super::state::SteeringFrom;
use super::turn::Turn;
use crate::time::Timestamp;
use crate::words::agent::{AgentSpec, Limits, Prices, StopCondition, StopSignals};
use crate::words::ending::{DoneReason, Ending};
use crate::words::error::ErrorInfo;
use crate::words::model::{StopReason, TokenUsage};
use crate::words::output::{OutputCheck, OutputSpec};
use crate::words::procedure::ProcedureNature;
use crate::words::usage::Usage;

/// The facts on which steering decides.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The reason for steering now.
    pub from: SteeringFrom,
    /// The turn.
    pub turn: &'a Turn,
    /// The usage of the session so far, plus the amount that is set aside for its background children.
    pub usage: &'a Usage,
    /// The agent.
    pub agent: &'a AgentSpec,
    /// The instant now.
    pub now: Timestamp,
    /// True if messages arrived that the model has not seen.
    pub messages_wait: bool,
    /// True if a hook has a correction for the model before it is asked again.
    pub corrected: bool,
    /// The nature of the state of the procedure in which the work stands. `None` without a procedure.
    pub procedure: Option<ProcedureNature>,
    /// The tools that were called successfully in this step.
    pub tools_done: &'a [String],
    /// The text of the model in this step.
    pub text: &'a str,
}

/// Returns the ending of the turn, or `None` if the turn goes on: the next step follows, or the procedure waits.
///
/// The first rule that applies decides:
///
/// 1. A handoff ends the turn.
/// 2. A valid return value ends the turn.
/// 3. A stop signal of a tool, or a stop condition, ends the turn.
/// 4. The turn fails if the model owes a return value after the last reminder.
/// 5. In a parked state of the procedure, the turn waits.
/// 6. The turn fails if the model refused to answer.
/// 7. The turn goes on after calls, if messages wait, if a hook corrects the model, in a working state of the
///    procedure, if the model owes a return value, or if a resumed turn has no whole answer yet. Then the step limit
///    and the budgets may end it.
/// 8. The turn fails if the answer was cut off. In all other cases it ends normally.
///
/// Stops from outside are handled elsewhere.
pub fn decide(view: &View<'_>) -> Option<Ending> {
    if let (SteeringFrom::Calls { .. }, Some(to)) = (view.from, &view.turn.handing_over) {
        return Some(Ending::handing_over(to.as_ref().clone()));
    }
    if let SteeringFrom::Calls { output: Some(OutputCheck::Fits(place)), .. } = view.from {
        return Some(Ending::output(place));
    }
    if stop_signal(view) {
        return Some(Ending::of(DoneReason::ToolStop));
    }
    let no_output = gives_no_output(view);
    if let Some(output) = view.agent.output.as_ref().filter(|_| no_output)
        && view.turn.no_output >= output.retries
    {
        return Some(Ending::error(unfinished(output)));
    }
    if view.procedure == Some(ProcedureNature::Parked) {
        return None;
    }
    let led_on = goes_on_with_procedure(view);
    let goes_on = match view.from {
        SteeringFrom::Answer { stop: StopReason::Refusal } => return Some(Ending::error(refused())),
        SteeringFrom::Answer { .. } => view.messages_wait || view.corrected || led_on || no_output,
        SteeringFrom::Calls { .. } => true,
        // The turn was stopped or failed after the model's last answer. The model is not asked for another one.
        SteeringFrom::Resumed => !view.turn.answered || view.messages_wait || led_on || no_output,
    };
    if !goes_on {
        return Some(match view.from {
            SteeringFrom::Answer { stop: StopReason::MaxTokens } => {
                Ending::error(cut_off(&view.agent.limits))
            }
            SteeringFrom::Answer { .. } | SteeringFrom::Calls { .. } | SteeringFrom::Resumed => {
                Ending::of(DoneReason::ModelStop)
            }
        });
    }
    let allowed = view.turn.allowance();
    let most = view.agent.limits.max_steps.saturating_add(view.turn.granted);
    if view.turn.steps >= allowed.steps.map_or(most, |steps| steps.min(most)) {
        return Some(Ending::of(DoneReason::MaxTurns));
    }
    over_budget(view, &view.agent.limits).then(|| Ending::of(DoneReason::BudgetExceeded))
}

/// Returns true if the model ended its turn in a working state of the procedure, and is told where the work stands.
/// Messages that have arrived meanwhile, and corrections of hooks, come first.
pub(crate) fn goes_on_with_procedure(view: &View<'_>) -> bool {
    let works = view.procedure == Some(ProcedureNature::Working);
    works
        && !view.messages_wait
        && !view.corrected
        && match view.from {
            SteeringFrom::Answer { stop } => stop.is_whole(),
            SteeringFrom::Calls { .. } => false,
            SteeringFrom::Resumed => view.turn.answered,
        }
}

/// Returns true if the turn must return a value, and the step returned none or one that does not fit the schema.
/// Messages that have arrived meanwhile, and corrections of hooks, come first. An answer that was cut off or refused
/// is another error. Where the procedure does not rest, no value is owed.
pub(crate) fn gives_no_output(view: &View<'_>) -> bool {
    let owed = view.procedure.is_none_or(|nature| nature == ProcedureNature::Rest);
    view.agent.output.is_some()
        && owed
        && match view.from {
            SteeringFrom::Answer { stop } => stop.is_whole() && !view.messages_wait && !view.corrected,
            SteeringFrom::Calls { output, .. } => output == Some(OutputCheck::Misfit),
            SteeringFrom::Resumed => view.turn.answered && !view.messages_wait,
        }
}

fn unfinished(output: &OutputSpec) -> ErrorInfo {
    let why =
        format!("the model gave no value that fits by {}, told so {} times", output.tool, output.retries);
    ErrorInfo::new("model.no_output", why)
}

fn refused() -> ErrorInfo {
    ErrorInfo::new("model.refusal", "the model refused to answer, or its answer was filtered")
}

fn cut_off(limits: &Limits) -> ErrorInfo {
    let most = limits.max_output_tokens;
    let why =
        format!("the answer was cut off, at limits.max_output_tokens ({most}) or the end of the context");
    ErrorInfo::new("model.max_tokens", why)
}

fn stop_signal(view: &View<'_>) -> bool {
    let by_tool = match (view.from, view.agent.stop_signals) {
        (SteeringFrom::Calls { stop_signal, .. }, StopSignals::Any) => stop_signal,
        (SteeringFrom::Calls { all_say_stop, .. }, StopSignals::All) => all_say_stop,
        (SteeringFrom::Answer { .. } | SteeringFrom::Resumed, _) => false,
    };
    by_tool
        || view.agent.stop_when.iter().any(|condition| match condition {
            StopCondition::ToolDone(name) => view.tools_done.iter().any(|done| done == name.as_str()),
            StopCondition::TextContains(text) => view.text.contains(text.as_str()),
        })
}

fn over_budget(view: &View<'_>, limits: &Limits) -> bool {
    let allowed = view.turn.allowance();
    let used = view.turn.used_before.map_or(*view.usage, |before| view.usage.since(&before));
    reached(used.tokens.total(), allowed.tokens)
        || reached(used.cost_microusd, allowed.cost_microusd)
        || is_spent(view.usage, limits)
        || reached(view.turn.worked_until(view.now), limits.max_run_ms)
}

/// Returns true if a session has reached its limit on tokens or on cost.
pub(crate) fn is_spent(usage: &Usage, limits: &Limits) -> bool {
    reached(usage.tokens.total(), limits.max_tokens) || reached(usage.cost_microusd, limits.max_cost_microusd)
}

fn reached(used: u64, limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| used >= limit)
}

/// Returns the cost of a model call, in millionths of a dollar, rounded down.
pub fn cost_microusd(tokens: &TokenUsage, prices: &Prices) -> u64 {
    // Cached tokens are part of the input tokens. A provider may report more cached tokens than input tokens.
    let cached = tokens.cached.min(tokens.input);
    let written = tokens.cache_written.min(tokens.input - cached);
    let priced = [
        (tokens.input - cached - written, prices.input_microusd),
        (cached, prices.cached_microusd.unwrap_or(prices.input_microusd)),
        (written, prices.cache_written_microusd.unwrap_or(prices.input_microusd)),
        (tokens.output, prices.output_microusd),
    ];
    let millionths = priced
        .iter()
        .fold(0_u128, |sum, (count, price)| sum.saturating_add(u128::from(*count) * u128::from(*price)));
    u64::try_from(millionths / 1_000_000).unwrap_or(u64::MAX)
}
