//! The scenario: the answers of the model, the tools, and the deeds of people.

use std::collections::BTreeMap;
use std::time::Duration;

use holdover_core::agent::{AgentSpec, ChildRules, Compaction};
use holdover_core::ids::ToolName;
use holdover_core::machine::DoneReason;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::model::{AnswerPart, ModelAnswer, ModelError, ModelErrorKind, StopReason, TokenUsage};
use holdover_core::store::SessionStatus;
use holdover_core::tool::{
    Access, EffectClass, ResourceProfile, RunsOn, ToolError, ToolOutput, ToolReturn, ToolSpec,
};

/// A deed of a person while the session rests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deed {
    /// Sends a message, which begins a turn.
    Say(&'static str),
    /// Asks for a summary of the old messages.
    Compact,
}

/// The deeds, in order.
pub(crate) const DEEDS: [Deed; 4] =
    [Deed::Say("go"), Deed::Compact, Deed::Say("stop me in a tool"), Deed::Say("stop me in a thought")];

/// A tool of the scenario, with its effect class, the resource that it touches, and whether its calls need approval.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) effect: EffectClass,
    pub(crate) dangerous: bool,
    pub(crate) runs_on: RunsOn,
    pub(crate) key: &'static str,
    pub(crate) asks: bool,
}

const fn tool(name: &'static str, effect: EffectClass, key: &'static str) -> Tool {
    Tool { name, effect, dangerous: false, runs_on: RunsOn::Server, key, asks: false }
}

/// The sub-agents. A call of either asks for [`TEAM_SIZE`] children. A call of `team` waits for its children; those of
/// `crew` work in the background.
pub(crate) const TEAM: &str = "team";
pub(crate) const CREW: &str = "crew";

/// The tool that waits for background children.
pub(crate) const WAIT: &str = "wait_children";

pub(crate) const TEAM_SIZE: u32 = 2;

pub(crate) const TOOLS: &[Tool] = &[
    tool("look", EffectClass::ReadOnly, "shelf"),
    tool("put", EffectClass::Idempotent, "k"),
    tool("pay", EffectClass::AtMostOnce, "k"),
    tool("note", EffectClass::AtMostOnce, "n"),
    tool("fail", EffectClass::AtMostOnce, "f"),
    Tool { asks: true, ..tool("edit", EffectClass::AtMostOnce, "e") },
    Tool { asks: true, dangerous: true, ..tool("wipe", EffectClass::AtMostOnce, "w") },
    Tool { asks: true, ..tool("bill", EffectClass::AtMostOnce, "b") },
    Tool { runs_on: RunsOn::Client, ..tool("ask", EffectClass::ReadOnly, "q") },
    Tool { runs_on: RunsOn::Child, ..tool(TEAM, EffectClass::Idempotent, "t") },
    Tool { runs_on: RunsOn::Child, ..tool(CREW, EffectClass::Idempotent, "c") },
    Tool { runs_on: RunsOn::Child, ..tool(WAIT, EffectClass::Idempotent, "u") },
    tool("nap", EffectClass::Idempotent, "z"),
    Tool { dangerous: true, ..tool("drop", EffectClass::AtMostOnce, "k") },
    tool("slow", EffectClass::AtMostOnce, "s"),
    tool("gentle", EffectClass::AtMostOnce, "g"),
    Tool { asks: true, ..tool("held", EffectClass::AtMostOnce, "h") },
];

pub(crate) fn find(name: &str) -> &'static Tool {
    TOOLS.iter().find(|tool| tool.name == name).expect("a tool of the scenario")
}

impl Tool {
    pub(crate) fn profile(&self) -> ResourceProfile {
        let access = if self.effect == EffectClass::ReadOnly { Access::Read } else { Access::Write };
        ResourceProfile::key(self.key, access)
    }

    /// Returns the result of a call. None if the call hangs until it is told to stop.
    pub(crate) fn returns(&self) -> Option<Result<ToolReturn, ToolError>> {
        match self.name {
            "slow" | "gentle" => None,
            "nap" => Some(Ok(ToolReturn::After {
                delay: Duration::from_secs(60),
                output: ToolOutput::text("awake").append("did", "nap"),
            })),
            "fail" => Some(Err(ToolError::Failed("it is closed on Sundays".into()))),
            name => Some(Ok(ToolOutput::text(format!("{name} did it")).append("did", name).into())),
        }
    }

