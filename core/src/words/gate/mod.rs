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

/// A gate that does not answer within this time denies the call.
pub const GATE_TIMEOUT: Duration = Duration::from_secs(5);

/// Decides whether calls may run. Every call, from every path, passes the gate before it runs. A gate that is
/// silent or fails denies the call.
#[async_trait]
pub trait PolicyGate: Send + Sync + 'static {
    /// Decides on one call. Must have no effect: after a crash it is asked again.
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError>;

    /// Returns the verdict that [`consult`](Self::consult) would give on a call that a model is about to
    /// make, if the question and the gate's own data alone decide it; otherwise none, which is the default.
    /// It asks nobody, waits for nothing and counts nothing. The call may never come; if it comes, the gate
    /// is consulted all the same.
    fn foresee(&self, _question: &GateQuestion) -> Option<Verdict> {
        None
    }
}

/// A question to the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateQuestion {
    /// The session.
    pub session: SessionKey,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments that would run, exactly: JSON that fits the tool's schema, with no key twice.
    pub arguments: String,
    /// The digest of the arguments.
    pub digest: Digest,
    /// The tool's class.
    pub effect: EffectClass,
    /// Whether the tool is dangerous.
    pub dangerous: bool,
    /// Whether people have approved these bytes already. A call that may run because nobody decided in time
    /// counts as not approved. If the gate then asks on the same terms as before, the call does not wait
    /// again.
    pub approved: bool,
    /// The terms on which people were asked; none: the usual terms, or nobody was asked yet.
    pub approved_on: Option<Box<ApprovalTerms>>,
}

impl GateQuestion {
    /// Whether the approvals so far satisfy these terms.
    pub fn is_approved_on(&self, terms: &ApprovalTerms) -> bool {
        self.approved && (terms.is_anyone() || self.approved_on.as_deref() == Some(terms))
    }
}

/// The decision of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call may not run; the model is told why.
    Deny {
        /// The reason.
        reason: String,
        /// The rule that denied it, for later investigation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// People must decide. Satisfied by as many approvals of the same bytes as the terms ask for.
    NeedsApproval {
        /// The text that the person is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The terms of the approval. Terms that nobody could meet are a denial.
        #[serde(default, skip_serializing_if = "is_default")]
        terms: ApprovalTerms,
    },
}

impl Verdict {
    /// A denial for this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into(), rule: None }
    }

    /// A request for a person's decision, with this text for the person.
    pub fn ask(prompt: impl Into<String>) -> Self {
        Self::NeedsApproval { prompt: Some(prompt.into()), terms: ApprovalTerms::default() }
    }
}

/// The gate could not decide. This is a denial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("gate unavailable: {0}")]
pub struct GateError(pub String);
