//! Requests to hooks outside of this process, as JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::{
    HookError, ModelAsked, Moved, MovesMissed, StepEnded, SubAgentAsked, ToolEnded, TurnBegins, TurnEnds,
};
use super::OUTSIDE_VERSION;
use crate::words::children::Tasks;
use crate::words::custom::StateChange;
use crate::words::ending::Ending;
use crate::words::gate::GateQuestion;
use crate::words::history::{Input, StateKind};
use crate::words::ids::SessionKey;
use crate::words::image::Images;
use crate::words::message::Message;
use crate::words::model::{AnswerPart, ModelAnswer, ModelRequest, ModelTool, StopReason};
use crate::words::tool::{ToolError, ToolOutput};
use crate::words::usage::{TokenUsage, Usage};

/// A request: the fields that every request has, then the fields of its point.
#[derive(Serialize)]
struct Request<'a, T> {
    version: u32,
    point: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<&'a str>,
    #[serde(flatten)]
    told: T,
}

/// Returns the request about `point` with these fields, as one line of JSON.
pub(crate) fn request(
    point: &'static str,
    hook: Option<&str>,
    told: impl Serialize,
) -> Result<String, HookError> {
    let request = Request { version: OUTSIDE_VERSION, point, hook, told };
    serde_json::to_string(&request).map_err(|error| HookError(format!("its request: {error}")))
}

/// Reads arguments, which are JSON, so that they are written as they are, byte for byte.
fn exact(arguments: &str) -> Result<&RawValue, HookError> {
    serde_json::from_str(arguments).map_err(|error| HookError(format!("its request: arguments: {error}")))
}

#[derive(Serialize)]
pub(super) struct AgentStartAsked<'a> {
    session: &'a SessionKey,
    turn: u64,
}

impl<'a> AgentStartAsked<'a> {
    pub(super) fn of(turn: &'a TurnBegins) -> Self {
        Self { session: &turn.session, turn: turn.turn.0 }
    }
}

/// The part of [`ModelAsked`] that is the same before and after the model.
#[derive(Serialize)]
struct Asked<'a> {
    session: &'a SessionKey,
    step: u64,
    attempt: u32,
    summary: bool,
}

impl<'a> Asked<'a> {
    fn of(asked: &'a ModelAsked) -> Self {
        let ModelAsked { session, step, attempt, summary } = asked;
        Self { session, step: step.0, attempt: *attempt, summary: *summary }
    }
}

#[derive(Serialize)]
pub(super) struct BeforeModelAsked<'a> {
    #[serde(flatten)]
    asked: Asked<'a>,
    request: ShownRequest<'a>,
}

/// The parts of a request to a model that a hook may replace.
#[derive(Serialize)]
struct ShownRequest<'a> {
    system: &'a str,
    messages: Vec<&'a Message>,
    tools: &'a [ModelTool],
    max_output_tokens: u32,
}

impl<'a> BeforeModelAsked<'a> {
    pub(super) fn of(asked: &'a ModelAsked, request: &'a ModelRequest) -> Self {
        Self {
            asked: Asked::of(asked),
            request: ShownRequest {
                system: &request.system,
                messages: request.messages.iter().map(|message| &**message).collect(),
                tools: &request.tools,
                max_output_tokens: request.max_output_tokens,
            },
        }
    }
}

#[derive(Serialize)]
pub(super) struct AfterModelAsked<'a> {
    #[serde(flatten)]
    asked: Asked<'a>,
    answer: ShownAnswer<'a>,
}

#[derive(Serialize)]
struct ShownAnswer<'a> {
    parts: Vec<ShownPart<'a>>,
    stop: StopReason,
    usage: TokenUsage,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ShownPart<'a> {
    Text {
        text: &'a str,
    },
    Reasoning {
        text: &'a str,
    },
    /// The arguments are a text, because the model may have written anything.
    Call {
        tool: &'a str,
        arguments: &'a str,
    },
}

impl<'a> AfterModelAsked<'a> {
    pub(super) fn of(asked: &'a ModelAsked, answer: &'a ModelAnswer) -> Self {
        let parts = answer.parts.iter().map(|part| match part {
            AnswerPart::Text(text) => ShownPart::Text { text },
            AnswerPart::Reasoning { text, signature: _ } => ShownPart::Reasoning { text },
            AnswerPart::Call { tool, arguments } => ShownPart::Call { tool, arguments },
        });
        let answer = ShownAnswer { parts: parts.collect(), stop: answer.stop, usage: answer.usage };
        Self { asked: Asked::of(asked), answer }
    }
}

#[derive(Serialize)]
pub(super) struct BeforeToolAsked<'a> {
    session: &'a SessionKey,
    call: &'a str,
    tool: &'a str,
    arguments: &'a RawValue,
    digest: String,
    effect: &'static str,
    dangerous: bool,
    approved: bool,
}

