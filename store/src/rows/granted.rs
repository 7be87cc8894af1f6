//! The runs to which this handle granted fences.
//!
//! A store that lost its newest commits in a failover may grant an epoch a second time. Then two runs have the same
//! fence and differ only in their run ids. A handle therefore remembers the runs of its newest grants, and refuses
//! writes of a run whose epoch was later granted to another run.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::Claim;
use crate::ids::{Fence, RunId};
use crate::rules::SessionRow;

/// The most grants that are remembered. The oldest is forgotten first.
const GRANTS_MAX: usize = 16_384;

#[derive(Default)]
pub(super) struct Granted(Mutex<Grants>);

#[derive(Default)]
struct Grants {
    by_fence: HashMap<Fence, RunId>,
    in_order: VecDeque<Fence>,
}

impl Granted {
    /// Remembers the run of a claim.
    pub(super) fn remember(&self, claim: &Claim) {
        let mut grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if grants.by_fence.insert(claim.fence.clone(), claim.run.clone()).is_none() {
            grants.in_order.push_back(claim.fence.clone());
        }
        while grants.in_order.len() > GRANTS_MAX {
            if let Some(oldest) = grants.in_order.pop_front() {
                grants.by_fence.remove(&oldest);
            }
        }
    }

    /// Returns true if `row` shows another run under the epoch of `fence` than the run to which this handle
    /// granted it.
    pub(super) fn to_another(&self, fence: &Fence, row: &SessionRow) -> bool {
        if row.incarnation != fence.incarnation || row.epoch != fence.epoch {
            return false;
        }
        let grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        grants.by_fence.get(fence).is_some_and(|run| row.last_claim.as_ref() != Some(run))
    }
}
