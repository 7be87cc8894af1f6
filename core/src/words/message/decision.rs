//! The decision of a person on a call that waits for one.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::gate::ArgumentPatterns;
use crate::words::ids::{CallId, PendingId};
use crate::words::payload::Digest;

/// The record of a decision on a call. The decision applies only to the exact arguments that the person saw.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The id of the call.
    pub call: CallId,
    /// The id of the pending call.
    pub pending: PendingId,
    /// The decision. The engine writes it if a message came instead of an answer, or if the request expired and the
    /// terms let the call run.
    pub decision: Decision,
    /// The instant of the decision, by the store's clock.
    pub at: Timestamp,
    /// A remark of the engine: the part of the decision that was not carried out and the reason, or that nobody
    /// decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A person's answer to a request for approval or for more steps.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// True if the call may run.
    pub approve: bool,
    /// The digest of the arguments that the person saw. A decision with a different digest has no effect.
    pub saw: Digest,
    /// New arguments for the call, as JSON text. They are checked again by the schema and the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// If true, later calls of this tool in this session need no approval, unless the policy denies them, names the
    /// people who must approve, or requires several approvals. Ignored in a refusal, and if the present call has such
    /// terms.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Limits `always` to calls whose arguments match these patterns. If the arguments of the present call do
    /// not match, the approval applies only to this call.
    #[serde(default, skip_serializing_if = "ArgumentPatterns::is_empty")]
    pub only: ArgumentPatterns,
    /// If true, a refusal also ends the batch: the other calls of the step are cancelled. Calls that are out are asked to
    /// stop first, and have the agent's `stop_grace_ms` to return; children are stopped. Ignored in an approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborts: bool,
    /// The reason for the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name of the person who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Decision {
    /// Returns a decision on the arguments with the digest `saw`, without a name and a reason.
    pub fn new(approve: bool, saw: Digest) -> Self {
        Self {
            approve,
            saw,
            arguments: None,
            always: false,
            only: ArgumentPatterns::default(),
            aborts: false,
            reason: None,
            by: None,
        }
    }
}
