//! The calls that an input names: those of a model's answer, and those that stand for a request of the engine.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ids::{CallId, MessageSeq, PendingId};
use crate::words::payload::is_default;
use crate::words::procedure::CallLeads;
use crate::words::tool::{EffectClass, RunsOn};

/// A request to a person for more steps, or the wait of a parked state of the procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRequest {
    /// The id of the call that represents the request.
    pub call: CallId,
    /// The id of the pending call. Answers must name it.
    pub pending: PendingId,
    /// The instant at which the request expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The notice with the arguments of the request.
    pub notice: MessageSeq,
    /// True if a parked state of the procedure waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_procedure: bool,
}

/// A call in a model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCall {
    /// The id of the call.
    pub id: CallId,
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// The effect class of the tool.
    #[serde(default, skip_serializing_if = "is_default")]
    pub effect: EffectClass,
    /// True if the tool is dangerous.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangerous: bool,
    /// The party that runs the call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runs_on: RunsOn,
    /// The rows on which the end of the call moves the procedure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads: Option<Box<CallLeads>>,
}
