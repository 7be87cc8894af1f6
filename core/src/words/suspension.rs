//! The answers, outcomes and timers that a suspended session waits for.

use serde::{Deserialize, Serialize};

use crate::store::OutcomeKind;
use crate::time::Timestamp;
use crate::words::ids::{CallId, PendingId};
use crate::words::signal::SignalName;

/// The suspension of a session, written when a run exits because the turn must wait or another run is to continue
/// it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// The kind: `suspended_client_tool`, `suspended_awaiting_children`, `suspended_step_partial` or
    /// `suspended_until`.
    pub kind: OutcomeKind,
    /// The instant at which the turn continues by itself. `None` if it waits only for others, without a deadline.
    pub until: Option<Timestamp>,
    /// The things that the session waits for, in call order. Empty if another run is to continue the turn.
    pub owed: Vec<Owed>,
}

/// One thing that a session waits for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// The call that waits.
    pub call: CallId,
    /// The tool of the call.
    pub tool: String,
    /// The kind of answer or event that the call waits for.
    pub kind: OwedKind,
    /// The id of the pending call, if the call waits under one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingId>,
    /// The name of the signal, if the call waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalName>,
    /// The instant at which the wait ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The kind of answer or event that a call waits for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwedKind {
    /// A person must decide.
    Approval,
    /// A client must return a result, or somebody outside must give an input of the procedure.
    ClientTool,
    /// Children must return their outcomes.
    Child,
    /// A timer must fire.
    Timer,
    /// A signal with the right name must come.
    Signal,
}
