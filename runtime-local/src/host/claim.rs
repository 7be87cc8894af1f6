//! Claiming a named session, and giving a claim back.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::error::ErrorInfo;
use holdover_core::ids::{SessionKey, Version};
use holdover_core::payload::Payload;
use holdover_core::store::{
    Claim, ClaimOne, ClaimOutcome, Commit, CommitOutcome, Delivery, InboxItem, OutcomeKind, Release, RunEnd,
    Session, SessionStatus, StateStore,
};
use holdover_core::time::Timestamp;
use tokio::time::Instant;

use super::{Host, draw_id, draw_run};
use crate::clock::Lease;
use crate::error::RuntimeError;

/// The longest time for which a claim is given back when nobody here can run it.
pub const GIVE_BACK_FOR: Duration = Duration::from_secs(30);

/// A claim with its lease on our own clock.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) claim: Claim,
    pub(crate) lease: Lease,
    /// Before the first request.
    pub(crate) asked: Instant,
}

impl Claimed {
    /// `asked`: before the first request.
    pub(crate) fn new(claim: Claim, asked: Instant) -> Self {
        let lease = Lease::granted(asked, claim.now, claim.lease_ends);
        Self { claim, lease, asked }
    }
}

/// What became of a claim that was not refused outright.
#[derive(Debug)]
pub(crate) enum Try {
    /// It is ours.
    Ours(Box<Claimed>),
    /// It changed since it was read.
    Changed,
    /// The item was accepted before.
    Duplicate,
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

    /// Claims `key`, with `items` or not at all.
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
                Delivery::Accepted { .. } | Delivery::Duplicate { .. } => Ok(Try::Duplicate),
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

    /// For how long a session is given back that cannot be run here: longer each time in a row.
    pub(crate) fn give_back_for(&self, session: &Session) -> Duration {
        self.inner.unbuilt.again(&session.key, session.last_event)
    }

    /// For how long an idle worker that looks once every `poll` leaves it to others to look: a worker that cannot run a
    /// session and looks always a moment before one that can would keep it for ever.
    pub(crate) fn others_first(&self, poll: Duration) -> Duration {
        self.inner.unbuilt.others_first(poll)
    }

    /// Whether a claim is of a session that was given back here and is due all the same, since an interrupt waits.
    pub(crate) fn leaves_alone(&self, claim: &Claim) -> bool {
        claim.interrupt().is_some()
            && self.inner.unbuilt.is_left_alone(&claim.session.key, claim.session.last_event)
    }

    /// The session of a claim can be run here after all.
    pub(crate) fn can_run(&self, claim: &Claim) {
        self.inner.unbuilt.forget(&claim.session.key);
    }

    /// Gives a claim back until `alarm`. What waits in its inbox wakes it no sooner; it is all read again
    /// then. A session whose interrupt waits is due all the same, at once. A claim that cannot be given back ends with its
    /// lease.
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
}

/// What the record says of a run that came to nothing. Nothing where the session is encoded and nothing here encodes: whoever
/// has the key could not read it, and the next claim closes the record.
fn run_end(session: &Session, why: &ErrorInfo) -> Option<RunEnd> {
    if session.definition.encoding().is_some() {
        return None;
    }
    Payload::json(why).ok().map(|detail| RunEnd { outcome: OutcomeKind::Released, detail })
}

/// Whether a claim found a session that nothing holds back from being ended: somebody asked for it.
pub(crate) fn is_stopped(claim: &Claim) -> bool {
    claim.interrupt().is_some() && claim.found != SessionStatus::Aborted
}
