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
use tokio::time::{Instant, timeout};

use crate::agent::{Agent, EquippedTool};
use crate::arguments::parse_arguments;
use crate::guard::guarded;

/// Rules on every question, side by side.
pub(crate) async fn consult(agent: Arc<Agent>, questions: Vec<GateQuestion>) -> Vec<(CallId, Ruling)> {
    join_all(questions.into_iter().map(|question| {
        let agent = Arc::clone(&agent);
        async move {
            let call = question.call.clone();
            let asked = guarded(rule(agent, question));
            let began = Instant::now();
            let ruling = match timeout(GATE_TIMEOUT, asked).await {
                // A gate that held its thread is heard late, and its word counts no more.
                Ok(_) if began.elapsed() > GATE_TIMEOUT => {
                    unavailable(format!("it answered after more than {} s", GATE_TIMEOUT.as_secs()))
                }
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
        Ok(Verdict::Deny { reason, rule }) => Ruling::Deny { reason, rule },
        Ok(Verdict::NeedsApproval { prompt, terms }) => Ruling::NeedsApproval { prompt, terms, profile },
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

fn unavailable(detail: String) -> Ruling {
    Ruling::Unavailable { detail }
}
