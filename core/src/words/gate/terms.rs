//! The terms of an approval: the people who must approve a call, and the consequence if they do not (requirement
//! U05).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::words::payload::is_default;
use crate::words::tool::Bound;

/// The maximum number of approvals that a call may need.
pub(crate) const APPROVALS_MAX: u32 = 32;
/// The maximum number of named approvers, including those of all escalations.
pub(crate) const APPROVERS_MAX: usize = 64;
/// The maximum length of an approver's name, in bytes.
pub(crate) const APPROVER_BYTES_MAX: usize = 256;
/// The maximum number of escalations of a request.
pub(crate) const ESCALATIONS_MAX: usize = 8;
/// The maximum size of the result that a call may get when its request expires, in bytes.
pub(crate) const EXPIRY_RESULT_BYTES_MAX: usize = 64 * 1024;

/// The terms of an approval. The default is one approval by anyone within the agent's time limit; otherwise
/// the call is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ApprovalTerms {
    /// The people who may approve, and the number of approvals needed.
    #[serde(skip_serializing_if = "is_default")]
    pub approvers: Approvers,
    /// The escalations: people who may answer later, earliest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escalate: Vec<Escalation>,
    /// The time limit of the request, in milliseconds, or `"none"` for no limit. If left out, the agent's
    /// limit applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_after_ms: Option<Bound>,
    /// The action when the time limit is reached without enough approvals.
    #[serde(skip_serializing_if = "is_default")]
    pub at_expiry: AtExpiry,
}

setters! { ApprovalTerms {
    approvers: Approvers,
    escalate: Vec<Escalation>,
    at_expiry: AtExpiry,
} into {
    expires_after_ms: Option<Bound>,
} }

/// The people who may approve, and the number of approvals needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Approvers {
    /// The names of the people who may approve. If empty, anyone may. The engine trusts the name that comes
    /// with an answer: the program that passes answers on must verify it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub names: BTreeSet<String>,
    /// The number of approvals needed, each by a different person.
    #[serde(skip_serializing_if = "is_one")]
    pub needed: u32,
}

impl Approvers {
    /// Requires `needed` approvals by people with these names. If `names` is empty, anyone may approve.
    pub fn of<N: Into<String>>(names: impl IntoIterator<Item = N>, needed: u32) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), needed }
    }
}

impl Default for Approvers {
    fn default() -> Self {
        Self { names: BTreeSet::new(), needed: 1 }
    }
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// An escalation: after some time, more people may answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Escalation {
    /// The time after the request, in milliseconds.
    pub after_ms: u64,
    /// The additional people who may answer from then on.
    pub to: BTreeSet<String>,
}

impl Escalation {
    /// Creates an escalation: `after_ms` milliseconds after the request, the people in `to` may answer too.
    pub fn new<N: Into<String>>(after_ms: u64, to: impl IntoIterator<Item = N>) -> Self {
        Self { after_ms, to: to.into_iter().map(Into::into).collect() }
    }
}

/// The action when too few people decide in time.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtExpiry {
    /// The call is not run, and the model sees that.
    #[default]
    Deny,
    /// The call runs, unless the gate now denies it or asks for approval on other terms.
    Approve,
    /// The call is not run, and this text is its result.
    Result(String),
}

impl ApprovalTerms {
    /// Returns true if the terms need one approval by anyone. A standing approval then satisfies them.
    pub fn is_anyone(&self) -> bool {
        self.approvers.names.is_empty() && self.approvers.needed == 1
    }

    /// Returns true if the person with this name may answer at some time.
    pub(crate) fn may_ever(&self, name: &str) -> bool {
        self.approvers.names.is_empty() || self.names().contains(name)
    }

    /// Returns all names in the terms, including those of escalations.
    fn names(&self) -> BTreeSet<&str> {
        let later = self.escalate.iter().flat_map(|escalation| &escalation.to);
        self.approvers.names.iter().chain(later).map(String::as_str).collect()
    }

