//! The policy gate: whether a call may run.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::ids::{CallId, SessionKey, ToolName};
use crate::payload::Digest;
use crate::tool::EffectClass;

/// Silence of the gate for longer is a denial.
pub const GATE_TIMEOUT: Duration = Duration::from_secs(5);

/// Decides whether calls may run. Every call from every path passes it before it runs; its silence and
/// its errors are denials.
#[async_trait]
pub trait PolicyGate: Send + Sync + 'static {
    /// Decides on one call. Must have no effect: after a crash it is asked again.
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError>;
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
    /// The arguments that would run, exactly.
    pub arguments: String,
    /// Their digest.
    pub digest: Digest,
    /// The tool's class.
    pub effect: EffectClass,
    /// Whether the tool is dangerous.
    pub dangerous: bool,
    /// Whether a person has approved these bytes already.
    pub approved: bool,
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
    },
    /// A person must decide. Satisfied by an approval of the same bytes.
    NeedsApproval {
        /// What the person is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
    },
}

/// The gate could not decide. A denial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("gate unavailable: {0}")]
pub struct GateError(pub String);

/// A rule of a [`RuleGate`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRule {
    /// Which tools: a name, in which `*` stands for any run of characters.
    pub tool: String,
    /// What happens with their calls.
    pub action: RuleAction,
    /// What a person or the model is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What happens with a call that a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// It runs.
    Allow,
    /// It is refused.
    Deny,
    /// A person is asked.
    Ask,
}

/// A gate of rules, first match decides. Without a match a dangerous call asks, any other runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleGate {
    rules: Vec<ApprovalRule>,
}

impl RuleGate {
    /// A gate of `rules`, in order.
    pub fn new(rules: Vec<ApprovalRule>) -> Self {
        Self { rules }
    }

    /// The verdict on a call of `tool`.
    pub fn decide(&self, tool: &ToolName, dangerous: bool) -> Verdict {
        let Some(rule) = self.rules.iter().find(|rule| matches_glob(&rule.tool, tool.as_str())) else {
            return if dangerous {
                Verdict::NeedsApproval { prompt: Some(format!("{tool} is dangerous")) }
            } else {
                Verdict::Allow
            };
        };
        match rule.action {
            RuleAction::Allow => Verdict::Allow,
            RuleAction::Deny => Verdict::Deny {
                reason: rule.reason.clone().unwrap_or_else(|| format!("a rule forbids {tool}")),
            },
            RuleAction::Ask => Verdict::NeedsApproval { prompt: rule.reason.clone() },
        }
    }
}

#[async_trait]
impl PolicyGate for RuleGate {
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError> {
        Ok(self.decide(&question.tool, question.dangerous))
    }
}

/// Whether `text` matches `pattern`, in which `*` stands for any run of characters. Linear in time:
/// the newest star takes up one more character whenever what follows it does not fit.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("write_*", "write_file", true),
            ("write_*", "rewrite_file", false),
            ("*_file", "write_file", true),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
            ("read", "read", true),
            ("read", "reads", false),
        ] {
            assert_eq!(matches_glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn the_first_matching_rule_decides_and_danger_asks_without_one() {
        let rule = |tool: &str, action| ApprovalRule { tool: tool.into(), action, reason: None };
        let gate = RuleGate::new(vec![rule("write_*", RuleAction::Ask), rule("*", RuleAction::Allow)]);
        let name = |text: &str| ToolName::new(text).unwrap();
        assert_eq!(gate.decide(&name("write_file"), false), Verdict::NeedsApproval { prompt: None });
        assert_eq!(gate.decide(&name("run"), true), Verdict::Allow);
        let empty = RuleGate::default();
        assert_eq!(empty.decide(&name("read"), false), Verdict::Allow);
        assert!(matches!(empty.decide(&name("run"), true), Verdict::NeedsApproval { .. }));
    }
}
