//! Combines the terms of two rules into terms that satisfy both.

use std::collections::BTreeSet;

use super::terms::ESCALATIONS_MAX;
use super::{ApprovalTerms, Approvers, AtExpiry, Escalation};
use crate::words::tool::Bound;

/// Returns terms that are at least as strict as both. Every person who may approve under the result may
/// approve under each of the two.
///
/// # Errors
/// Returns a short reason if the two cannot be met together.
pub(super) fn stricter_terms(one: &ApprovalTerms, other: &ApprovalTerms) -> Result<ApprovalTerms, String> {
    let (names, escalate) = match (one.approvers.names.is_empty(), other.approvers.names.is_empty()) {
        (true, _) => (other.approvers.names.clone(), other.escalate.clone()),
        (false, true) => (one.approvers.names.clone(), one.escalate.clone()),
        (false, false) => people_of_both(one, other)?,
    };
    let needed = one.approvers.needed.max(other.approvers.needed);
    let (expires_after_ms, at_expiry) = expiry_of_both(one, other);
    let terms =
        ApprovalTerms { approvers: Approvers { names, needed }, escalate, expires_after_ms, at_expiry };
    terms.check()?;
    Ok(terms)
}

/// Returns the people who may approve under both rules, at first and after escalations. Fails if there are
/// none at first, because terms without names would let anyone approve.
fn people_of_both(
    one: &ApprovalTerms,
    other: &ApprovalTerms,
) -> Result<(BTreeSet<String>, Vec<Escalation>), String> {
    let may_by_both =
        |at: u64| -> BTreeSet<String> { may_at(one, at).intersection(&may_at(other, at)).cloned().collect() };
    let first = may_by_both(0);
    if first.is_empty() {
        return Err("nobody may approve by both rules from the beginning".to_owned());
    }
    let instants: BTreeSet<u64> =
        one.escalate.iter().chain(&other.escalate).map(|escalation| escalation.after_ms).collect();
    let (mut known, mut escalate) = (first.clone(), Vec::<Escalation>::new());
    for after_ms in instants {
        let now = may_by_both(after_ms);
        let to: BTreeSet<String> = now.difference(&known).cloned().collect();
        known = now;
        let full = escalate.len() == ESCALATIONS_MAX;
        match escalate.last_mut().filter(|_| full) {
            _ if to.is_empty() => {}
            // Beyond the bound, people are added later than their rules say, never sooner.
            Some(last) => {
                last.after_ms = after_ms;
                last.to.extend(to);
            }
            None => escalate.push(Escalation { after_ms, to }),
        }
    }
    Ok((first, escalate))
}

/// Returns the people who may approve this many milliseconds after the request.
fn may_at(terms: &ApprovalTerms, at: u64) -> BTreeSet<String> {
    let later = terms.escalate.iter().filter(|escalation| escalation.after_ms <= at);
    let later = later.flat_map(|escalation| &escalation.to);
    terms.approvers.names.iter().chain(later).cloned().collect()
}

/// Combines the expiries of two rules. If the request expires, the call runs only if both rules say so, after
/// the longer wait. If both say so but only one sets a wait, the call is refused after the agent's own limit.
/// Otherwise the request ends after the shorter wait of the rules that do not run the call.
fn expiry_of_both(one: &ApprovalTerms, other: &ApprovalTerms) -> (Option<Bound>, AtExpiry) {
    let approves = |terms: &ApprovalTerms| terms.at_expiry == AtExpiry::Approve;
    let of = |terms: &ApprovalTerms| (terms.expires_after_ms, terms.at_expiry.clone());
    match (approves(one), approves(other)) {
        (true, false) => of(other),
        (false, true) => of(one),
        (false, false) if one.expires_after_ms == other.expires_after_ms => {
            let milder = one.at_expiry != AtExpiry::Deny;
            of(if milder { other } else { one })
        }
        (false, false) => of(if wait(other) < wait(one) { other } else { one }),
        (true, true) => match (one.expires_after_ms, other.expires_after_ms) {
            // The agent's own limit is not known here.
            (None, Some(_)) | (Some(_), None) => (None, AtExpiry::Deny),
            (_, _) => of(if wait(other) > wait(one) { other } else { one }),
        },
    }
}

