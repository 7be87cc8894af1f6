//! Claims a named session, and gives a claim back.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::engine::{StartError, set_aside};
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{InboxSeq, SessionKey, Version};
use holdover_core::payload::Payload;
use holdover_core::store::{
    Claim, ClaimOne, ClaimOutcome, Commit, CommitOutcome, Delivery, InboxItem, OutcomeKind, Release, RunEnd,
    Session, SessionStatus, StateStore,
};
use holdover_core::time::Timestamp;
use tokio::time::Instant;

use super::{Host, draw_id, draw_run};
use crate::clock::{Lease, StoreClock};
use crate::error::RuntimeError;

/// The maximum time for which a claim is given back if this process cannot run the session.
pub const GIVE_BACK_FOR: Duration = Duration::from_secs(30);

/// A claim with its lease on the clock of this process.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) claim: Claim,
    pub(crate) lease: Lease,
    /// The instant before the first request.
    pub(crate) asked: Instant,
}

impl Claimed {
    /// Creates a claim with its lease. `asked` is the instant before the first request.
    pub(crate) fn new(claim: Claim, asked: Instant) -> Self {
        let lease = Lease::granted(asked, claim.now, claim.lease_ends);
        Self { claim, lease, asked }
    }
}

/// The result of a claim that was not refused.
#[derive(Debug)]
pub(crate) enum Try {
    /// This process has the claim.
    Ours(Box<Claimed>),
    /// The session changed since it was read, or the claim's lease ended before its answer came.
    Changed,
    /// The item was accepted before, with this number.
    Duplicate(InboxSeq),
}

impl Host {
    pub(crate) fn claim_one(&self, items: Vec<InboxItem>, expected_version: Option<Version>) -> ClaimOne {
        ClaimOne {
            run: draw_run(),
            worker: self.inner.worker.clone(),
            lease: self.inner.options.lease,
            expected_version,
            items,
        }
    }

    /// Claims `key` and delivers `items`, or does neither.
    pub(crate) async fn try_claim(
        &self,
        key: &SessionKey,
        items: Vec<InboxItem>,
        expected_version: Option<Version>,
    ) -> Result<Try, RuntimeError> {
        let one = self.claim_one(items, expected_version);
        let asked = Instant::now();
        let outcome = self.repeated(|| self.inner.store.claim_session(key, one.clone())).await?;
        match outcome {
            ClaimOutcome::Claimed(claim) => {
                self.hear(claim.now);
                Ok(Try::Ours(Box::new(Claimed::new(*claim, asked))))
            }
            ClaimOutcome::Held { worker, epoch, lease_ends, .. } => {
                Err(RuntimeError::Held { key: key.clone(), worker, epoch, lease_ends })
            }
            ClaimOutcome::VersionConflict { .. } | ClaimOutcome::LeaseEnded => Ok(Try::Changed),
            ClaimOutcome::ItemRefused { index, refusal } => match refusal {
                Delivery::Accepted { seq } | Delivery::Duplicate { seq } => Ok(Try::Duplicate(seq)),
                Delivery::Conflict { .. } => {
                    let item = one.items.get(index).map(|item| item.key.clone());
                    let item = item.unwrap_or_else(draw_id);
                    Err(RuntimeError::KeyConflict { key: key.clone(), item })
                }
                Delivery::Aborted => Err(RuntimeError::Aborted { key: key.clone() }),
                Delivery::AlreadyAnswered | Delivery::NotPending | Delivery::NotFound => {
                    Err(RuntimeError::NotFound { key: key.clone() })
                }
            },
            ClaimOutcome::Aborted => Err(RuntimeError::Aborted { key: key.clone() }),
            ClaimOutcome::NotFound => Err(RuntimeError::NotFound { key: key.clone() }),
        }
    }

