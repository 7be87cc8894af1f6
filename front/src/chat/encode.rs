//! Turns what happens in an answer into parts of a UI message stream.

use axum::response::sse::Event as Frame;
use holdover_core::ending::{DoneReason, Ending};
use holdover_core::ids::{CallId, MessageSeq};
use holdover_core::message::{CallRequest, ResultStatus, ToolResult};
use holdover_core::store::{EventCursor, PendingKind};
use serde_json::{Value, json};

use super::chunk::{Chunk, FinishReason};
use crate::problem::Problem;
use crate::ui::{Encode, End, Moment, PieceKind, Place, Question};

/// The parts that a client understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Those of version 6.
    Six,
    /// Those of version 7, which can take a step back.
    Seven,
}

impl Dialect {
    /// Returns the dialect of clients of this major version.
    pub(super) fn of(version: Option<u32>) -> Self {
        if version.is_some_and(|version| version >= 7) { Self::Seven } else { Self::Six }
    }
}

/// The state of an answer that is being sent.
pub(super) struct Encoder {
    dialect: Dialect,
    /// The id of the answer that goes on, until its start was said.
    goes_on: Option<String>,
    /// True if the newest step has calls.
    called: bool,
}

impl Encoder {
    /// Encodes an answer from its start.
    pub(super) fn of_an_answer(dialect: Dialect) -> Self {
        Self { dialect, goes_on: None, called: false }
    }

    /// Encodes the rest of the answer with this id.
    pub(super) fn of_the_rest_of(answer: String, dialect: Dialect) -> Self {
        Self { dialect, goes_on: Some(answer), called: true }
    }

    fn chunks(&mut self, moment: Moment, cursor: EventCursor) -> Vec<Chunk> {
        let start = self.goes_on.take().map(|id| start_of(id, cursor));
        let mut chunks: Vec<Chunk> = start.into_iter().collect();
        match moment {
            Moment::Asked { seq, .. } | Moment::GoesOn { seq } => chunks.push(start_of(id_of(seq), cursor)),
            Moment::StepBegan(_) => {
                self.called = false;
                chunks.push(Chunk::StartStep);
            }
            // If the stream breaks, the page goes on from here.
            Moment::StepEnded(_) => chunks.extend([Chunk::FinishStep, progress(cursor)]),
            Moment::PieceBegan { id, kind: PieceKind::Text } => chunks.push(Chunk::TextStart { id }),
            Moment::PieceBegan { id, kind: PieceKind::Reasoning } => {
                chunks.push(Chunk::ReasoningStart { id })
            }
            Moment::PieceGrew { id, kind: PieceKind::Text, text: delta } => {
                chunks.push(Chunk::TextDelta { id, delta });
            }
            Moment::PieceGrew { id, kind: PieceKind::Reasoning, text: delta } => {
                chunks.push(Chunk::ReasoningDelta { id, delta });
            }
            Moment::PieceEnded { id, kind: PieceKind::Text } => chunks.push(Chunk::TextEnd { id }),
            Moment::PieceEnded { id, kind: PieceKind::Reasoning } => chunks.push(Chunk::ReasoningEnd { id }),
            Moment::Voided { pieces } => chunks.push(match self.dialect {
                Dialect::Six => Chunk::DataVoid { data: json!({ "parts": pieces }) },
                Dialect::Seven => Chunk::ResetStep,
            }),
            Moment::Called(call) => {
                self.called = true;
                chunks.push(called(call));
            }
            Moment::Progressed { call, progress, .. } => chunks.push(Chunk::ToolOutputAvailable {
                tool_call_id: call.to_string(),
                output: json!({ "progress": progress }),
                preliminary: true,
                dynamic: true,
            }),
            Moment::Waits(question) => chunks.extend(waits(question).into_iter().chain([progress(cursor)])),
            Moment::Delegated { call, agent, children } => chunks.push(Chunk::DataChildren {
                id: call.as_ref().map_or_else(|| agent.clone(), CallId::to_string),
                data: json!({ "call": call, "agent": agent, "children": children }),
            }),
            Moment::Returned(result) => chunks.push(returned(*result)),
            Moment::Ended(end) => self.end(end, cursor, &mut chunks),
        }
        chunks
    }

