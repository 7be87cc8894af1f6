//! The default agent of the tests: its tools, the gate's rulings on them, and a clock that the tests move.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use holdover_core::agent::AgentSpec;
use holdover_core::custom::{StateCheck, StateRules};
use holdover_core::engine::{Correction, HookStop, Ruling};
use holdover_core::gate::{ApprovalTerms, GateQuestion};
use holdover_core::hook::StepEnded;
use holdover_core::ids::ToolName;
use holdover_core::machine::{DoneReason, Ending};
use holdover_core::model::{AnswerPart, ModelAnswer, ModelError, ModelErrorKind, StopReason, TokenUsage};
use holdover_core::time::{Clock, Timestamp};
use holdover_core::tool::{Access, EffectClass, ResourceProfile, RunsOn, ToolOutput, ToolSpec};

/// A clock that stands still until a test moves it.
#[derive(Debug, Clone)]
pub(crate) struct VirtualClock(Arc<AtomicI64>);

impl Default for VirtualClock {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(1_000_000)))
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}

impl VirtualClock {
    /// Moves the clock forward to `at`. The clock never moves back.
    pub(crate) fn move_to(&self, at: Timestamp) {
        self.0.fetch_max(at.as_ms(), Ordering::SeqCst);
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.move_to(self.now().after(time));
    }
}

/// The tools, each with its effect class and the resource that it touches. `edit` and `wipe` need approval, `ask`
/// runs at the client, and `wipe` is dangerous. `serial` conflicts with every call. `pay` and `bill` conflict with
/// each other and with `peep`.
const TOOLS: &[(&str, EffectClass, &str)] = &[
    ("look", EffectClass::ReadOnly, "shelf"),
    ("put", EffectClass::Idempotent, "k"),
    ("pay", EffectClass::AtMostOnce, "purse"),
    ("bill", EffectClass::AtMostOnce, "purse"),
    ("peep", EffectClass::ReadOnly, "purse"),
    ("note", EffectClass::AtMostOnce, "n"),
    ("edit", EffectClass::AtMostOnce, "e"),
    ("wipe", EffectClass::AtMostOnce, "w"),
    ("ask", EffectClass::ReadOnly, "q"),
    ("serial", EffectClass::AtMostOnce, ""),
];

/// Returns a tool by its name. A name such as `edit_7` stands for another tool like `edit`.
fn find(tool: &str) -> Option<&'static (&'static str, EffectClass, &'static str)> {
    let like = tool.split('_').next();
    TOOLS.iter().find(|(name, ..)| Some(*name) == like)
}

/// Returns the effect class of a tool.
pub(crate) fn effect_of(tool: &str) -> EffectClass {
    find(tool).map_or(EffectClass::ReadOnly, |(_, effect, _)| *effect)
}

/// Returns the default agent, with default limits.
pub(crate) fn agent() -> AgentSpec {
    let spec = |(name, effect, _): &(&str, EffectClass, &str)| ToolSpec {
        name: ToolName::new(name).unwrap(),
        description: String::new(),
        parameters: serde_json::json!({}),
        effect: *effect,
        dangerous: *name == "wipe",
        runs_on: if *name == "ask" { RunsOn::Client } else { RunsOn::Server },
        timeout_ms: None,
    };
    AgentSpec { tools: TOOLS.iter().map(spec).collect(), ..AgentSpec::new("story") }
}

/// Returns rules by which the custom state must fit this schema.
pub(crate) fn state_rules(schema: serde_json::Value) -> StateRules {
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let check = StateCheck::new(move |state| {
        validator.validate(state).map_err(|error| format!("{}: {error}", error.instance_path()))
    });
    StateRules { schema: Some(schema), check, ..StateRules::default() }
}