    /// Returns the time for which a session that cannot be run here is given back. The time grows with each failed
    /// attempt in a row.
    pub(crate) fn give_back_for(&self, session: &Session) -> Duration {
        self.inner.unbuilt.again(&session.key, session.last_event)
    }

    /// Returns the time that an idle worker with the interval `poll` waits so that others can look first. Without
    /// this wait, a worker that cannot run a session, but always looks just before a worker that can, would keep
    /// the session for ever.
    pub(crate) fn others_first(&self, poll: Duration) -> Duration {
        self.inner.unbuilt.others_first(poll)
    }

    /// Returns true if a claim must be given back at once, because the session was given back here a short time ago
    /// and is due again only because an interrupt waits.
    pub(crate) fn leaves_alone(&self, claim: &Claim) -> bool {
        claim.interrupt().is_some()
            && self.inner.unbuilt.is_left_alone(&claim.session.key, claim.session.last_event)
    }

    /// Forgets the waits of the session of a claim, because it can be run here or does not come back by itself.
    pub(crate) fn can_run(&self, claim: &Claim) {
        self.inner.unbuilt.forget(&claim.session.key);
    }

    /// Gives a claim back until `alarm`. Items in the inbox do not wake the session before that; all of them are
    /// read again then. A session with a waiting interrupt is due at once. A claim that cannot be given back ends
    /// with its lease.
    pub(crate) async fn give_back(&self, claimed: &Claimed, alarm: Timestamp, why: &ErrorInfo) {
        let Claimed { claim, .. } = claimed;
        let mut commit = Commit::new(draw_id());
        commit.inbox_seen = Some(claim.session.last_item);
        commit.run = run_end(&claim.session, why);
        commit.release = Some(Release::GiveBack { alarm: Some(alarm) });
        let store: &Arc<dyn StateStore> = &self.inner.store;
        let key = &claim.fence.key;
        match self.repeated(|| store.commit(&claim.fence, commit.clone())).await {
            Ok(CommitOutcome::Committed(_)) => {}
            Ok(refused) => tracing::warn!(session = %key, ?refused, "a claim could not be given back"),
            Err(error) => tracing::warn!(session = %key, %error, "a claim could not be given back"),
        }
    }

    /// Leaves a session whose run could not begin. If no version like this one can read the session, it is [set
    /// aside](set_aside). Otherwise, or if the store does not take that, the claim is given back for a growing time.
    pub(crate) async fn leave_unread(&self, claimed: &Claimed, error: &StartError, clock: StoreClock) {
        let claim = &claimed.claim;
        let key = &claim.fence.key;
        if let Some(commit) = set_aside(claim, error, &clock.facts()) {
            match self.repeated(|| self.inner.store.commit(&claim.fence, commit.clone())).await {
                Ok(CommitOutcome::Committed(_)) => {
                    tracing::error!(session = %key, %error, "set aside with a dead letter");
                    return self.can_run(claim);
                }
                Ok(refused) => tracing::warn!(session = %key, ?refused, "a session could not be set aside"),
                Err(error) => tracing::warn!(session = %key, %error, "a session could not be set aside"),
            }
        }
        let why = ErrorInfo::new("runtime.unreadable", error.to_string());
        let alarm = clock.now().after(self.give_back_for(&claim.session));
        self.give_back(claimed, alarm, &why).await;
    }
}

/// Returns the end for the record of a run that did nothing. Returns `None` if the session is encoded and this
/// process cannot encode: a process that has the key could not read a plain record. The next claim then closes the
/// record.
fn run_end(session: &Session, why: &ErrorInfo) -> Option<RunEnd> {
    if session.definition.encoding().is_some() {
        return None;
    }
    Payload::json(why).ok().map(|detail| RunEnd { outcome: OutcomeKind::Released, detail })
}

/// Returns true if an interrupt waits for the session and the session is not aborted.
pub(crate) fn is_stopped(claim: &Claim) -> bool {
    claim.interrupt().is_some() && claim.found != SessionStatus::Aborted
}
