//! A gate that decides by rules (requirements A46, C30, C31).

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::pattern::{ArgumentPatterns, matches_glob};
use super::{ApprovalTerms, GateError, GateQuestion, PolicyGate, Verdict};
use crate::words::payload::is_default;

/// A rule of a [`RuleGate`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRule {
    /// The pattern for the names of the tools. `*` stands for any number of characters.
    pub tool: String,
    /// The patterns that the arguments of a call must match.
    #[serde(default, skip_serializing_if = "ArgumentPatterns::is_empty")]
    pub arguments: ArgumentPatterns,
    /// The action for matching calls.
    pub action: RuleAction,
    /// The text that the person or the model sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The terms of the approval, if `action` is `ask`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub terms: ApprovalTerms,
}

impl ApprovalRule {
    /// Returns a rule for every call of tools that match `tool`.
    pub fn new(tool: impl Into<String>, action: RuleAction) -> Self {
        Self {
            tool: tool.into(),
            arguments: ArgumentPatterns::default(),
            action,
            reason: None,
            terms: ApprovalTerms::default(),
        }
    }

    /// Limits the rule to calls with an argument `name` that matches this pattern.
    pub fn where_argument(mut self, name: &str, pattern: &str) -> Self {
        let all = self.arguments.iter().chain([(name, pattern)]);
        self.arguments = all.collect();
        self
    }

    /// Sets the text that the person or the model sees.
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// Sets the terms of the approval. Valid only if the rule asks.
    pub fn on_terms(self, terms: ApprovalTerms) -> Self {
        Self { terms, ..self }
    }

    /// Checks the rule: its terms must be possible to meet, and only a rule that asks may have terms.
    ///
    /// # Errors
    /// Returns a short description of the fault.
    pub fn check(&self) -> Result<(), String> {
        let asks = self.action == RuleAction::Ask;
        if !asks && !is_default(&self.terms) {
            return Err("terms: are for action ask alone".to_owned());
        }
        self.terms.check().map_err(|why| format!("terms: {why}"))
    }

    /// Returns true if the rule applies to tools with this name.
    pub fn is_about(&self, tool: &str) -> bool {
        matches_glob(&self.tool, tool)
    }

    fn matches(&self, tool: &str, arguments: &str) -> bool {
        let fit = match self.action {
            RuleAction::Allow => self.arguments.let_through(arguments),
            RuleAction::Deny | RuleAction::Ask => self.arguments.fit(arguments),
        };
        fit && self.is_about(tool)
    }
}

/// The action for calls that match a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// The call runs.
    Allow,
    /// The call is refused, in every mode.
    Deny,
    /// A person must approve the call. In mode full, and for always allowed tools in mode auto, the call runs
    /// without approval.
    Ask,
}

/// The action for calls that no rule decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// Calls without a rule need approval.
    Manual,
    /// Calls without a rule run, unless their tool is dangerous: then they need approval.
    #[default]
    Auto,
    /// All calls run unless a rule denies them, even if a rule asks for approval.
    Full,
}

impl PermissionMode {
    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Auto => "auto",
            Self::Full => "full",
        }
    }
}

/// A gate that decides by rules. The first matching rule decides. If that rule asks or no rule matches, the
/// mode may decide: see [`decide`](Self::decide).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleGate {
    rules: Vec<ApprovalRule>,
    mode: PermissionMode,
    always_allow: Vec<String>,
}

impl RuleGate {
    /// Creates a gate with `rules` in this order, in mode auto.
    pub fn new(rules: Vec<ApprovalRule>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Sets the permission mode.
    pub fn mode(self, mode: PermissionMode) -> Self {
        Self { mode, ..self }
    }

    /// Sets the tools that run in mode auto even if they are dangerous or a rule asks for approval. In each
    /// name, `*` stands for any number of characters. Rules that deny still apply. Has no effect in mode
    /// manual.
    pub fn always_allow(self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { always_allow: tools.into_iter().map(Into::into).collect(), ..self }
    }

    /// Returns the verdict on a call of `tool` with these JSON arguments. Only the first matching rule
    /// counts. A rule that denies or allows applies in every mode. If the rule asks or no rule matches, mode
    /// full allows the call, and mode auto allows it for always allowed tools. Otherwise a rule that asks
    /// requires approval, and without a rule the mode decides.
    pub fn decide(&self, tool: &str, arguments: &str, dangerous: bool) -> Verdict {
        let first = self.rules.iter().enumerate().find(|(_, rule)| rule.matches(tool, arguments));
        let action = first.map(|(_, rule)| rule.action);
        let reason = first.and_then(|(_, rule)| rule.reason.clone());
        match (action, self.mode) {
            (Some(RuleAction::Deny), _) => Verdict::Deny {
                reason: reason.unwrap_or_else(|| format!("a rule forbids {tool}")),
                rule: first.map(|(at, rule)| named(at, rule)),
            },
            (Some(RuleAction::Allow), _) | (_, PermissionMode::Full) => Verdict::Allow,
            (_, PermissionMode::Auto) if self.is_always_allowed(tool) => Verdict::Allow,
            (Some(RuleAction::Ask), _) => {
                let terms = first.map(|(_, rule)| rule.terms.clone()).unwrap_or_default();
                Verdict::NeedsApproval { prompt: reason, terms }
            }
            (None, PermissionMode::Manual) => {
                Verdict::NeedsApproval { prompt: None, terms: ApprovalTerms::default() }
            }
            (None, PermissionMode::Auto) if dangerous => Verdict::ask(format!("{tool} is dangerous")),
            (None, PermissionMode::Auto) => Verdict::Allow,
        }
    }

    fn is_always_allowed(&self, tool: &str) -> bool {
        self.always_allow.iter().any(|pattern| matches_glob(pattern, tool))
    }
}

/// Returns the name of a rule: its number, its tools, and its argument patterns, if any.
fn named(at: usize, rule: &ApprovalRule) -> String {
    let place = at + 1;
    match rule.arguments.is_empty() {
        true => format!("rule {place}: {}", rule.tool),
        false => format!("rule {place}: {} where {}", rule.tool, rule.arguments),
    }
}

#[async_trait]
impl PolicyGate for RuleGate {
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError> {
        Ok(self.decide(question.tool.as_str(), &question.arguments, question.dangerous))
    }