    fn end(&self, end: End, cursor: EventCursor, chunks: &mut Vec<Chunk>) {
        let finish_reason = match end {
            End::Waits => FinishReason::ToolCalls,
            End::Superseded => FinishReason::Stop,
            End::Withdrawn => {
                let error_text = "the message was withdrawn before a turn took it".to_owned();
                return chunks.push(Chunk::Error { error_text });
            }
            End::Done(Some(Ending { reason: DoneReason::Error, error, .. })) => {
                let error_text =
                    error.map_or_else(|| "the turn failed".to_owned(), |error| error.to_string());
                return chunks.push(Chunk::Error { error_text });
            }
            End::Done(Some(Ending { reason: DoneReason::UserAbort, .. })) => {
                chunks.push(Chunk::Abort { reason: "the turn was stopped".to_owned() });
                match self.dialect {
                    Dialect::Six => FinishReason::Other,
                    Dialect::Seven => FinishReason::Interrupted,
                }
            }
            End::Done(Some(Ending { reason: DoneReason::BudgetExceeded, .. })) => FinishReason::Length,
            End::Done(Some(Ending { reason: DoneReason::MaxTurns | DoneReason::LoopDetected, .. })) => {
                FinishReason::Other
            }
            End::Done(_) => FinishReason::Stop,
        };
        if self.called && finish_reason != FinishReason::ToolCalls {
            // A client that sees calls with results in the last step would ask for more. Nothing is to come.
            chunks.extend([Chunk::StartStep, Chunk::FinishStep]);
        }
        chunks.push(Chunk::Finish { finish_reason, message_metadata: metadata(cursor) });
    }
}

impl Encode for Encoder {
    async fn frames(&mut self, moment: Moment, place: Place) -> Result<Vec<Frame>, Problem> {
        let ends = matches!(moment, Moment::Ended(_));
        let chunks = self.chunks(moment, place.cursor);
        let frames = chunks.iter().map(frame);
        Ok(frames.chain(ends.then(done)).collect())
    }

    fn failed(&mut self, problem: &Problem) -> Vec<Frame> {
        vec![frame(&Chunk::Error { error_text: problem.detail().to_owned() }), done()]
    }
}

fn frame(chunk: &Chunk) -> Frame {
    // All maps in chunks have text keys, so they can be written as JSON.
    Frame::default().json_data(chunk).unwrap_or_default()
}

/// The end of every stream.
fn done() -> Frame {
    Frame::default().data("[DONE]")
}

/// Returns the id of the answer to the message at this position.
pub(super) fn id_of(asked: MessageSeq) -> String {
    format!("answer-{asked}")
}

/// Returns the metadata that pages keep with an answer and send back: the cursor from which it goes on.
pub(super) fn metadata(cursor: EventCursor) -> Value {
    json!({ "holdover": { "cursor": cursor } })
}

fn start_of(message_id: String, cursor: EventCursor) -> Chunk {
    Chunk::Start { message_id, message_metadata: metadata(cursor) }
}

fn progress(cursor: EventCursor) -> Chunk {
    Chunk::MessageMetadata { message_metadata: metadata(cursor) }
}

/// Returns arguments as a page shows them: as JSON, or as the text that the model wrote if it is none.
pub(super) fn input(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments))
}

/// Returns the result of a call as a page shows it.
pub(super) fn output(result: &ToolResult) -> Value {
    if result.images.is_empty() {
        return Value::from(result.content.as_str());
    }
    let urls: Vec<String> = result.images.iter().map(data_url).collect();
    json!({ "text": result.content, "images": urls })
}

/// Returns a picture as a URL.
pub(super) fn data_url(image: &holdover_core::image::Image) -> String {
    format!("data:{};base64,{}", image.media_type().as_str(), image.base64())
}

fn called(call: CallRequest) -> Chunk {
    Chunk::ToolInputAvailable {
        tool_call_id: call.id.to_string(),
        input: input(&call.arguments),
        tool_name: call.tool,
        dynamic: true,
    }
}

fn waits(question: Question) -> Option<Chunk> {
    // A client runs the tool when it gets the input.
    (question.kind == PendingKind::Approval).then(|| Chunk::ToolApprovalRequest {
        approval_id: question.id(),
        tool_call_id: question.call.to_string(),
        reason: question.reason,
    })
}

/// The state of a call that has its result.
pub(super) enum Outcome {
    Done,
    Denied,
    Failed,
}

/// Returns the state of a call that has this result.
pub(super) fn outcome(result: &ToolResult) -> Outcome {
    match result.status {
        ResultStatus::Done => Outcome::Done,
        _ if result.denial.is_some() => Outcome::Denied,
        ResultStatus::Denied | ResultStatus::RejectedByUser => Outcome::Denied,
        ResultStatus::Error | ResultStatus::Cancelled | ResultStatus::InDoubt => Outcome::Failed,
    }
}

fn returned(result: ToolResult) -> Chunk {
    let tool_call_id = result.call.to_string();
    match outcome(&result) {
        Outcome::Done => Chunk::ToolOutputAvailable {
            tool_call_id,
            output: output(&result),
            preliminary: false,
            dynamic: true,
        },
        Outcome::Denied => Chunk::ToolOutputDenied { tool_call_id },
        Outcome::Failed => Chunk::ToolOutputError { tool_call_id, error_text: result.content, dynamic: true },
    }
}
