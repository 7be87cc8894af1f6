//! What a handle knows of the runs that it was granted, so that it notices a store that went back in time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use holdover_store::ids::{Fence, RunId, Version};
use holdover_store::time::Timestamp;
use holdover_store::{Claim, Receipt};

/// How many runs are remembered; the oldest is forgotten first.
const GRANTS_MAX: usize = 16_384;

/// The run that a fence was granted to, the newest version that was acknowledged under it, and when that was by the
/// store's clock.
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

    /// Remembers what was acknowledged under a fence that it knows.
    pub(crate) fn acknowledged(&self, fence: &Fence, receipt: &Receipt) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grant) = known.by_fence.get_mut(fence) {
            grant.version = grant.version.max(receipt.version);
            grant.at = grant.at.max(receipt.now);
        }
    }
}