    fn foresee(&self, question: &GateQuestion) -> Option<Verdict> {
        Some(self.decide(question.tool.as_str(), &question.arguments, question.dangerous))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::gate::Approvers;

    fn asks() -> Verdict {
        Verdict::NeedsApproval { prompt: None, terms: ApprovalTerms::default() }
    }

    fn rule(tool: &str, action: RuleAction) -> ApprovalRule {
        ApprovalRule::new(tool, action)
    }

    #[test]
    fn c31_the_first_matching_rule_decides_and_danger_asks_without_one() {
        let gate = RuleGate::new(vec![rule("write_*", RuleAction::Ask), rule("*", RuleAction::Allow)]);
        assert_eq!(gate.decide("write_file", "{}", false), asks());
        assert_eq!(gate.decide("run", "{}", true), Verdict::Allow);
        let empty = RuleGate::default();
        assert_eq!(empty.decide("read", "{}", false), Verdict::Allow);
        assert!(matches!(empty.decide("run", "{}", true), Verdict::NeedsApproval { .. }));
    }

    /// Requirements: A46.
    #[test]
    fn c31_a_rule_may_be_about_some_arguments_only() {
        let gate = RuleGate::new(vec![
            rule("write", RuleAction::Deny).where_argument("path", "*.lock").because("it is made by a tool"),
            rule("write", RuleAction::Allow).where_argument("path", "notes/*"),
            rule("write", RuleAction::Ask),
        ]);
        let write =
            |path: &str| gate.decide("write", &serde_json::json!({ "path": path }).to_string(), false);
        let denied = Verdict::Deny {
            reason: "it is made by a tool".into(),
            rule: Some("rule 1: write where path=*.lock".into()),
        };
        assert_eq!(write("notes/Cargo.lock"), denied);
        assert_eq!(write("notes/today"), Verdict::Allow);
        assert_eq!(write("notes/../today"), asks(), "a star lets nothing climb");
        assert_eq!(write("elsewhere"), asks());
    }

    /// Requirements: C20.
    #[test]
    fn c30_the_mode_decides_what_no_rule_denies() {
        let rules = vec![
            rule("pay", RuleAction::Deny),
            rule("write", RuleAction::Ask),
            rule("read", RuleAction::Allow),
        ];
        let verdicts = |mode| {
            let gate = RuleGate::new(rules.clone()).mode(mode);
            ["pay", "write", "read", "other", "wipe"].map(|tool| {
                match gate.decide(tool, "{}", tool == "wipe") {
                    Verdict::Allow => "runs",
                    Verdict::Deny { .. } => "denied",
                    Verdict::NeedsApproval { .. } => "asks",
                }
            })
        };
        assert_eq!(verdicts(PermissionMode::Manual), ["denied", "asks", "runs", "asks", "asks"]);
        assert_eq!(verdicts(PermissionMode::Auto), ["denied", "asks", "runs", "runs", "asks"]);
        assert_eq!(verdicts(PermissionMode::Full), ["denied", "runs", "runs", "runs", "runs"]);
    }

    #[test]
    fn c30_what_is_always_allowed_runs_in_mode_auto_alone() {
        let rules = vec![rule("pay_all", RuleAction::Deny), rule("pay*", RuleAction::Ask)];
        let verdicts = |mode| {
            let gate = RuleGate::new(rules.clone()).mode(mode).always_allow(["pay*", "wipe"]);
            ["pay_all", "pay", "wipe", "other"].map(|tool| match gate.decide(tool, "{}", tool == "wipe") {
                Verdict::Allow => "runs",
                Verdict::Deny { .. } => "denied",
                Verdict::NeedsApproval { .. } => "asks",
            })
        };
        assert_eq!(verdicts(PermissionMode::Manual), ["denied", "asks", "asks", "asks"]);
        assert_eq!(verdicts(PermissionMode::Auto), ["denied", "runs", "runs", "runs"]);
        assert_eq!(verdicts(PermissionMode::Full), ["denied", "runs", "runs", "runs"]);
    }

    #[test]
    fn u05_a_rule_says_whose_approval_it_takes() {
        let two = ApprovalTerms {
            approvers: Approvers { needed: 2, ..Approvers::default() },
            ..ApprovalTerms::default()
        };
        let pay = rule("pay", RuleAction::Ask).on_terms(two.clone());
        assert_eq!(pay.check(), Ok(()));
        let gate = RuleGate::new(vec![pay]);
        assert_eq!(
            gate.decide("pay", "{}", false),
            Verdict::NeedsApproval { prompt: None, terms: two.clone() }
        );
        let pointless = rule("pay", RuleAction::Allow).on_terms(two).check().unwrap_err();
        assert_eq!(pointless, "terms: are for action ask alone");
    }
}
