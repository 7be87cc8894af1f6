//! Messages that the engine writes: notices and summaries.

use serde::{Deserialize, Serialize};

use crate::words::custom::Undo;
use crate::words::ids::{CallId, MessageSeq};
use crate::words::message::SettlementRecord;
use crate::words::plan_record::PlanNotice;
use crate::words::procedure::ProcedureMove;

/// A message of the engine to followers of the session.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The text of the notice.
    pub text: String,
    /// The message to which the session was rewound. The model no longer sees the messages between it and
    /// this notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewound: Option<MessageSeq>,
    /// True if the model also sees the notice, because the turn that was taken back had effects, or because the
    /// notice settles a call or reports moves of the procedure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// The arguments that a hook set in place of the model's, or those of a request for more steps or a wait of the
    /// procedure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewriting: Option<Rewriting>,
    /// The changes that restore the custom state to its value before the calls that precede this notice, in
    /// order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<Undo>,
    /// Summaries of old results. The model sees them in place of the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_short: Vec<InShort>,
    /// The settlement that the notice reports, if it reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Box<SettlementRecord>>,
    /// The moves of the procedure that the notice reports, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub procedure: Vec<ProcedureMove>,
    /// The order to the code that plans the session, if the notice reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanNotice>,
}

impl Notice {
    /// Returns a notice that the model does not see.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            rewound: None,
            told: false,
            rewriting: None,
            in_short: Vec::new(),
            state: Vec::new(),
            settled: None,
            procedure: Vec::new(),
            plan: None,
        }
    }
}

/// Arguments that the model did not write: a hook set them, or they belong to a request for more steps or to a wait of
/// the procedure.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewriting {
    /// The call that has these arguments.
    pub call: CallId,
    /// The exact arguments with which the call would run.
    pub arguments: String,
}

/// The summary of an old result.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InShort {
    /// The position of the result.
    pub of: MessageSeq,
    /// The text that the model sees in place of the result.
    pub text: String,
}

/// A summary of the conversation so far, or the extract of a handoff.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The text of the summary.
    pub text: String,
    /// The first message that the summary does not cover. The summary replaces everything that the model saw before
    /// that message.
    pub before: MessageSeq,
    /// True if this is the extract of a handoff, made for the goal that follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extract: bool,
}
