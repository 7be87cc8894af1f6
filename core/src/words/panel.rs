//! The people who decide on a call, if its policy says who they are or how many are needed.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::gate::ApprovalTerms;
use crate::words::ids::MessageSeq;
use crate::words::payload::Digest;

/// One asking of several people, or of some: its terms, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panel {
    /// Who must decide, until when.
    pub terms: ApprovalTerms,
    /// The digest of the arguments that they are shown.
    pub digest: Digest,
    /// When they were asked.
    pub asked_at: Timestamp,
    /// How many escalations have been told of.
    #[serde(default, skip_serializing_if = "crate::words::payload::is_default")]
    pub escalated: u32,
    /// Who has approved these bytes, in order; each name once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
    /// Whether nobody decided in time, and the terms let it run then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waived: bool,
}

/// One approval. The message that records it holds the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Whose.
    pub by: String,
    /// When, by the store's clock.
    pub at: Timestamp,
    /// The message that records it.
    pub decision: MessageSeq,
}

impl Panel {
    /// People are asked now about these bytes. Of `votes`, those stand that the terms admit.
    pub fn new(terms: ApprovalTerms, digest: Digest, asked_at: Timestamp, votes: Vec<Vote>) -> Self {
        let votes = votes.into_iter().filter(|vote| terms.may_ever(&vote.by)).collect();
        Self { terms, digest, asked_at, escalated: 0, votes, waived: false }
    }

    /// How many approvals are missing.
    pub fn missing(&self) -> u32 {
        let votes = u32::try_from(self.votes.len()).unwrap_or(u32::MAX);
        self.terms.approvers.needed.saturating_sub(votes)
    }

    /// Whether the one of this name has approved.
    pub fn has_vote_of(&self, name: &str) -> bool {
        self.votes.iter().any(|vote| vote.by == name)
    }

    /// Whether the one of this name may answer at this instant. Where everybody may and one is enough, so may
    /// somebody without a name.
    pub fn may_answer(&self, name: Option<&str>, at: Timestamp) -> bool {
        match name {
            None => self.terms.is_anyone(),
            Some(_) if self.terms.approvers.names.is_empty() => true,
            Some(name) => self.who_may(at).any(|may| may == name),
        }
    }

    /// Who of those who are named may answer at this instant; nobody is named where anyone may.
    pub fn who_may(&self, at: Timestamp) -> impl Iterator<Item = &str> {
        let begun =
            self.terms.escalate.iter().filter(move |escalation| self.instant(escalation.after_ms) <= at);
        let later = begun.flat_map(|escalation| &escalation.to);
        self.terms.approvers.names.iter().chain(later).map(String::as_str)
    }

    /// Whether an asking on these terms about these bytes has been answered.
    pub fn satisfies(&self, terms: &ApprovalTerms, digest: Digest) -> bool {
        let same = self.digest == digest;
        let admitted = self.votes.iter().filter(|vote| terms.may_ever(&vote.by)).count();
        let enough = admitted >= terms.approvers.needed as usize;
        same && (enough || self.waived && self.terms == *terms)
    }

    /// When more people may answer, of which nobody was told yet.
    pub fn escalates_at(&self) -> Option<Timestamp> {
        let next = self.terms.escalate.get(self.escalated as usize)?;
        Some(self.instant(next.after_ms))
    }

    fn instant(&self, after_ms: u64) -> Timestamp {
        self.asked_at.after(std::time::Duration::from_millis(after_ms))
    }
}
