//! Requests for approval on terms other than the default: the people who decide on a call, and their approvals.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::gate::ApprovalTerms;
use crate::words::ids::MessageSeq;
use crate::words::payload::Digest;

/// A request for approval on terms other than the default, with the approvals so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panel {
    /// The terms of the approval: the people who must decide, and the time limit.
    pub terms: ApprovalTerms,
    /// The digest of the arguments that the people see.
    pub digest: Digest,
    /// The instant at which the people were asked.
    pub asked_at: Timestamp,
    /// The number of escalations that have been announced.
    #[serde(default, skip_serializing_if = "crate::words::payload::is_default")]
    pub escalated: u32,
    /// The approvals of these arguments, in order. Each name appears once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
    /// True if too few people decided in time and the terms then let the call run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waived: bool,
}

/// One approval. The decision message holds the details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// The name of the person who approved.
    pub by: String,
    /// The instant of the approval, by the store's clock.
    pub at: Timestamp,
    /// The decision message that records the approval.
    pub decision: MessageSeq,
}

impl Panel {
    /// Creates a request that is made at `asked_at`. Keeps only those of `votes` that the terms allow.
    pub fn new(terms: ApprovalTerms, digest: Digest, asked_at: Timestamp, votes: Vec<Vote>) -> Self {
        let votes = votes.into_iter().filter(|vote| terms.may_ever(&vote.by)).collect();
        Self { terms, digest, asked_at, escalated: 0, votes, waived: false }
    }

    /// Returns the number of missing approvals.
    pub fn missing(&self) -> u32 {
        let votes = u32::try_from(self.votes.len()).unwrap_or(u32::MAX);
        self.terms.approvers.needed.saturating_sub(votes)
    }

    /// Returns true if the person with this name has approved.
    pub fn has_vote_of(&self, name: &str) -> bool {
        self.votes.iter().any(|vote| vote.by == name)
    }

    /// Returns true if the person with this name may answer at this instant. An answer without a name is
    /// allowed only if anyone may answer and one approval is enough.
    pub fn may_answer(&self, name: Option<&str>, at: Timestamp) -> bool {
        match name {
            None => self.terms.is_anyone(),
            Some(_) if self.terms.approvers.names.is_empty() => true,
            Some(name) => self.who_may(at).any(|may| may == name),
        }
    }

    /// Iterates over the named people who may answer at this instant. Empty if anyone may answer.
    pub fn who_may(&self, at: Timestamp) -> impl Iterator<Item = &str> {
        let begun =
            self.terms.escalate.iter().filter(move |escalation| self.instant(escalation.after_ms) <= at);
        let later = begun.flat_map(|escalation| &escalation.to);
        self.terms.approvers.names.iter().chain(later).map(String::as_str)
    }

    /// Returns true if the approvals satisfy these terms for these arguments, or if the same terms let the call run
    /// without them.
    pub fn satisfies(&self, terms: &ApprovalTerms, digest: Digest) -> bool {
        let same = self.digest == digest;
        let admitted = self.votes.iter().filter(|vote| terms.may_ever(&vote.by)).count();
        let enough = admitted >= terms.approvers.needed as usize;
        same && (enough || self.waived && self.terms == *terms)
    }

    /// Returns the instant of the next escalation that has not been announced.
    pub(crate) fn escalates_at(&self) -> Option<Timestamp> {
        let next = self.terms.escalate.get(self.escalated as usize)?;
        Some(self.instant(next.after_ms))
    }

    fn instant(&self, after_ms: u64) -> Timestamp {
        self.asked_at.after(std::time::Duration::from_millis(after_ms))
    }
}
