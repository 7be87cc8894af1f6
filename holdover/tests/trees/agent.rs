//! A chief, its clerk, the clerk's page, and a background runner with its heir, together with a record of their
//! effects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdover::agent::SubAgent;
use holdover::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover::prelude::*;
use holdover::session::{Message, ResultStatus};
use holdover::tools::Tool;

/// The number of times that each call took effect, by tool, session and call.
#[derive(Debug, Clone, Default)]
pub(crate) struct World(Arc<Mutex<BTreeMap<(String, String), usize>>>);

impl World {
    fn act(&self, tool: &str, call: &ToolCall) {
        let key = (tool.to_owned(), format!("{}/{}", call.session, call.id));
        *self.0.lock().unwrap().entry(key).or_default() += 1;
    }

    /// Returns the number of times that each call of the tool took effect.
    pub(crate) fn times(&self, tool: &str) -> Vec<usize> {
        let world = self.0.lock().unwrap();
        world.iter().filter(|((of, _), _)| of == tool).map(|(_, times)| *times).collect()
    }

    /// Returns the number of times that calls of the tool took effect in one session.
    pub(crate) fn times_in(&self, tool: &str, session: &SessionKey) -> usize {
        let (world, of) = (self.0.lock().unwrap(), format!("{session}/"));
        world
            .iter()
            .filter(|((one, call), _)| one == tool && call.starts_with(&of))
            .map(|(_, times)| times)
            .sum()
    }
}

/// A model that plays every part, according to its instructions, its task and the results so far. The chief repeats
/// calls that were stopped.
struct Cast;

impl Cast {
    fn answer(request: &ModelRequest) -> Vec<AnswerPart> {
        let task = request.messages.iter().find_map(|message| match &**message {
            Message::User(said) => Some(said.text.as_str()),
            Message::Assistant(_)
            | Message::Tool(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        });
        let results = request.messages.iter().filter_map(|message| match &**message {
            Message::Tool(result) => Some((result.tool.as_str(), result.status)),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        });
        let results: Vec<(&str, ResultStatus)> = results.collect();
        let is_done = |tool: &str| results.contains(&(tool, ResultStatus::Done));
        let part = ["chief", "clerk", "page", "runner", "heir"]
            .into_iter()
            .find(|part| request.system.contains(&format!("You are the {part}.")));
        let call = |tool: &str, arguments: &str| {
            vec![AnswerPart::Call { tool: tool.into(), arguments: arguments.into() }]
        };
        let Some(part) = part else {
            // This request asks for the extract of a handoff.
            return vec![AnswerPart::Text("what matters".into())];
        };
        match (part, task.unwrap_or_default(), !results.is_empty()) {
            ("chief", _, _) if !is_done("runner") || !is_done("clerk") => {
                let runs = call("runner", r#"{"tasks":["errand"],"background":true}"#);
                let clerks = call("clerk", r#"{"tasks":["alone","with the page"]}"#);
                let missing =
                    [("runner", runs), ("clerk", clerks)].into_iter().filter(|(tool, _)| !is_done(tool));
                missing.flat_map(|(_, call)| call).collect()
            }
            ("chief", _, _) if !is_done("wait_children") => call("wait_children", "{}"),
            ("runner", task, false) => call("heir", &format!(r#"{{"goal":"{task}"}}"#)),
            ("heir", _, _) => vec![AnswerPart::Text("heir did: errand".into())],
            ("clerk", "alone", false) => call("count", "{}"),
            ("clerk", _, false) => call("page", r#"{"tasks":["write"]}"#),
            ("page", _, false) => call("write", "{}"),
            (part, task, true) => vec![AnswerPart::Text(format!("{part} did: {task}"))],
            (part, task, false) => panic!("{part} has no part with {task}"),
        }
    }
}

#[async_trait]
impl Model for Cast {
    fn name(&self) -> &str {
        "scripted:cast"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let parts = Self::answer(&request);
        let asks = parts.iter().any(|part| matches!(part, AnswerPart::Call { .. }));
        let stop = if asks { StopReason::ToolUse } else { StopReason::EndTurn };
        let usage = TokenUsage { input: 10, output: 1, ..TokenUsage::default() };
        Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Finished(ModelAnswer { parts, stop, usage }))])))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn tool(name: &'static str, effect: EffectClass, world: &World) -> impl Tool {
    let world = world.clone();
    let act = move |_: Nothing, call: ToolCall| {
        let world = world.clone();
        async move {
            world.act(name, &call);
            Ok::<_, ToolError>(ToolOutput::text("acted"))
        }
    };
    FunctionTool::new(ToolName::new(name).unwrap(), "Acts", act).effect(effect)
}

pub(crate) fn chief(world: &World) -> Arc<Agent> {
    let named = |names: &[&str]| names.iter().map(|name| ToolName::new(*name).unwrap()).collect::<Vec<_>>();
    let page = SubAgent::new("page", "Writes").instructions("You are the page.").tools(named(&["write"]));
    let clerk = SubAgent::new("clerk", "Sees to it")
        .instructions("You are the clerk.")
        .tools(named(&["count", "write"]))
        .sub_agent(page);
    let heir = SubAgent::new("heir", "Goes on").instructions("You are the heir.").takes_over();
    let runner =
        SubAgent::new("runner", "Runs").instructions("You are the runner.").background().sub_agent(heir);
    let chief = Agent::builder("chief")
        .instructions("You are the chief.")
        .model(Cast)
        .tool(tool("count", EffectClass::Idempotent, world))
        .tool(tool("write", EffectClass::AtMostOnce, world))
        .gate(RuleGate::new(vec![ApprovalRule::new("write", RuleAction::Ask)]))
        .sub_agent(clerk)
        .sub_agent(runner);
    Arc::new(chief.build().unwrap())
}