impl<'a> BeforeToolAsked<'a> {
    pub(super) fn of(call: &'a GateQuestion) -> Result<Self, HookError> {
        Ok(Self {
            session: &call.session,
            call: call.call.as_str(),
            tool: call.tool.as_str(),
            arguments: exact(&call.arguments)?,
            digest: call.digest.to_string(),
            effect: call.effect.as_str(),
            dangerous: call.dangerous,
            approved: call.approved,
        })
    }
}

#[derive(Serialize)]
pub(super) struct BeforeSubAgentAsked<'a> {
    session: &'a SessionKey,
    call: &'a str,
    sub_agent: &'a str,
    #[serde(flatten)]
    tasks: &'a Tasks,
    approved: bool,
}

impl<'a> BeforeSubAgentAsked<'a> {
    pub(super) fn of(asked: &'a SubAgentAsked) -> Self {
        Self {
            session: &asked.session,
            call: asked.call.as_str(),
            sub_agent: asked.sub_agent.as_str(),
            tasks: &asked.tasks,
            approved: asked.approved,
        }
    }
}

#[derive(Serialize)]
pub(super) struct AfterToolAsked<'a> {
    session: &'a SessionKey,
    call: &'a str,
    tool: &'a str,
    arguments: &'a RawValue,
    /// `done`, or the kind of the error.
    status: &'static str,
    result: ResultForm,
}

/// The result of a call, both in requests and in answers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultForm {
    content: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stop: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<StateChange>,
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    images: Images,
}

impl ResultForm {
    fn of(output: &ToolOutput) -> Self {
        let ToolOutput { content, stop, changes, images } = output.clone();
        Self { content, stop, changes, images }
    }

    /// Returns the output. Fails if it has more pictures than a message may have.
    pub(super) fn output(self) -> Result<ToolOutput, String> {
        let Self { content, stop, changes, images } = self;
        let images = Images::of(images.iter().cloned()).map_err(|error| format!("images: {error}"))?;
        Ok(ToolOutput { content, stop, changes, images })
    }
}

impl<'a> AfterToolAsked<'a> {
    pub(super) fn of(call: &'a ToolEnded) -> Result<Self, HookError> {
        let (status, result) = match &call.result {
            Ok(output) => ("done", ResultForm::of(output)),
            Err(error) => {
                let (status, text) = match error {
                    ToolError::Failed(text) => ("failed", text),
                    ToolError::NotRun(text) => ("not_run", text),
                    ToolError::Transient { detail, wait: _ } => ("transient", detail),
                    ToolError::Lost(text) => ("lost", text),
                };
                (status, ResultForm::of(&ToolOutput::text(text)))
            }
        };
        Ok(Self {
            session: &call.session,
            call: call.call.as_str(),
            tool: call.tool.as_str(),
            arguments: exact(&call.arguments)?,
            status,
            result,
        })
    }
}

#[derive(Serialize)]
pub(super) struct AfterStepAsked<'a> {
    session: &'a SessionKey,
    turn: u64,
    step: u64,
    steps: u32,
    text: &'a str,
    tools_done: &'a [String],
    usage: Usage,
    turn_usage: Usage,
    session_usage: Usage,
}

impl<'a> AfterStepAsked<'a> {
    pub(super) fn of(ended: &'a StepEnded) -> Self {
        let StepEnded { session, turn, step, steps, text, tools_done, usage, turn_usage, session_usage } =
            ended;
        Self {
            session,
            turn: turn.0,
            step: step.0,
            steps: *steps,
            text,
            tools_done,
            usage: *usage,
            turn_usage: *turn_usage,
            session_usage: *session_usage,
        }
    }
}

#[derive(Serialize)]
pub(super) struct TransitionAsked<'a> {
    session: &'a SessionKey,
    from: StateKind,
    to: StateKind,
    /// The instant, in milliseconds since 1970.
    at: i64,
    cause: &'a Input,
}

impl<'a> TransitionAsked<'a> {
    pub(super) fn of(moved: &'a Moved) -> Self {
        let Moved { session, from, input, to, at } = moved;
        Self { session, from: *from, to: *to, at: at.as_ms(), cause: input }
    }
}

#[derive(Serialize)]
pub(super) struct TransitionsMissedAsked<'a> {
    session: &'a SessionKey,
    count: u64,
}

impl<'a> TransitionsMissedAsked<'a> {
    pub(super) fn of(missed: &'a MovesMissed) -> Self {
        let MovesMissed { session, count } = missed;
        Self { session, count: *count }
    }
}

#[derive(Serialize)]
pub(super) struct AgentEndAsked<'a> {
    session: &'a SessionKey,
    turn: u64,
    ending: &'a Ending,
    steps: u32,
    usage: Usage,
    session_usage: Usage,
}

impl<'a> AgentEndAsked<'a> {
    pub(super) fn of(ends: &'a TurnEnds) -> Self {
        let TurnEnds { session, turn, ending, steps, usage, session_usage } = ends;
        Self { session, turn: turn.0, ending, steps: *steps, usage: *usage, session_usage: *session_usage }
    }
}
