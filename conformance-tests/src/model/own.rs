//! The ownership of sessions in the model: claims, status moves and lease renewals.

use std::collections::BTreeSet;
use std::time::Duration;

use holdover_store::ids::{Fence, RunId, SessionKey, WorkerId};
use holdover_store::time::Timestamp;
use holdover_store::{
    CasOutcome, Claim, ClaimDue, ClaimOne, ClaimOutcome, LeaseOutcome, OutcomeKind, RunEnded, RunRecord,
    StatusCas,
};

use super::{Life, Model};

impl Model {
    pub(crate) fn claim(&mut self, key: &SessionKey, one: &ClaimOne) -> ClaimOutcome {
        let claimed = self.change(key, ClaimOutcome::NotFound, |life, now| {
            match life.row.repeated_claim(&one.run, now) {
                Some(true) => return Ok(life.claim(now)),
                Some(false) => return Err(ClaimOutcome::LeaseEnded),
                None => {}
            }
            life.row.claimable(one.expected_version, now)?;
            let items: Vec<_> = one.items.iter().collect();
            life.accept_all(&items, now)
                .map_err(|(index, refusal)| ClaimOutcome::ItemRefused { index, refusal })?;
            life.begin_run(&one.run, &one.worker, one.lease, now);
            Ok(life.claim(now))
        });
        claimed.map_or_else(|refused| refused, |claim| ClaimOutcome::Claimed(Box::new(claim)))
    }

    pub(crate) fn claim_due(&mut self, due: &ClaimDue) -> Vec<Claim> {
        let now = self.now;
        let mut ringing: Vec<&mut Life> =
            self.lives.values_mut().filter(|life| life.is_due(due, now)).collect();
        ringing.sort_by_key(|life| (life.row.alarm, life.row.key.clone()));
        let claims = ringing.into_iter().zip(&due.runs).map(|(life, run)| {
            life.begin_run(run, &due.worker, due.lease, now);
            life.claim(now)
        });
        claims.collect()
    }

    /// Returns the number of sessions that the request could claim if it named enough runs.
    pub(crate) fn count_due(&self, due: &ClaimDue) -> usize {
        self.due(due).count()
    }

    /// Returns true if the store must choose between tenants: more sessions are due than are asked for, and they belong
    /// to several tenants. Only the store knows which tenant comes next.
    pub(crate) fn takes_turns(&self, due: &ClaimDue) -> bool {
        let tenants: BTreeSet<_> = self.due(due).map(|life| &life.row.key.tenant).collect();
        self.count_due(due) > due.runs.len() && tenants.len() > 1
    }

    fn due(&self, due: &ClaimDue) -> impl Iterator<Item = &Life> {
        self.lives.values().filter(|life| life.is_due(due, self.now))
    }

    pub(crate) fn compare_and_set(&mut self, key: &SessionKey, cas: &StatusCas) -> CasOutcome {
        let moved = self.change(key, CasOutcome::NotFound, |life, now| {
            // The check that the row may move comes first. The items are accepted while the session is still at rest.
            let mut row = life.row.clone();
            let refused = row.compare_and_set(cas, now);
            let CasOutcome::Moved { version } = refused else { return Err(refused) };
            let items: Vec<_> = cas.items.iter().collect();
            life.accept_all(&items, now)
                .map_err(|(index, refusal)| CasOutcome::ItemRefused { index, refusal })?;
            life.row.compare_and_set(cas, now);
            Ok(version)
        });
        moved.map_or_else(|refused| refused, |version| CasOutcome::Moved { version })
    }

    pub(crate) fn renew(&mut self, fence: &Fence, lease: Duration) -> LeaseOutcome {
        let renewed = self.change(&fence.key, LeaseOutcome::StaleFence, |life, now| {
            life.row.renew(fence, lease, now).ok_or(LeaseOutcome::StaleFence)
        });
        renewed.map_or_else(|stale| stale, LeaseOutcome::Renewed)
    }
}

impl Life {
    fn is_due(&self, due: &ClaimDue, now: Timestamp) -> bool {
        self.row.is_due(&due.queues, due.newest_format, due.tenant.as_ref(), now)
    }

    /// Moves the row to active, closes an open older run as lost, and opens the new run.
    pub(super) fn begin_run(&mut self, run: &RunId, worker: &WorkerId, lease: Duration, now: Timestamp) {
        let claimed = self.row.claim(run.clone(), worker.clone(), lease, now);
        for lost in self.runs.iter_mut().filter(|run| Some(run.epoch) == claimed.close_lost) {
            lost.end.get_or_insert(RunEnded { at: now, outcome: OutcomeKind::Lost, detail: None });
        }
        self.runs.push(RunRecord {
            epoch: self.row.epoch,
            run: run.clone(),
            worker: worker.clone(),
            found: self.row.found,
            parent: claimed.parent,
            started_at: now,
            end: None,
        });
    }
}
