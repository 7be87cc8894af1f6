//! The rules for claims, leases and changes of status.

use std::time::Duration;

use super::SessionRow;
use crate::ids::Version;
use crate::ids::{Epoch, Fence, RunId, StateFormat, TenantId, WorkerId};
use crate::time::Timestamp;
use crate::{CasOutcome, ClaimOutcome, Lease, Queues, Receipt, SessionStatus, StatusCas};

/// The steps that a store must take for a claim, in addition to writing the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimed {
    /// The run whose record the store must close as lost, if any.
    pub close_lost: Option<Epoch>,
    /// The parent in the record of the new run, if any.
    pub parent: Option<Epoch>,
}

impl SessionRow {
    /// Checks whether a claim with this run id repeats the newest claim. Returns none if it does not. If it does,
    /// returns true if the lease of that claim still runs.
    pub fn repeated_claim(&self, run: &RunId, now: Timestamp) -> Option<bool> {
        if self.last_claim.as_ref() != Some(run) {
            return None;
        }
        let alive =
            self.status == SessionStatus::Active && self.lease.as_ref().is_some_and(|lease| lease.ends > now);
        Some(alive)
    }

    /// Checks that a claim may be made now. If not, returns the outcome.
    pub fn claimable(&self, expected: Option<Version>, now: Timestamp) -> Result<(), ClaimOutcome> {
        if self.status == SessionStatus::Aborted {
            return Err(ClaimOutcome::Aborted);
        }
        if let Some(lease) = self.lease.as_ref().filter(|lease| lease.ends > now) {
            return Err(ClaimOutcome::Held {
                worker: lease.worker.clone(),
                epoch: self.epoch,
                version: self.version,
                lease_ends: lease.ends,
            });
        }
        match expected {
            Some(expected) if expected != self.version => {
                Err(ClaimOutcome::VersionConflict { expected, actual: self.version, status: self.status })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Moves the row to active for a new run. Call this only if [`claimable`](Self::claimable) returns `Ok`.
    pub fn claim(&mut self, run: RunId, worker: WorkerId, lease: Duration, now: Timestamp) -> Claimed {
        let takeover = self.status == SessionStatus::Active;
        let continues = match self.status {
            SessionStatus::Idle => false,
            SessionStatus::Active
            | SessionStatus::Suspended
            | SessionStatus::Interrupted
            | SessionStatus::Failed
            // A fork does not have the runs of its source.
            | SessionStatus::Aborted => self.last_claim.is_some(),
        };
        let claimed = Claimed {
            close_lost: self.run_open.then_some(self.epoch),
            parent: continues.then_some(self.epoch),
        };
        if takeover {
            self.attempts = self.attempts.saturating_add(1);
        }
        self.found = self.status;
        self.status = SessionStatus::Active;
        self.epoch = self.epoch.next();
        self.version = self.version.next();
        self.last_claim = Some(run);
        self.run_open = true;
        self.stream.open = false;
        self.grant(worker, lease, now);
        self.updated_at = now;
        claimed
    }

    /// Returns true if the session is due now for a worker that serves `queues` and reads formats up to
    /// `newest`. If a tenant is given, the session must belong to it.
    pub fn is_due(
        &self,
        queues: &Queues,
        newest: StateFormat,
        tenant: Option<&TenantId>,
        now: Timestamp,
    ) -> bool {
        self.alarm.is_some_and(|alarm| alarm <= now)
            && tenant.is_none_or(|tenant| *tenant == self.key.tenant)
            && self.claimable(None, now).is_ok()
            && (self.interrupt.is_some() || (queues.serves(&self.queue) && self.format <= newest))
    }

    /// Extends the lease so that it ends `lease` from `now`. Never shortens it. Returns none if the fence is
    /// stale.
    pub fn renew(&mut self, fence: &Fence, lease: Duration, now: Timestamp) -> Option<Receipt> {
        if !self.admits(fence) {
            return None;
        }
        let ends = now.after(lease);
        if let Some(held) = self.lease.as_mut().filter(|held| held.ends < ends) {
            held.ends = ends;
            held.granted_ms = millis(lease);
            self.alarm = Some(ends);
            self.updated_at = now;
        }
        Some(self.receipt(now))
    }

    /// Extends the lease to its granted length from `now`, if less than half of that length is left.
    pub(super) fn keep_lease(&mut self, now: Timestamp) {
        if let Some(held) = &mut self.lease {
            let granted = Duration::from_millis(held.granted_ms);
            if now.until(held.ends) < granted / 2 {
                held.ends = now.after(granted);
                self.alarm = Some(held.ends);
            }
        }
    }

    /// Decides a compare-and-set of the status. The store must accept the items of `cas` first.
    pub fn compare_and_set(&mut self, cas: &StatusCas, now: Timestamp) -> CasOutcome {
        if cas.incarnation.is_some_and(|named| named != self.incarnation) {
            return CasOutcome::NotFound;
        }
        if cas.expected_version != self.version {
            return CasOutcome::VersionConflict {
                expected: cas.expected_version,
                actual: self.version,
                status: self.status,
            };
        }
        match (self.status, cas.to) {
            (SessionStatus::Failed | SessionStatus::Interrupted, SessionStatus::Suspended) => {
                self.status = SessionStatus::Suspended;
                self.version = self.version.next();
                self.alarm = Some(now);
                self.updated_at = now;
                CasOutcome::Moved { version: self.version }
            }
            (from, to) => CasOutcome::NotAllowed { from, to },
        }
    }

    fn grant(&mut self, worker: WorkerId, lease: Duration, now: Timestamp) {
        let ends = now.after(lease);
        self.lease = Some(Lease { worker, ends, granted_ms: millis(lease) });
        self.alarm = Some(ends);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
