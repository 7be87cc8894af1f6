//! The events of AG-UI 1.0, as its client accepts them. The client checks their order.

use serde::Serialize;
use serde_json::Value;

/// An event of AG-UI.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(super) enum Event {
    RunStarted {
        thread_id: String,
        run_id: String,
        protocol_version: &'static str,
    },
    RunFinished {
        thread_id: String,
        run_id: String,
        outcome: Outcome,
        usage: Vec<Value>,
    },
    RunError {
        message: String,
        code: String,
    },
    StepStarted {
        step_name: String,
    },
    StepFinished {
        step_name: String,
    },
    TextMessageStart {
        message_id: String,
        role: &'static str,
    },
    TextMessageContent {
        message_id: String,
        delta: String,
    },
    TextMessageEnd {
        message_id: String,
    },
    ReasoningStart {
        message_id: String,
    },
    ReasoningMessageStart {
        message_id: String,
        role: &'static str,
    },
    ReasoningMessageContent {
        message_id: String,
        delta: String,
    },
    ReasoningMessageEnd {
        message_id: String,
    },
    ReasoningEnd {
        message_id: String,
    },
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<String>,
    },
    ToolCallArgs {
        tool_call_id: String,
        delta: String,
    },
    ToolCallEnd {
        tool_call_id: String,
    },
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: Value,
        role: &'static str,
    },
    StateSnapshot {
        snapshot: Value,
    },
    /// A patch as RFC 6902 defines it.
    StateDelta {
        delta: Vec<Value>,
    },
    MessagesSnapshot {
        messages: Vec<Value>,
    },
    SubagentStarted {
        subagent_run_id: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    SubagentFinished {
        subagent_run_id: String,
        outcome: SubagentOutcome,
    },
    SubagentError {
        subagent_run_id: String,
        message: String,
    },
    Custom {
        name: &'static str,
        value: Value,
    },
}

/// The way in which a run ends.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Outcome {
    /// The turn is over, or waits only for tools of the page.
    Success {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    /// The turn waits for people.
    Interrupt { interrupts: Vec<Interrupt> },
    /// The turn was stopped.
    Cancelled,
}

/// The way in which a sub-agent ends, as far as the run knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum SubagentOutcome {
    /// It has returned.
    Success,
    /// It works on.
    Suspended,
}

/// Something that a turn waits for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Interrupt {
    /// The pending call, with the digest of the arguments.
    pub(super) id: String,
    /// `approval` or `client_tool`.
    pub(super) reason: String,
    /// The reason for asking.
    pub(super) message: String,
    /// The call. Absent if it is a call of a sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
    /// The form of the answer.
    pub(super) response_schema: Value,
    /// The instant after which no answer counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<String>,
    /// The session, the tool and its arguments, redacted.
    pub(super) metadata: Value,
}
