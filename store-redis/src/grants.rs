//! The runs that a handle was granted. They are used to detect a store that went back in time.
//!
//! A store that went back in time may have granted the same epoch a second time, or lost a commit, or the whole
//! session. The fence alone does not show that. So everything that is read for a write of a run is compared with
//! what the handle knows of that run.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use holdover_store::ids::{Fence, RunId, Version};
use holdover_store::rows::Found;
use holdover_store::time::Timestamp;
use holdover_store::{Claim, Receipt, TOMBSTONE_STANDS};

use crate::error::Fault;

tokio::task_local! {
    /// The fence of the write for which a session is read.
    static FENCE: Fence;
}

/// The most runs that are remembered. The oldest is forgotten first.
const GRANTS_MAX: usize = 16_384;

/// The run that a fence was granted to, the newest version that was acknowledged under it, and the instant of that
/// acknowledgement by the store's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) run: RunId,
    pub(crate) version: Version,
    pub(crate) at: Timestamp,
}

/// The newest grants of one handle.
#[derive(Debug, Default)]
pub(crate) struct Grants(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_fence: HashMap<Fence, Grant>,
    in_order: VecDeque<Fence>,
}

/// Awaits `done` on behalf of the run with this fence. If `done` reads the run's session, the session is compared
/// with what is known of the run.
pub(crate) async fn of_run<T>(fence: &Fence, done: impl Future<Output = T>) -> T {
    FENCE.scope(fence.clone(), done).await
}

/// Returns the fence of the run for which the current task works, if there is one.
pub(crate) fn fence() -> Option<Fence> {
    FENCE.try_with(Clone::clone).ok()
}

/// The result of comparing a read session with what is known of a run.
#[derive(Debug)]
pub(crate) enum Fits {
    /// The session agrees with what is known.
    Well,
    /// Neither the session's incarnation nor its tombstone exists.
    Missing(Fault),
}

impl Grants {
    pub(crate) fn of(&self, fence: &Fence) -> Option<Grant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_fence.get(fence).cloned()
    }

    /// Remembers a claim.
    pub(crate) fn granted(&self, claim: &Claim) {
        let grant = Grant { run: claim.run.clone(), version: claim.session.version, at: claim.now };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.by_fence.insert(claim.fence.clone(), grant).is_none() {
            known.in_order.push_back(claim.fence.clone());
        }
        while known.in_order.len() > GRANTS_MAX {
            if let Some(oldest) = known.in_order.pop_front() {
                known.by_fence.remove(&oldest);
            }
        }
    }

    /// Remembers an acknowledgement under a known fence.
    pub(crate) fn acknowledged(&self, fence: &Fence, receipt: &Receipt) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grant) = known.by_fence.get_mut(fence) {
            grant.version = grant.version.max(receipt.version);
            grant.at = grant.at.max(receipt.now);
        }
    }

    /// Compares a read session with what is known of the run.
    ///
    /// # Errors
    /// [`Fault::WentBack`]: acknowledged data is missing.
    pub(crate) fn compare(&self, fence: &Fence, found: &Found) -> Result<Fits, Fault> {
        let Some(grant) = self.of(fence) else { return Ok(Fits::Well) };
        let granted = fence.epoch;
        let Some(row) = found.row().filter(|row| row.incarnation == fence.incarnation) else {
            let mut lives = found.slot.iter().flat_map(|slot| &slot.lives);
            // A tombstone stands for a day. After a longer silence, the session may have been deleted and its
            // tombstone removed.
            let is_old = grant.at.until(found.now) > TOMBSTONE_STANDS;
            if is_old || lives.any(|life| life.incarnation == fence.incarnation) {
                return Ok(Fits::Well);
            }
            let why = format!("run {granted} was granted, and its session is not there");
            return Ok(Fits::Missing(Fault::WentBack(why)));
        };
        let why = if row.epoch < granted {
            format!("run {granted} was granted, {} is the newest", row.epoch)
        } else if row.epoch == granted && row.last_claim.as_ref() != Some(&grant.run) {
            format!("run {granted} was granted to another")
        } else if row.version < grant.version {
            format!("version {} was acknowledged, {} is the newest", grant.version, row.version)
        } else {
            return Ok(Fits::Well);
        };
        Err(Fault::WentBack(why))
    }
}