/// Returns the wait in a comparable form. The agent's own limit lies between explicit waits and no limit.
fn wait(terms: &ApprovalTerms) -> (u8, u64) {
    match terms.expires_after_ms {
        Some(Bound::At(ms)) => (0, ms),
        None => (1, 0),
        Some(Bound::Never) => (2, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> ApprovalTerms {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_terms_of_two_rules_are_at_least_as_strict_as_each() {
        for (one, other, both) in [
            (
                r#"{"approvers": {"needed": 2}}"#,
                r#"{"approvers": {"names": ["ann", "bob"]}}"#,
                r#"{"approvers": {"names": ["ann", "bob"], "needed": 2}}"#,
            ),
            (
                r#"{"approvers": {"names": ["ann", "bob"], "needed": 2}}"#,
                r#"{"approvers": {"names": ["ann", "bob", "eve"]}}"#,
                r#"{"approvers": {"names": ["ann", "bob"], "needed": 2}}"#,
            ),
            (
                r#"{"approvers": {"names": ["ann"]}, "escalate": [{"after_ms": 5, "to": ["bob", "eve"]}]}"#,
                r#"{"approvers": {"names": ["ann", "bob"]}, "escalate": [{"after_ms": 9, "to": ["eve"]}]}"#,
                r#"{"approvers": {"names": ["ann"]}, "escalate": [{"after_ms": 5, "to": ["bob"]}, {"after_ms": 9, "to": ["eve"]}]}"#,
            ),
            (
                r#"{"approvers": {"names": ["ann"]}, "escalate": [{"after_ms": 5, "to": ["bob"]}]}"#,
                "{}",
                r#"{"approvers": {"names": ["ann"]}, "escalate": [{"after_ms": 5, "to": ["bob"]}]}"#,
            ),
            (
                r#"{"expires_after_ms": 5, "at_expiry": "approve"}"#,
                r#"{"expires_after_ms": 9}"#,
                r#"{"expires_after_ms": 9}"#,
            ),
            (
                r#"{"expires_after_ms": 5, "at_expiry": "approve"}"#,
                r#"{"expires_after_ms": 9, "at_expiry": "approve"}"#,
                r#"{"expires_after_ms": 9, "at_expiry": "approve"}"#,
            ),
            (r#"{"expires_after_ms": 5, "at_expiry": "approve"}"#, r#"{"at_expiry": "approve"}"#, "{}"),
            (
                r#"{"expires_after_ms": 5, "at_expiry": {"result": "later"}}"#,
                r#"{"expires_after_ms": "none"}"#,
                r#"{"expires_after_ms": 5, "at_expiry": {"result": "later"}}"#,
            ),
            (r#"{"at_expiry": {"result": "later"}}"#, "{}", "{}"),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(stricter_terms(&terms(one), &terms(other)), Ok(terms(both)), "{one} {other}");
            }
        }
    }

    #[test]
    fn rules_that_nobody_can_meet_at_once_are_said_to_be_so() {
        for (one, other, says) in [
            (
                r#"{"approvers": {"names": ["ann"]}}"#,
                r#"{"approvers": {"names": ["bob"]}}"#,
                "nobody may approve",
            ),
            (
                r#"{"approvers": {"needed": 2}}"#,
                r#"{"approvers": {"names": ["ann"]}}"#,
                "approvers: 2 are needed, 1",
            ),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                let why = stricter_terms(&terms(one), &terms(other)).unwrap_err();
                assert!(why.starts_with(says), "{why}");
            }
        }
    }

    #[test]
    fn people_beyond_the_bound_of_escalations_come_later() {
        let people = |letter: char| (0..8).map(move |n: u64| format!("{letter}{n}"));
        // Each rule names these people at once; the other rule adds them later, one after another.
        let rule = |at_once: char, later: char, from: u64| ApprovalTerms {
            approvers: Approvers { names: people(at_once).chain(["x".to_owned()]).collect(), needed: 1 },
            escalate: people(later)
                .zip((from..).step_by(2))
                .map(|(name, after_ms)| Escalation { after_ms, to: [name].into() })
                .collect(),
            ..ApprovalTerms::default()
        };
        let both = stricter_terms(&rule('a', 'b', 1), &rule('b', 'a', 2)).unwrap();
        assert_eq!(both.approvers.names, ["x".to_owned()].into());
        let instants: Vec<u64> = both.escalate.iter().map(|escalation| escalation.after_ms).collect();
        assert_eq!(instants, [1, 2, 3, 4, 5, 6, 7, 16]);
        assert_eq!(both.escalate[7].to.len(), 9);
    }
}
