//! The people who decide on a call, if its policy says who they are or how many are needed.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::gate::ApprovalTerms;
use crate::words::ids::MessageSeq;
use crate::words::payload::Digest;

/// One request to several or named people: its terms, and its approvals so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panel {
    /// The terms: who must decide, and until when.
    pub terms: ApprovalTerms,
    /// The digest of the arguments that the people are shown.
    pub digest: Digest,
    /// The instant at which they were asked.
    pub asked_at: Timestamp,
    /// The number of escalations that were announced.
    #[serde(default, skip_serializing_if = "crate::words::payload::is_default")]
    pub escalated: u32,
    /// The approvals of these bytes, in order; each name once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
    /// Whether nobody decided in time, and the terms then let the call run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waived: bool,
}

/// One approval. The message that records it holds the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// The name of the person.
    pub by: String,
    /// The instant of the approval, by the store's clock.
    pub at: Timestamp,
    /// The message that records it.
    pub decision: MessageSeq,
}

impl Panel {
    /// A request to people about these bytes, made now. Keeps those of `votes` that the terms admit.
    pub fn new(terms: ApprovalTerms, digest: Digest, asked_at: Timestamp, votes: Vec<Vote>) -> Self {
        let votes = votes.into_iter().filter(|vote| terms.may_ever(&vote.by)).collect();
        Self { terms, digest, asked_at, escalated: 0, votes, waived: false }
    }

    /// The number of missing approvals.
    pub fn missing(&self) -> u32 {
        let votes = u32::try_from(self.votes.len()).unwrap_or(u32::MAX);
        self.terms.approvers.needed.saturating_sub(votes)
    }

    /// Whether the person of this name has approved.
    pub fn has_vote_of(&self, name: &str) -> bool {
        self.votes.iter().any(|vote| vote.by == name)
    }

    /// Whether the person of this name may answer at this instant. If anyone may and one approval is enough,
    /// an answer without a name is allowed too.
    pub fn may_answer(&self, name: Option<&str>, at: Timestamp) -> bool {
        match name {
            None => self.terms.is_anyone(),
            Some(_) if self.terms.approvers.names.is_empty() => true,
            Some(name) => self.who_may(at).any(|may| may == name),
        }
    }

    /// The named people who may answer at this instant. Empty if anyone may.
    pub fn who_may(&self, at: Timestamp) -> impl Iterator<Item = &str> {
        let begun =
            self.terms.escalate.iter().filter(move |escalation| self.instant(escalation.after_ms) <= at);
        let later = begun.flat_map(|escalation| &escalation.to);
        self.terms.approvers.names.iter().chain(later).map(String::as_str)
    }

    /// Whether the approvals satisfy these terms for these bytes.
    pub fn satisfies(&self, terms: &ApprovalTerms, digest: Digest) -> bool {
        let same = self.digest == digest;
        let admitted = self.votes.iter().filter(|vote| terms.may_ever(&vote.by)).count();
        let enough = admitted >= terms.approvers.needed as usize;
        same && (enough || self.waived && self.terms == *terms)
    }

    /// The instant of the next escalation that was not announced yet.
    pub(crate) fn escalates_at(&self) -> Option<Timestamp> {
        let next = self.terms.escalate.get(self.escalated as usize)?;
        Some(self.instant(next.after_ms))
    }

    fn instant(&self, after_ms: u64) -> Timestamp {
        self.asked_at.after(std::time::Duration::from_millis(after_ms))
    }
}
