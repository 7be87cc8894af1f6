//! Checks the settings of an agent. Refuses zeros with which nothing would happen, limits that could never be
//! reached, and a stop condition that every text meets.

use holdover_core::agent::{AgentSpec, COUNTED_MAX, StopCondition};

use crate::error::AgentError;

/// Returns an error for the first setting that is out of its bounds.
pub(super) fn check(agent: &str, spec: &AgentSpec) -> Result<(), AgentError> {
    let refused = zero(spec).or_else(|| unreachable(spec)).or_else(|| spec.breaker.as_ref()?.fault());
    match refused {
        Some((field, why)) => {
            Err(AgentError::Bound { agent: agent.to_owned(), field: field.to_owned(), why })
        }
        None => Ok(()),
    }
}

/// Returns an error for the first fallback of a tool that cannot work.
pub(super) fn check_fallbacks(agent: &str, spec: &AgentSpec) -> Result<(), AgentError> {
    match spec.fault_of_fallbacks() {
        Some((tool, why)) => {
            Err(AgentError::ToolFallback { agent: agent.to_owned(), tool: tool.clone(), why })
        }
        None => Ok(()),
    }
}

/// A field, and the reason why its value is refused.
type Refused = (&'static str, String);

fn zero(spec: &AgentSpec) -> Option<Refused> {
    let (limits, compaction) = (&spec.limits, &spec.compaction);
    let zero = [
        ("limits.max_steps", limits.max_steps == 0),
        ("limits.max_output_tokens", limits.max_output_tokens == 0),
        ("limits.tool_timeout_ms", limits.tool_timeout_ms == 0),
        ("limits.answer_timeout_ms", limits.answer_timeout_ms == Some(0)),
        ("limits.result_bytes_max", limits.result_bytes_max == 0),
        ("limits.error_bytes_max", limits.error_bytes_max == 0),
        ("limits.result_chars_shown", limits.result_chars_shown == 0),
        ("state.bytes_max", spec.state.bytes_max == 0),
        ("compaction.context_tokens", compaction.context_tokens == 0),
        ("compaction.kept_turns", compaction.kept_turns == 0),
        ("compaction.summary_tokens", compaction.summary_tokens == 0),
        ("compaction.timeout_ms", compaction.timeout_ms == 0),
        ("loops.withheld_steps", spec.loops.withhold_at > 0 && spec.loops.withheld_steps == 0),
    ];
    let (field, _) = zero.into_iter().find(|(_, is_zero)| *is_zero)?;
    Some((field, "is zero".to_owned()))
}

fn unreachable(spec: &AgentSpec) -> Option<Refused> {
    let loops = &spec.loops;
    let tiers = [
        ("loops.stop_at", loops.stop_at),
        ("loops.warn_at", loops.warn_at),
        ("loops.withhold_at", loops.withhold_at),
    ];
    if let Some((field, at)) = tiers.into_iter().find(|(_, at)| *at > COUNTED_MAX) {
        return Some((field, format!("is {at}, at most {COUNTED_MAX} like calls are counted")));
    }
    let stops = loops.stop_at;
    if let Some((field, at)) = tiers.into_iter().skip(1).find(|(_, at)| stops > 0 && *at >= stops) {
        return Some((field, format!("is {at}: the turn ends at {stops} (loops.stop_at)")));
    }
    let percent = spec.compaction.threshold_percent;
    if percent > 100 {
        return Some(("compaction.threshold_percent", format!("is {percent}, more than all")));
    }
    let says_nothing = |condition: &StopCondition| match condition {
        StopCondition::TextContains(text) => text.is_empty(),
        StopCondition::ToolDone(_) => false,
    };
    let always = spec.stop_when.iter().any(says_nothing);
    always.then(|| ("stop_when", "text_contains is empty: every text contains it".to_owned()))
}