    /// Returns the error of a hanging call that is told to stop.
    pub(crate) fn stops_with(&self) -> ToolError {
        match self.name {
            "gentle" => ToolError::NotRun("it had not begun".into()),
            _ => ToolError::Lost("it was on its way".into()),
        }
    }
}

pub(crate) fn agent() -> AgentSpec {
    let spec = |tool: &Tool| ToolSpec {
        name: ToolName::new(tool.name).unwrap(),
        description: String::new(),
        parameters: serde_json::json!({}),
        effect: tool.effect,
        dangerous: tool.dangerous,
        runs_on: tool.runs_on,
        timeout_ms: None,
    };
    AgentSpec {
        instructions: "do as the scenario says".into(),
        tools: TOOLS.iter().map(spec).collect(),
        sub_agents: BTreeMap::from([
            (ToolName::new(TEAM).unwrap(), ChildRules::default()),
            (ToolName::new(CREW).unwrap(), ChildRules { background: true, ..ChildRules::default() }),
        ]),
        provisions: true,
        // A summary keeps only the newest step.
        compaction: Compaction::default().kept_turns(1),
        ..AgentSpec::new("mixed")
    }
}

/// An answer of the model, which follows from the conversation and the attempt alone.
pub(crate) enum Thought {
    Answers(ModelAnswer),
    Fails(ModelError),
    Hangs,
}

pub(crate) fn think(transcript: &[Message], attempt: u32) -> Thought {
    // Messages of the engine, such as the end of a background child, do not count.
    let is_person = |message: &Message| matches!(message, Message::User(said) if !said.by_engine);
    let last_said = transcript.iter().rposition(is_person);
    let at = last_said.expect("somebody said something");
    let Message::User(said) = &transcript[at] else { unreachable!("found as a user's") };
    let answered = transcript[at..].iter().filter(|message| matches!(message, Message::Assistant(_))).count();
    let overloaded = |retry_after: Option<Duration>| {
        let mut error = ModelError::new(ModelErrorKind::RateLimited, "slow down");
        error.retry_after = retry_after;
        Thought::Fails(error)
    };
    match (said.text.as_str(), answered, attempt) {
        ("go", 0, _) => calls(&["look", "look"]),
        ("go", 1, 0) => overloaded(None),
        ("go", 1, _) => calls(&["put", "pay", "note", "fail"]),
        ("go", 2, _) => calls(&["edit", "wipe", "bill", "ask", "nap", "look", TEAM]),
        ("go", 3, 0) => overloaded(Some(Duration::from_millis(400))),
        ("go", 3, _) => calls(&["put", "drop", "edit"]),
        ("go", 4, _) => calls(&[CREW]),
        ("go", 5, _) => calls(&[WAIT]),
        ("stop me in a tool", 0, _) => calls(&["slow", "gentle", "held", TEAM]),
        ("stop me in a thought", ..) => Thought::Hangs,
        _ => Thought::Answers(answer(vec![AnswerPart::Text("done".into())], StopReason::EndTurn)),
    }
}

fn calls(tools: &[&str]) -> Thought {
    let part = |(at, tool): (usize, &&str)| AnswerPart::Call {
        tool: (*tool).to_owned(),
        arguments: match *tool {
            TEAM => r#"{"tasks": ["one half", "the other"]}"#.to_owned(),
            CREW => r#"{"tasks": ["one half", "the other"], "background": true}"#.to_owned(),
            WAIT => "{}".to_owned(),
            _ => format!("{{\"place\": {at}}}"),
        },
    };
    Thought::Answers(answer(tools.iter().enumerate().map(part).collect(), StopReason::ToolUse))
}

fn answer(parts: Vec<AnswerPart>, stop: StopReason) -> ModelAnswer {
    ModelAnswer { parts, stop, usage: TokenUsage { input: 10, output: 5, ..TokenUsage::default() } }
}

/// The tool that a person approves for the rest of the session, together with its first call.
pub(crate) const TRUSTED: &str = "edit";

/// Returns a person's decision on a call: the arguments with which it may run, or None to deny it.
pub(crate) fn decide(tool: &str, arguments: &str) -> Option<String> {
    match tool {
        "edit" => Some("{\"place\": \"edited\"}".to_owned()),
        "bill" => None,
        _ => Some(arguments.to_owned()),
    }
}

/// The end of a session, as far as the scenario determines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// The reason why each turn ended.
    pub(crate) turns: Vec<DoneReason>,
    /// The result of each call, in the order of the transcript.
    pub(crate) results: Vec<(&'static str, ResultStatus)>,
    /// The final status of the session.
    pub(crate) status: SessionStatus,
}