    /// Checks that the terms can be met and are within the bounds.
    ///
    /// # Errors
    /// Returns a short description of the fault.
    pub fn check(&self) -> Result<(), String> {
        let Approvers { names, needed } = &self.approvers;
        let all = self.names();
        let in_order = self.escalate.windows(2).all(|two| match two {
            [first, second] => first.after_ms < second.after_ms,
            _ => true,
        });
        let fits = |name: &&str| !name.trim().is_empty() && name.len() <= APPROVER_BYTES_MAX;
        let why = if !(1..=APPROVALS_MAX).contains(needed) {
            format!("approvers: needed: expected 1 to {APPROVALS_MAX}, found {needed}")
        } else if !names.is_empty() && all.len() < *needed as usize {
            format!("approvers: {needed} are needed, {} are named", all.len())
        } else if all.len() > APPROVERS_MAX {
            format!("approvers: {} are named, at most {APPROVERS_MAX} are allowed", all.len())
        } else if !all.iter().all(fits) {
            format!("approvers: a name is empty, or longer than {APPROVER_BYTES_MAX} bytes")
        } else if names.is_empty() && !self.escalate.is_empty() {
            "escalate: anyone may approve already; name approvers".to_owned()
        } else if self.escalate.len() > ESCALATIONS_MAX || !in_order {
            format!("escalate: expected at most {ESCALATIONS_MAX}, each after the one before")
        } else if self.escalate.iter().any(|escalation| escalation.to.is_empty()) {
            "escalate: to: is empty".to_owned()
        } else if self.expires_after_ms == Some(Bound::At(0)) {
            "expires_after_ms: is zero".to_owned()
        } else if matches!(&self.at_expiry, AtExpiry::Result(text) if text.len() > EXPIRY_RESULT_BYTES_MAX) {
            format!("at_expiry: result: at most {EXPIRY_RESULT_BYTES_MAX} bytes are allowed")
        } else {
            return Ok(());
        };
        Err(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(written: &str) -> ApprovalTerms {
        serde_json::from_str(written).unwrap()
    }

    #[test]
    fn u05_what_nobody_could_meet_is_wrong() {
        for (written, why) in [
            (r#"{"approvers": {"needed": 0}}"#, "expected 1 to 32, found 0"),
            (r#"{"approvers": {"names": ["ann"], "needed": 2}}"#, "2 are needed, 1 are named"),
            (r#"{"approvers": {"names": [" "]}}"#, "a name is empty"),
            (r#"{"escalate": [{"after_ms": 1, "to": ["ann"]}]}"#, "anyone may approve already"),
            (
                r#"{"approvers": {"names": ["a"]}, "escalate": [{"after_ms": 2, "to": ["b"]}, {"after_ms": 2, "to": ["c"]}]}"#,
                "each after the one before",
            ),
            (r#"{"approvers": {"names": ["a"]}, "escalate": [{"after_ms": 2, "to": []}]}"#, "to: is empty"),
            (r#"{"expires_after_ms": 0}"#, "expires_after_ms: is zero"),
        ] {
            let found = terms(written).check().unwrap_err();
            assert!(found.contains(why), "{written}: {found}");
        }
        let later =
            r#"{"approvers": {"names": ["ann"], "needed": 2}, "escalate": [{"after_ms": 1, "to": ["bob"]}]}"#;
        assert_eq!(terms(later).check(), Ok(()), "with those of an escalation there are enough");
    }

    #[test]
    fn u05_terms_are_written_in_few_words() {
        let written = r#"{"approvers":{"names":["ann","bob"],"needed":2},"escalate":[{"after_ms":60000,"to":["eve"]}],"expires_after_ms":"none","at_expiry":{"result":"later"}}"#;
        assert_eq!(serde_json::to_string(&terms(written)).unwrap(), written);
        assert_eq!(serde_json::to_string(&ApprovalTerms::default()).unwrap(), "{}");
    }
}
