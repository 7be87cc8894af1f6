//! The policy gate: it decides whether a call may run.

mod denial;
mod pattern;
mod rules;
mod stricter;
mod strictest;
mod terms;

use std::time::Duration;

use async_trait::async_trait;
pub use denial::{ARGUMENTS_SHOWN_MAX, DENIAL_SCHEMA, DenialRecord, DeniedBy};
pub use pattern::ArgumentPatterns;
pub use rules::{ApprovalRule, PermissionMode, RuleAction, RuleGate};
use serde::{Deserialize, Serialize};
pub use strictest::StrictestGate;
pub use terms::{
    APPROVALS_MAX, APPROVER_BYTES_MAX, APPROVERS_MAX, ApprovalTerms, Approvers, AtExpiry, ESCALATIONS_MAX,
    EXPIRY_RESULT_BYTES_MAX, Escalation,
};

use crate::words::ids::{CallId, SessionKey, ToolName};
use crate::words::payload::{Digest, is_default};
use crate::words::tool::EffectClass;

/// Silence of the gate for longer is a denial.
pub const GATE_TIMEOUT: Duration = Duration::from_secs(5);

/// Decides whether calls may run. Every call from every path passes it before it runs; its silence and
/// its errors are denials.
#[async_trait]
pub trait PolicyGate: Send + Sync + 'static {
    /// Decides on one call. Must have no effect: after a crash it is asked again.
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError>;

    /// What [`consult`](Self::consult) would say of a call that a model is about to ask for, as far as the question and
    /// what the gate holds decide it: nobody is asked, nothing is waited for, nothing is counted. None where that does not
    /// decide it, and by default. The call may never come; if it does, the gate is consulted all the same.
    fn foresee(&self, _question: &GateQuestion) -> Option<Verdict> {
        None
    }
}

/// What the gate is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateQuestion {
    /// Which session.
    pub session: SessionKey,
    /// Which call.
    pub call: CallId,
    /// Which tool.
    pub tool: ToolName,
    /// The arguments that would run, exactly: JSON that fits the tool's schema, no key twice.
    pub arguments: String,
    /// Their digest.
    pub digest: Digest,
    /// The tool's class.
    pub effect: EffectClass,
    /// Whether the tool is dangerous.
    pub dangerous: bool,
    /// Whether people have approved these bytes already. That a call may run because nobody decided in time approves
    /// nothing: a gate that asks on the same terms as before is not asked to wait again.
    pub approved: bool,
    /// On which terms they were asked; none: on the usual ones, or not yet.
    pub approved_on: Option<Box<ApprovalTerms>>,
}

impl GateQuestion {
    /// Whether what people have said is all that these terms ask for.
    pub fn is_approved_on(&self, terms: &ApprovalTerms) -> bool {
        self.approved && (terms.is_anyone() || self.approved_on.as_deref() == Some(terms))
    }
}

/// The gate's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may not; the model is told why.
    Deny {
        /// Why.
        reason: String,
        /// By which rule, for whoever looks into it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// People must decide. Satisfied by approvals of the same bytes, as many as the terms ask for.
    NeedsApproval {
        /// What the person is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// Whose approval it takes. What nobody could give is a denial.
        #[serde(default, skip_serializing_if = "is_default")]
        terms: ApprovalTerms,
    },
}

impl Verdict {
    /// It may not, for this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into(), rule: None }
    }

    /// A person must decide, and is told this.
    pub fn ask(prompt: impl Into<String>) -> Self {
        Self::NeedsApproval { prompt: Some(prompt.into()), terms: ApprovalTerms::default() }
    }
}

/// The gate could not decide. A denial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("gate unavailable: {0}")]
pub struct GateError(pub String);
