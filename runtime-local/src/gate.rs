//! The one chokepoint: whether a call may run. Every call from every path passes it before it runs.
//!
//! The arguments must be JSON of bounded depth, fit the tool's schema, and pass the policy. A policy that
//! is silent for five seconds, fails or panics is a denial (INV-20).

use std::sync::Arc;

use futures::future::join_all;
use holdover_core::gate::{GATE_TIMEOUT, GateQuestion, Verdict};
use holdover_core::ids::CallId;
use holdover_core::step::Ruling;
use holdover_core::tool::ResourceProfile;
use serde_json::Value;
use tokio::time::timeout;

use crate::agent::{Agent, EquippedTool};
use crate::guard::guarded;

/// How deeply the arguments of a call may be nested.
pub const JSON_DEPTH_MAX: usize = 64;

/// Rules on every question, side by side.
pub(crate) async fn consult(agent: Arc<Agent>, questions: Vec<GateQuestion>) -> Vec<(CallId, Ruling)> {
    join_all(questions.into_iter().map(|question| {
        let agent = Arc::clone(&agent);
        async move {
            let call = question.call.clone();
            let asked = guarded(rule(agent, question));
            let ruling = match timeout(GATE_TIMEOUT, asked).await {
                Ok(Ok(ruling)) => ruling,
                Ok(Err(panicked)) => unavailable(format!("it panicked: {}", panicked.0)),
                Err(_) => unavailable(format!("it was silent for {} s", GATE_TIMEOUT.as_secs())),
            };
            (call, ruling)
        }
    }))
    .await
}

async fn rule(agent: Arc<Agent>, question: GateQuestion) -> Ruling {
    let Some(tool) = agent.tool(&question.tool) else {
        return Ruling::Invalid { detail: format!("there is no tool {}", question.tool) };
    };
    let profile = match check(tool, &question.arguments) {
        Ok(profile) => profile,
        Err(detail) => return Ruling::Invalid { detail },
    };
    match agent.gate().consult(&question).await {
        Ok(Verdict::Allow) => Ruling::Allow { profile },
        Ok(Verdict::Deny { reason }) => Ruling::Deny { reason },
        Ok(Verdict::NeedsApproval { .. }) if question.approved => Ruling::Allow { profile },
        Ok(Verdict::NeedsApproval { prompt }) => Ruling::NeedsApproval { prompt, profile },
        Err(error) => unavailable(error.0),
    }
}

/// What a call with these arguments touches, or why they do not fit.
fn check(tool: &EquippedTool, arguments: &str) -> Result<ResourceProfile, String> {
    let arguments = parse_arguments(arguments)?;
    match tool.schema.validate(&arguments) {
        Ok(()) => Ok(tool.tool.profile(&arguments)),
        Err(error) => {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { String::from("arguments") } else { place };
            Err(format!("{place}: {error}"))
        }
    }
}

/// Reads the arguments of a call. Nothing at all is read as no arguments: some models say it so.
pub(crate) fn parse_arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let depth = depth(text);
    if depth > JSON_DEPTH_MAX {
        return Err(format!("arguments: nested {depth} deep, at most {JSON_DEPTH_MAX} are allowed"));
    }
    serde_json::from_str(text).map_err(|error| format!("arguments: not JSON: {error}"))
}

/// How deeply brackets outside of strings are nested. Looked at before anything is parsed.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => in_string = false,
            (false, b'"') => in_string = true,
            (false, b'{' | b'[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (_, _) => {}
        }
    }
    deepest
}

fn unavailable(detail: String) -> Ruling {
    Ruling::Unavailable { detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_of_bounded_depth_and_nothing_means_none() {
        assert_eq!(parse_arguments(" "), Ok(serde_json::json!({})));
        assert!(parse_arguments("{").is_err());
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse_arguments(&nested(JSON_DEPTH_MAX)).is_ok());
        assert!(parse_arguments(&nested(JSON_DEPTH_MAX + 1)).is_err());
        let in_a_string = serde_json::to_string(&nested(JSON_DEPTH_MAX + 1)).unwrap();
        assert!(parse_arguments(&in_a_string).is_ok());
    }
}
