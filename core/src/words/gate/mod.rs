//! The policy gate: it decides whether a call may run.

mod denial;
mod pattern;
mod rules;
mod stricter;
mod strictest;
mod terms;

use std::time::Duration;

use async_trait::async_trait;
pub use denial::{DENIAL_SCHEMA, DenialRecord, DeniedBy};
pub use pattern::ArgumentPatterns;
pub use rules::{ApprovalRule, PermissionMode, RuleAction, RuleGate};
use serde::{Deserialize, Serialize};
pub use strictest::StrictestGate;
pub use terms::{ApprovalTerms, Approvers, AtExpiry, Escalation};

use crate::words::ids::{CallId, SessionKey, ToolName};
use crate::words::payload::{Digest, is_default};
use crate::words::tool::EffectClass;

/// The time limit of a gate. A gate that does not answer within this time denies the call.
pub const GATE_TIMEOUT: Duration = Duration::from_secs(5);

/// Decides if calls may run. Every call passes the gate before it runs, regardless of its origin. Only reads that
/// [begin early](crate::words::agent::AgentSpec::early_reads) start before: they need a prediction that allows
/// them, and their results are used only if the gate then allows the calls. A gate that fails or does not answer
/// denies the call.
#[async_trait]
pub trait PolicyGate: Send + Sync + 'static {
    /// Decides on one call. This must have no effect, because the gate is asked again after a crash.
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError>;

    /// Predicts the verdict that [`consult`](Self::consult) would give on a call that a model is about to
    /// make. Returns `None` unless the question and the gate's own data determine the verdict. The method
    /// must not ask others, wait or count. The call may never come; if it comes, `consult` is still used. The
    /// default returns `None`.
    fn foresee(&self, _question: &GateQuestion) -> Option<Verdict> {
        None
    }
}

/// A question to the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateQuestion {
    /// The session that the call belongs to.
    pub session: SessionKey,
    /// The id of the call.
    pub call: CallId,
    /// The name of the tool.
    pub tool: ToolName,
    /// The exact arguments with which the call would run: JSON that fits the tool's schema, without duplicate
    /// keys.
    pub arguments: String,
    /// The digest of `arguments`.
    pub digest: Digest,
    /// The effect class of the tool.
    pub effect: EffectClass,
    /// True if the tool is dangerous.
    pub dangerous: bool,
    /// True if people have already approved these arguments. False for a call that may run because its
    /// request expired. If the gate then asks on the same terms again, the call does not wait again.
    pub approved: bool,
    /// The terms on which people were asked. `None` if people were asked on the default terms or not at all.
    pub approved_on: Option<Box<ApprovalTerms>>,
}

impl GateQuestion {
    /// Returns true if the approvals so far satisfy these terms.
    pub fn is_approved_on(&self, terms: &ApprovalTerms) -> bool {
        self.approved && (terms.is_anyone() || self.approved_on.as_deref() == Some(terms))
    }
}

/// The decision of a gate about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call may not run. The model sees the reason.
    Deny {
        /// The reason for the denial.
        reason: String,
        /// The rule that denied the call, for later investigation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// People must decide. The call may run after as many approvals of the same arguments as the terms require. A call
    /// of a client tool is denied instead. A call that returns the turn's value needs no approval.
    NeedsApproval {
        /// The text that the people see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The terms of the approval. Terms that cannot be met count as a denial.
        #[serde(default, skip_serializing_if = "is_default")]
        terms: ApprovalTerms,
    },
}

impl Verdict {
    /// Returns a denial with this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into(), rule: None }
    }

    /// Returns a request for a person's approval with this text.
    pub fn ask(prompt: impl Into<String>) -> Self {
        Self::NeedsApproval { prompt: Some(prompt.into()), terms: ApprovalTerms::default() }
    }
}

/// The error of a gate that could not decide. It counts as a denial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("gate unavailable: {0}")]
pub struct GateError(pub String);
