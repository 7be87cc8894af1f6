//! The parts of a UI message stream, as the AI SDK's clients accept them from version 6 on. A client refuses a part that it
//! does not know.

use serde::Serialize;
use serde_json::Value;

/// A part of a UI message stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum Chunk {
    Start {
        message_id: String,
        message_metadata: Value,
    },
    StartStep,
    FinishStep,
    /// Takes back the parts of the step. Since version 7.
    ResetStep,
    Finish {
        finish_reason: FinishReason,
        message_metadata: Value,
    },
    MessageMetadata {
        message_metadata: Value,
    },
    Abort {
        reason: String,
    },
    Error {
        error_text: String,
    },
    TextStart {
        id: String,
    },
    TextDelta {
        id: String,
        delta: String,
    },
    TextEnd {
        id: String,
    },
    ReasoningStart {
        id: String,
    },
    ReasoningDelta {
        id: String,
        delta: String,
    },
    ReasoningEnd {
        id: String,
    },
    ToolInputAvailable {
        tool_call_id: String,
        tool_name: String,
        input: Value,
        dynamic: bool,
    },
    ToolApprovalRequest {
        approval_id: String,
        tool_call_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    ToolOutputAvailable {
        tool_call_id: String,
        output: Value,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        preliminary: bool,
        dynamic: bool,
    },
    ToolOutputError {
        tool_call_id: String,
        error_text: String,
        dynamic: bool,
    },
    ToolOutputDenied {
        tool_call_id: String,
    },
    /// Names texts that are void, for clients that cannot take them back.
    DataVoid {
        data: Value,
    },
    /// Names the sessions of the children that work on a call.
    DataChildren {
        id: String,
        data: Value,
    },
}

/// The way in which a stream ends, in the words of the AI SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FinishReason {
    Stop,
    Length,
    ToolCalls,
    /// Since version 7.
    Interrupted,
    Other,
}
