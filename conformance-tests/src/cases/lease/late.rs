//! Claims whose lease ends after the store has acted and before its answer arrives.

use std::time::Duration;

use crate::cancel::ByHand;
use crate::cases::prelude::*;

/// The time in which a peer must see whether a session is claimed. The peer may have to wait for the stalled claim.
const LOOK_TIME_MAX: Duration = Duration::from_secs(1);

/// Makes each kind of claim and stalls between the claim and the answer until the lease is over. The case is moot if no
/// answer can be delayed.
pub(super) async fn answer_late(t: &Bench) -> CaseResult {
    let late = Late { t, peer: t.peer().await };
    let stood_still = [late.named().await?, late.due().await?, late.created().await?];
    if stood_still.contains(&true) {
        return Ok(());
    }
    Err(Failure::moot("this store never waits between a claim and its answer: none can come late"))
}

struct Late<'a> {
    t: &'a Bench,
    peer: Handle,
}

impl Late<'_> {
    /// Tests a claim by key. Returns true if its answer came late.
    async fn named(&self) -> CaseResult<bool> {
        let key = self.t.create("named").await?;
        let one = ClaimOne { lease: self.t.stall(), ..self.t.claim_one() };
        let asked = self.t.store.claim_session(&key, one);
        let Some(outcome) = self.answered_late(&key, asked).await? else { return Ok(false) };
        match outcome {
            ClaimOutcome::Claimed(claim) => self.still_runs(&claim).await,
            ClaimOutcome::Held { .. }
            | ClaimOutcome::VersionConflict { .. }
            | ClaimOutcome::LeaseEnded
            | ClaimOutcome::ItemRefused { .. }
            | ClaimOutcome::Aborted
            | ClaimOutcome::NotFound => self.others_may_claim(&key).await,
        }
    }

    /// Tests a claim of due sessions. Returns true if its answer came late.
    async fn due(&self) -> CaseResult<bool> {
        let new = NewSession { start: Start::At(Timestamp::EPOCH), ..new_session("due") };
        let key = new.key.clone();
        want!(self.t.store.create_session(new).await?, CreateOutcome::Created { .. });
        let due = ClaimDue { lease: self.t.stall(), ..self.t.due(1) };
        let Some(claims) = self.answered_late(&key, self.t.store.claim_due(due)).await? else {
            return Ok(false);
        };
        // A store may have claimed the session again, because it was due again.
        match claims.first() {
            Some(claim) => self.still_runs(claim).await,
            None => self.others_may_claim(&key).await,
        }
    }

    /// Tests a creation with a claim. Returns true if its answer came late.
    async fn created(&self) -> CaseResult<bool> {
        let one = ClaimOne { lease: self.t.stall(), ..self.t.claim_one() };
        let new = NewSession { start: Start::Claimed(one), ..new_session("created") };
        let key = new.key.clone();
        let Some(outcome) = self.answered_late(&key, self.t.store.create_session(new)).await? else {
            return Ok(false);
        };
        match want!(outcome, CreateOutcome::Created { claim, .. } => claim) {
            Some(claim) => self.still_runs(&claim).await,
            None => self.others_may_claim(&key).await,
        }
    }

    /// Stalls until the lease is over, and then returns the answer. Returns `None` if the answer came before a peer saw
    /// the claim.
    async fn answered_late<T>(
        &self,
        key: &SessionKey,
        asked: impl Future<Output = Result<T, StoreError>>,
    ) -> CaseResult<Option<T>> {
        let mut asked = ByHand::new(asked);
        loop {
            if asked.poll().is_ready() {
                return Ok(None);
            }
            asked.woken().await;
            if self.is_claimed(key).await? {
                break;
            }
        }
        self.t.stand_still(self.t.stall()).await;
        Ok(Some(asked.rest().await?))
    }

    async fn is_claimed(&self, key: &SessionKey) -> CaseResult<bool> {
        match tokio::time::timeout(LOOK_TIME_MAX, self.peer.load_session(key)).await {
            Ok(session) => Ok(session?.is_some_and(|session| session.status == SessionStatus::Active)),
            Err(_) => Ok(false),
        }
    }

    /// Checks that the lease of a returned claim has not ended.
    async fn still_runs(&self, claim: &Claim) -> CaseResult<bool> {
        let (now, ends) = (self.t.now().await?, claim.lease_ends);
        ensure!(
            ends > now,
            "expected no claim whose lease ended before the answer came",
            found = "one until {ends:?}, and it is {now:?}"
        );
        Ok(true)
    }

    /// Checks that the session was claimed and its lease is over, so that the next claim takes it over.
    async fn others_may_claim(&self, key: &SessionKey) -> CaseResult<bool> {
        let next = self.t.claim(key).await?;
        ensure_eq!(next.found, SessionStatus::Active, "the status that the next claim finds");
        Ok(true)
    }
}
