//! The one chokepoint that decides whether a call may run. Every call from every path passes it before it
//! runs.
//!
//! The arguments must be JSON of bounded depth, fit the tool's schema, and pass the hooks and the policy. If
//! the tool itself asks for an approval, the stricter of the tool and the policy counts. If either of them is
//! silent for five seconds, fails or panics, that is a denial (INV-20).

mod hooked;

use std::sync::Arc;

use futures::future::join_all;
use holdover_core::engine::Ruling;
use holdover_core::gate::{GATE_TIMEOUT, GateQuestion, Verdict};
use holdover_core::ids::CallId;
use holdover_core::tool::ResourceProfile;
use jsonschema::Validator;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use hooked::Passed;

use crate::agent::{Agent, EquippedTool};
use crate::arguments::parse_arguments;
use crate::guard::guarded;

/// Rules on every question, side by side.
pub(crate) async fn consult(agent: Arc<Agent>, questions: Vec<GateQuestion>) -> Vec<(CallId, Ruling)> {
    join_all(questions.into_iter().map(|question| {
        let agent = Arc::clone(&agent);
        async move { (question.call.clone(), hooked(agent, question).await) }
    }))
    .await
}

/// The hooks of the agent see a call before its gate does, and the gate sees it as they leave it.
async fn hooked(agent: Arc<Agent>, question: GateQuestion) -> Ruling {
    // What gives the value of a turn acts on nothing: no hook and no gate is asked.
    if let Some(schema) = agent.output(&question.tool).cloned() {
        return bounded(async move {
            match read_fitting(&schema, &question.arguments) {
                Ok(_) => Ruling::Allow { profile: ResourceProfile::Keys(Vec::new()) },
                Err(detail) => Ruling::Invalid { detail },
            }
        })
        .await;
    }
    if !agent.hooks().concern_calls_of(&question.tool) {
        return bounded(rule(agent, question)).await;
    }
    if let Err(ruling) = fits(&agent, &question).await {
        return ruling;
    }
    match Passed::of(&agent, question).await {
        Ok(passed) => {
            let ruling = bounded(rule(Arc::clone(&agent), passed.question.clone())).await;
            passed.ruled(ruling)
        }
        Err(ruling) => ruling,
    }
}

/// Whether the arguments fit, as far as the schema goes.
pub(crate) async fn fits(agent: &Arc<Agent>, question: &GateQuestion) -> Result<(), Ruling> {
    let (agent, question) = (Arc::clone(agent), question.clone());
    let looked = async move {
        look(&agent, &question).map_or_else(|refused| refused, |seen| Ruling::Allow { profile: seen.profile })
    };
    let ruling = bounded(looked).await;
    if matches!(ruling, Ruling::Allow { .. }) { Ok(()) } else { Err(ruling) }
}

/// What a call touches of which it is certain now that it would be allowed as it stands: it fits, no hook would see it
/// first, its tool asks for no approval, and the gate can tell without asking anybody.
pub(crate) async fn foresee(agent: Arc<Agent>, question: GateQuestion) -> Option<ResourceProfile> {
    if agent.hooks().concern_calls_of(&question.tool) {
        return None;
    }
    let foreseen = async move {
        match look(&agent, &question) {
            Ok(Seen { profile, asks: None }) if agent.gate().foresee(&question) == Some(Verdict::Allow) => {
                Ruling::Allow { profile }
            }
            Ok(_) => unavailable(String::from("that is not certain yet")),
            Err(refused) => refused,
        }
    };
    let ruling = bounded(foreseen).await;
    if let Ruling::Allow { profile } = ruling { Some(profile) } else { None }
}

/// Why it is certain now that a call would be denied as it stands: no hook would see it first, and the gate can tell
/// without asking anybody.
pub(crate) async fn foreseen_denial(agent: Arc<Agent>, question: GateQuestion) -> Option<String> {
    if agent.hooks().concern_calls_of(&question.tool) {
        return None;
    }
    let foreseen = async move {
        match agent.gate().foresee(&question) {
            Some(Verdict::Deny { reason, rule }) => Ruling::Deny { reason, rule },
            Some(Verdict::Allow | Verdict::NeedsApproval { .. }) | None => {
                unavailable(String::from("that is not certain yet"))
            }
        }
    };
    let Ruling::Deny { reason, rule } = bounded(foreseen).await else { return None };
    let rule = rule.map(|rule| format!(" ({rule})")).unwrap_or_default();
    Some(format!("the policy denies it: {reason}{rule}"))
}

/// A ruling by code that may hang or panic: its silence is a denial.
async fn bounded(asked: impl Future<Output = Ruling> + Send + 'static) -> Ruling {
    let began = Instant::now();
    match timeout(GATE_TIMEOUT, guarded(asked)).await {
        // A gate that held its thread is heard late, and its word counts no more.
        Ok(_) if began.elapsed() > GATE_TIMEOUT => {
            unavailable(format!("it answered after more than {} s", GATE_TIMEOUT.as_secs()))
        }
        Ok(Ok(ruling)) => ruling,
        Ok(Err(panicked)) => unavailable(format!("it panicked: {}", panicked.0)),
        Err(_) => unavailable(format!("it was silent for {} s", GATE_TIMEOUT.as_secs())),
    }
}

async fn rule(agent: Arc<Agent>, question: GateQuestion) -> Ruling {
    let Seen { profile, asks } = match look(&agent, &question) {
        Ok(seen) => seen,
        Err(ruling) => return ruling,
    };
    let asks = asks.map_or(Verdict::Allow, Verdict::ask);
    match agent.gate().consult(&question).await.map(|verdict| verdict.stricter(asks)) {
        Ok(Verdict::Allow) => Ruling::Allow { profile },
        Ok(Verdict::Deny { reason, rule }) => Ruling::Deny { reason, rule },
        Ok(Verdict::NeedsApproval { terms, .. }) if question.is_approved_on(&terms) => {
            Ruling::Allow { profile }
        }
        Ok(Verdict::NeedsApproval { prompt, terms }) => {
            Ruling::NeedsApproval { prompt, terms: Box::new(terms), profile }
        }
        Err(error) => unavailable(error.0),
    }
}

/// What a tool says of a call whose arguments fit.
struct Seen {
    profile: ResourceProfile,
    /// Why people must approve it, whatever the gate says.
    asks: Option<String>,
}

/// What the tool says of a call, or why its arguments do not fit.
fn look(agent: &Agent, question: &GateQuestion) -> Result<Seen, Ruling> {
    let Some(EquippedTool { tool, schema }) = agent.tool(&question.tool) else {
        return Err(Ruling::Invalid { detail: format!("there is no tool {}", question.tool) });
    };
    let arguments = read_fitting(schema, &question.arguments).map_err(|detail| Ruling::Invalid { detail })?;
    Ok(Seen { profile: tool.profile(&arguments), asks: tool.needs_approval(&arguments) })
}

/// Whether a tool with these parameters takes these arguments, or why not. A schema that is none refuses nothing: whoever
/// knows the agent judges by it.
pub(crate) fn fit(parameters: &Value, arguments: &str) -> Result<(), String> {
    match jsonschema::validator_for(parameters) {
        Ok(schema) => read_fitting(&schema, arguments).map(drop),
        Err(_) => parse_arguments(arguments).map(drop),
    }
}

/// The arguments, or why they do not fit.
fn read_fitting(schema: &Validator, arguments: &str) -> Result<Value, String> {
    let arguments = parse_arguments(arguments)?;
    match schema.validate(&arguments) {
        Ok(()) => Ok(arguments),
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
