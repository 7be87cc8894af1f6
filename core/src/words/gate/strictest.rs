//! A gate that combines several gates. The strictest verdict counts.

use std::sync::Arc;

use async_trait::async_trait;

use super::stricter::stricter_terms;
use super::{GateError, GateQuestion, PolicyGate, Verdict};

/// Asks several gates one after another, and stops at the first that denies or fails. The
/// [strictest](Verdict::stricter) verdict counts: a call runs without approval only if all gates allow it.
#[derive(Clone, Default)]
pub struct StrictestGate(Vec<Arc<dyn PolicyGate>>);

impl StrictestGate {
    /// Creates a gate without any inner gates. It allows every call.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a gate after the existing ones.
    pub fn and(self, gate: impl PolicyGate) -> Self {
        self.and_shared(Arc::new(gate))
    }

    /// Adds a shared gate after the existing ones.
    pub fn and_shared(mut self, gate: Arc<dyn PolicyGate>) -> Self {
        self.0.push(gate);
        self
    }
}

impl std::fmt::Debug for StrictestGate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StrictestGate").field(&self.0.len()).finish()
    }
}

impl Verdict {
    /// Returns the stricter of two verdicts. A denial is stricter than a request for approval, and a request
    /// for approval is stricter than permission. Two requests are combined: people see both reasons, and the
    /// terms are at least as strict as both. The combined terms need the larger number of approvals, from
    /// people who may approve under both. If the request expires, the call runs only if both rules say so. If
    /// the two cannot be met together, the result is a denial that says so.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (denied @ Self::Deny { .. }, _) | (_, denied @ Self::Deny { .. }) => denied,
            (Self::Allow, other) | (other, Self::Allow) => other,
            (
                Self::NeedsApproval { prompt, terms },
                Self::NeedsApproval { prompt: other_prompt, terms: other_terms },
            ) => match stricter_terms(&terms, &other_terms) {
                Ok(terms) => Self::NeedsApproval { prompt: both(prompt, other_prompt), terms },
                Err(why) => Self::deny(format!("two rules ask for approvals that nobody can give: {why}")),
            },
        }
    }
}

