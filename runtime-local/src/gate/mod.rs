//! The only place that decides whether a call may run. Every call passes this check before it runs, whatever its
//! origin.
//!
//! The arguments must be JSON of bounded depth, fit the tool's schema, and pass the hooks and the policy. If the tool
//! itself asks for an approval, the stricter of the tool and the policy counts. If the tool or the policy is silent
//! for five seconds, fails or panics, the call is denied (INV-20). Hooks have time limits and rules for failures of
//! their own.

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

/// Decides on all questions concurrently.
pub(crate) async fn consult(agent: Arc<Agent>, questions: Vec<GateQuestion>) -> Vec<(CallId, Ruling)> {
    join_all(questions.into_iter().map(|question| {
        let agent = Arc::clone(&agent);
        async move { (question.call.clone(), hooked(agent, question).await) }
    }))
    .await
}

/// Asks the agent's hooks and then its gate. The gate sees the call as the hooks leave it.
async fn hooked(agent: Arc<Agent>, question: GateQuestion) -> Ruling {
    // The call that returns the value of a turn has no effect, so no hook and no gate is asked.
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

/// Checks the arguments against the schema.
pub(crate) async fn fits(agent: &Arc<Agent>, question: &GateQuestion) -> Result<(), Ruling> {
    let (agent, question) = (Arc::clone(agent), question.clone());
    let looked = async move {
        look(&agent, &question).map_or_else(|refused| refused, |seen| Ruling::Allow { profile: seen.profile })
    };
    let ruling = bounded(looked).await;
    if matches!(ruling, Ruling::Allow { .. }) { Ok(()) } else { Err(ruling) }
}

/// Returns the resources of a call that is certain to be allowed unchanged: its arguments fit, no hook would see it
/// first, its tool requires no approval, and the gate can decide without asking a person or a server. Returns
/// `None` if this is not certain.
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

/// Returns the reason why a call is certain to be denied: no hook would see it first, and the gate can decide
/// without asking a person or a server. Returns `None` if this is not certain.
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

/// Returns the ruling of code that may hang or panic. If the code panics or does not answer in time, the call is
/// denied.
async fn bounded(asked: impl Future<Output = Ruling> + Send + 'static) -> Ruling {
    let began = Instant::now();
    match timeout(GATE_TIMEOUT, guarded(asked)).await {
        // A gate that blocked its thread answers late, and a late answer does not count.
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

/// The tool's information about a call whose arguments fit.
struct Seen {
    profile: ResourceProfile,
    /// The reason why people must approve the call, even if the gate allows it.
    asks: Option<String>,
}

/// Returns the tool's information about a call, or the refusal of its arguments.
fn look(agent: &Agent, question: &GateQuestion) -> Result<Seen, Ruling> {
    let Some(EquippedTool { tool, schema }) = agent.tool(&question.tool) else {
        return Err(Ruling::Invalid { detail: format!("there is no tool {}", question.tool) });
    };
    let arguments = read_fitting(schema, &question.arguments).map_err(|detail| Ruling::Invalid { detail })?;
    Ok(Seen { profile: tool.profile(&arguments), asks: tool.needs_approval(&arguments) })
}

/// Checks whether a tool with these parameters accepts these arguments. The error says why not. An invalid
/// schema refuses nothing here: a process that has the agent decides.
pub(crate) fn fit(parameters: &Value, arguments: &str) -> Result<(), String> {
    match jsonschema::validator_for(parameters) {
        Ok(schema) => read_fitting(&schema, arguments).map(drop),
        Err(_) => parse_arguments(arguments).map(drop),
    }
}

/// Returns the arguments, or the reason why they do not fit.
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
