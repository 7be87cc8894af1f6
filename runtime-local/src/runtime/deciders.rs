//! The people who decide on a call that waits for approval: who may answer now, who may answer later, and who
//! has approved.

use std::collections::BTreeSet;

use holdover_core::gate::AtExpiry;
use holdover_core::ids::InboxSeq;
use holdover_core::machine::Panel;
use holdover_core::message::{Decision, PendingBody};
use holdover_core::store::{ItemKind, PendingCall, StateStoreExt};
use holdover_core::time::Timestamp;
use serde::Serialize;

use super::Runtime;
use super::standing::machine_of;
use crate::error::RuntimeError;

/// The people who decide on a call, if its policy says who they are or how many are needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deciders {
    /// The number of people who must approve.
    pub needed: u32,
    /// The people who have approved the arguments as they are shown.
    pub approved: Vec<String>,
    /// The people who may answer now. If empty, any person who gives a name may answer.
    pub may: Vec<String>,
    /// The additional people who may answer later.
    pub later: Vec<Later>,
    /// The outcome if there is no decision at the deadline.
    pub at_expiry: AtExpiry,
}

/// People who may answer from an instant on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Later {
    /// The instant.
    pub at: Timestamp,
    /// The people.
    pub to: Vec<String>,
}

impl Deciders {
    fn of(panel: &Panel, approved: Vec<String>, now: Timestamp) -> Self {
        let after = |ms| panel.asked_at.after(std::time::Duration::from_millis(ms));
        let later = panel.terms.escalate.iter().map(|escalation| Later {
            at: after(escalation.after_ms),
            to: escalation.to.iter().cloned().collect(),
        });
        Self {
            needed: panel.terms.approvers.needed,
            approved,
            may: panel.who_may(now).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect(),
            later: later.filter(|later| later.at > now).collect(),
            at_expiry: panel.terms.at_expiry.clone(),
        }
    }
}

impl Runtime {
    /// Returns the people who may decide on an open pending call. Returns `None` if the call does not wait for an
    /// approval, or waits for one on the default terms: any one person may decide.
    pub(super) async fn deciders(
        &self,
        asked: &PendingCall,
        body: &PendingBody,
    ) -> Result<Option<Deciders>, RuntimeError> {
        let Some(panel) = body.panel.as_deref() else { return Ok(None) };
        let mut approved: Vec<String> = panel.votes.iter().map(|vote| vote.by.clone()).collect();
        let mut add = |by: String| {
            if !approved.contains(&by) {
                approved.push(by);
            }
        };
        if asked.answered > 0 {
            let key = &asked.key;
            // Votes that a run has read are in the state, the others in the inbox.
            if let Some(session) = self.session(key).await? {
                let machine = machine_of(&session)?;
                let batch = machine.as_ref().and_then(|machine| machine.state.batch());
                let call = batch.and_then(|batch| batch.call(&asked.call));
                let voted = call.and_then(|call| call.panel.as_deref());
                voted.into_iter().flat_map(|panel| &panel.votes).for_each(|vote| add(vote.by.clone()));
            }
            for item in self.host.store().read_whole_inbox(key, InboxSeq(0)).await? {
                let here = matches!(&item.kind, ItemKind::Answer { pending, .. } if *pending == asked.id);
                let decision = item.payload.parse::<Decision>().ok().filter(|_| here);
                let counts = decision.filter(|decision| decision.approve && decision.saw == body.digest);
                if let Some(by) = counts.and_then(|decision| decision.by) {
                    add(by);
                }
            }
        }
        Ok(Some(Deciders::of(panel, approved, self.now())))
    }
}