fn both(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

#[async_trait]
impl PolicyGate for StrictestGate {
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError> {
        let mut strictest = Verdict::Allow;
        for gate in &self.0 {
            strictest = strictest.stricter(gate.consult(question).await?);
            if matches!(strictest, Verdict::Deny { .. }) {
                break;
            }
        }
        Ok(strictest)
    }

    /// Allows if every gate predicts permission, and denies if one gate predicts a denial. Otherwise returns
    /// `None`.
    fn foresee(&self, question: &GateQuestion) -> Option<Verdict> {
        let foreseen: Vec<Option<Verdict>> = self.0.iter().map(|gate| gate.foresee(question)).collect();
        let denied = foreseen.iter().flatten().find(|verdict| matches!(verdict, Verdict::Deny { .. }));
        let all_allow = || foreseen.iter().all(|verdict| *verdict == Some(Verdict::Allow));
        denied.cloned().or_else(|| all_allow().then_some(Verdict::Allow))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::words::gate::{ApprovalRule, ApprovalTerms, Approvers, AtExpiry, RuleAction, RuleGate};
    use crate::words::ids::{CallId, SessionId, SessionKey, TenantId, ToolName};
    use crate::words::payload::Digest;
    use crate::words::tool::EffectClass;

    struct Says(Result<Verdict, GateError>);

    #[async_trait]
    impl PolicyGate for Says {
        async fn consult(&self, _: &GateQuestion) -> Result<Verdict, GateError> {
            self.0.clone()
        }
    }

    fn question() -> GateQuestion {
        GateQuestion {
            session: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
            call: CallId::new("c").unwrap(),
            tool: ToolName::new("tool").unwrap(),
            arguments: "{}".into(),
            digest: Digest::of(b"{}"),
            effect: EffectClass::ReadOnly,
            dangerous: false,
            approved: false,
            approved_on: None,
        }
    }

    fn all(words: &[Result<Verdict, GateError>]) -> Result<Verdict, GateError> {
        let gate = words.iter().fold(StrictestGate::new(), |gate, word| gate.and(Says(word.clone())));
        gate.consult(&question()).now_or_never().unwrap()
    }

    #[test]
    fn a40_what_one_gate_cannot_foresee_is_not_foreseen() {
        let rules = |action| RuleGate::new(vec![ApprovalRule::new("tool", action)]);
        let gate = StrictestGate::new().and(rules(RuleAction::Allow));
        assert_eq!(gate.foresee(&question()), Some(Verdict::Allow));
        assert_eq!(gate.clone().and(rules(RuleAction::Ask)).foresee(&question()), None);
        let asks_elsewhere = gate.and(Says(Ok(Verdict::Allow)));
        assert_eq!(asks_elsewhere.foresee(&question()), None);
        // A denial is certain, regardless of the other gates.
        let denied = asks_elsewhere.and(rules(RuleAction::Deny)).foresee(&question());
        assert!(matches!(denied, Some(Verdict::Deny { .. })), "{denied:?}");
    }

    #[test]
    fn a_denial_beats_a_question_and_that_an_allowance() {
        let (allow, deny) = (Ok(Verdict::Allow), Ok(Verdict::deny("no")));
        let (ask, again) = (Ok(Verdict::ask("first")), Ok(Verdict::ask("second")));
        let fails = Err(GateError("away".into()));
        assert_eq!(all(&[]), allow);
        assert_eq!(all(&[allow.clone(), allow.clone()]), allow);
        assert_eq!(all(&[allow.clone(), ask.clone(), ask.clone(), allow.clone()]), ask);
        let told_both = Ok(Verdict::ask("first; second"));
        assert_eq!(all(&[ask.clone(), again]), told_both);
        assert_eq!(all(&[ask.clone(), deny.clone()]), deny);
        assert_eq!(all(&[deny.clone(), fails.clone()]), deny, "nobody else is asked");
        assert_eq!(all(&[allow, ask, fails.clone()]), fails);
    }

    #[test]
    fn of_two_questions_the_stricter_terms_count_in_each_respect() {
        let asks = |needed, at_expiry| Verdict::NeedsApproval {
            prompt: None,
            terms: ApprovalTerms {
                approvers: Approvers { needed, ..Approvers::default() },
                at_expiry,
                ..ApprovalTerms::default()
            },
        };
        let check = |one: &Verdict, other: &Verdict, expected: &Verdict| {
            assert_eq!(one.clone().stricter(other.clone()), *expected);
            assert_eq!(other.clone().stricter(one.clone()), *expected);
        };
        check(&asks(2, AtExpiry::Deny), &asks(1, AtExpiry::Deny), &asks(2, AtExpiry::Deny));
        check(&asks(1, AtExpiry::Approve), &asks(1, AtExpiry::Deny), &asks(1, AtExpiry::Deny));
        check(&asks(2, AtExpiry::Approve), &asks(1, AtExpiry::Deny), &asks(2, AtExpiry::Deny));
        check(&asks(2, AtExpiry::Approve), &asks(1, AtExpiry::Approve), &asks(2, AtExpiry::Approve));
        check(&asks(2, AtExpiry::Deny), &Verdict::Allow, &asks(2, AtExpiry::Deny));
        check(&asks(2, AtExpiry::Deny), &Verdict::deny("no"), &Verdict::deny("no"));
        let of = |name: &str, needed| Verdict::NeedsApproval {
            prompt: None,
            terms: ApprovalTerms {
                approvers: Approvers { names: [name.to_owned()].into(), needed },
                ..ApprovalTerms::default()
            },
        };
        check(&asks(1, AtExpiry::Approve), &of("ann", 1), &of("ann", 1));
        let nobody = of("ann", 1).stricter(of("bob", 1));
        assert!(matches!(&nobody, Verdict::Deny { reason, .. } if reason.contains("nobody")), "{nobody:?}");
    }
}
