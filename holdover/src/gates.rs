//! Gates: they decide which calls of tools may run, and who must approve them.
//!
//! ```
//! use holdover::gates::StrictestGate;
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = RuleGate::new(vec![
//!     ApprovalRule::new("read_file", RuleAction::Allow),
//!     ApprovalRule::new("refund", RuleAction::Ask).because("money leaves the house"),
//! ]);
//! # let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! // A gate of your own may follow: the strictest answer counts.
//! let agent = Agent::builder("clerk").model(model).gate(StrictestGate::new().and(rules)).build()?;
//! assert_eq!(agent.label().as_str(), "clerk");
//! # Ok(())
//! # }
//! ```
//!
//! A [`PolicyGate`] is asked before each call of a tool and answers with a [`Verdict`]. [`RuleGate`] decides by a
//! list of rules, `HttpGate` asks a server of yours (feature `gates`), and [`StrictestGate`] takes the strictest
//! answer of several gates. [`ApprovalTerms`] say how many people must approve, who they are, and what happens at
//! the deadline. The module [`pending`](crate::pending) has the types with which people approve and deny.

pub use holdover_core::gate::{
    ApprovalRule, ApprovalTerms, Approvers, ArgumentPatterns, AtExpiry, DenialRecord, DeniedBy, Escalation,
    GATE_TIMEOUT, GateError, GateQuestion, PermissionMode, PolicyGate, RuleAction, RuleGate, StrictestGate,
    Verdict,
};
#[cfg(feature = "gates")]
pub use holdover_gates::{
    ANSWER_BYTES_MAX, ASKED_FORMAT, HttpCarrier, HttpCarrierError, HttpGate, HttpGateError,
};