/// Returns the ruling of the gate, which depends on the tool's name and on words in the arguments.
pub(crate) fn ruling(question: &GateQuestion) -> Ruling {
    let name = question.tool.as_str();
    if name == "finish" {
        return match question.arguments.contains("bad") {
            true => Ruling::Invalid { detail: "it is bad".into() },
            false => Ruling::Allow { profile: ResourceProfile::Serial },
        };
    }
    let (like, effect, key) = find(name).expect("a tool of the stories");
    let access = if *effect == EffectClass::ReadOnly { Access::Read } else { Access::Write };
    let profile = if key.is_empty() { ResourceProfile::Serial } else { ResourceProfile::key(*key, access) };
    if question.arguments.contains("bad") {
        return Ruling::Invalid { detail: "it is bad".into() };
    }
    if question.arguments.contains("rewrite") {
        let arguments = question.arguments.replace("rewrite", "written");
        let written = GateQuestion { arguments: arguments.clone(), approved: false, ..question.clone() };
        let ruling = Box::new(self::ruling(&written));
        return Ruling::Rewritten { arguments, by: "scribe".into(), ruling };
    }
    if question.arguments.contains("known") {
        let arguments = question.arguments.replace("known", "");
        let ruling = Box::new(self::ruling(&GateQuestion { arguments, ..question.clone() }));
        return Ruling::Answered { output: ToolOutput::text("it is known"), ruling };
    }
    if question.arguments.contains("fatal") {
        return Ruling::Failed { detail: "this must not be".into() };
    }
    if question.arguments.contains("forbidden") {
        return Ruling::Deny {
            reason: "it is forbidden".into(),
            rule: Some("the rule of the stories".into()),
        };
    }
    match *like {
        // The policy has changed since people were asked: the terms are the default ones now.
        "edit" if question.arguments.contains("eased") && question.approved_on.is_some() => {
            Ruling::NeedsApproval { prompt: None, terms: Box::default(), profile }
        }
        "edit" | "wipe" => {
            Ruling::NeedsApproval { prompt: None, terms: Box::new(terms(&question.arguments)), profile }
        }
        "ask" if question.arguments.contains("odd for a client") => {
            Ruling::Invalid { detail: "it is odd".into() }
        }
        // The core denies such a call, because a client tool cannot ask for approval.
        "ask" if question.arguments.contains("approve first") => {
            Ruling::NeedsApproval { prompt: None, terms: Box::default(), profile }
        }
        _ => Ruling::Allow { profile },
    }
}

/// Returns the terms of an approval that the arguments contain, or the default terms.
fn terms(arguments: &str) -> ApprovalTerms {
    let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    arguments.get("terms").map(|terms| serde_json::from_value(terms.clone()).unwrap()).unwrap_or_default()
}

/// Returns the stop that the hooks order after a step: a call of `bill` ends the turn.
pub(crate) fn after_step(step: &StepEnded) -> Option<HookStop> {
    let billed = step.tools_done.iter().any(|tool| tool == "bill");
    let ending = Ending::of(DoneReason::BudgetExceeded);
    billed.then(|| HookStop { ending, notice: "stopped by the hook purse: one bill is enough".into() })
}

/// The text that the hook corrects when the model says it.
pub(crate) const WRONG: &str = "wrong";

/// Returns the hook's corrections after this step.
pub(crate) fn corrections(step: &StepEnded) -> Vec<Correction> {
    let wrong = step.text.contains(WRONG);
    let told = wrong.then(|| Correction { by: "teacher".into(), text: format!("not {}", step.text) });
    told.into_iter().collect()
}

/// Returns an answer of the model that calls these tools. `tool:arguments` gives arguments too.
pub(crate) fn calls(tools: &[&str]) -> ModelAnswer {
    let parts = tools.iter().enumerate().map(|(at, tool)| {
        let (tool, arguments) = match tool.split_once(':') {
            Some((tool, arguments)) => (tool, arguments.to_owned()),
            None => (*tool, format!("{{\"place\": {at}}}")),
        };
        AnswerPart::Call { tool: tool.into(), arguments }
    });
    answer(parts.collect(), StopReason::ToolUse)
}

/// Returns an answer of the model that consists of this text and calls no tool.
pub(crate) fn text(text: &str) -> ModelAnswer {
    answer(vec![AnswerPart::Text(text.into())], StopReason::EndTurn)
}

pub(crate) fn answer(parts: Vec<AnswerPart>, stop: StopReason) -> ModelAnswer {
    ModelAnswer { parts, stop, usage: TokenUsage { input: 10, output: 5, ..TokenUsage::default() } }
}

/// The end of an answer after which the model may go on, because it was cut off.
pub(crate) const CUT_OFF: &str = "—";

/// Returns a temporary error of the model.
pub(crate) fn overloaded(retry_after: Option<Duration>) -> ModelError {
    let mut error = ModelError::new(ModelErrorKind::RateLimited, "slow down");
    error.retry_after = retry_after;
    error
}
