//! The choice of the way in which each payload of a write is encoded, so that the store recognises a repeat
//! of an older write.

use std::collections::BTreeMap;

use holdover_store::ids::CallId;
use holdover_store::{Answer, CasOutcome, ClaimOutcome, CommitOutcome, Delivery, StageOutcome};

/// A payload that a store compares with its own copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Compared {
    /// The item at this place among those of the request.
    Item(usize),
    /// The staged result of this call.
    Staged(CallId),
}

impl Compared {
    /// Returns the payload for which the store answers that it has other bytes. Such an answer means that
    /// nothing was changed.
    pub(super) fn refused_by(answer: &Answer) -> Option<Self> {
        if let Answer::Staged(StageOutcome::Conflict { call })
        | Answer::Committed(CommitOutcome::StageConflict { call }) = answer
        {
            return Some(Self::Staged(call.clone()));
        }
        let (index, refusal) = if let Answer::Delivered(delivery) = answer {
            (0, delivery)
        } else if let Answer::Claimed(ClaimOutcome::ItemRefused { index, refusal })
        | Answer::Moved(CasOutcome::ItemRefused { index, refusal }) = answer
        {
            (*index, refusal)
        } else {
            return None;
        };
        match refusal {
            Delivery::Conflict { .. } => Some(Self::Item(index)),
            Delivery::Accepted { .. }
            | Delivery::Duplicate { .. }
            | Delivery::AlreadyAnswered
            | Delivery::NotPending
            | Delivery::Aborted
            | Delivery::NotFound => None,
        }
    }
}

/// The way of each compared payload. It is the newest way until an answer shows that the store has other
/// bytes.
#[derive(Debug)]
pub(super) struct Ways {
    count: usize,
    chosen: BTreeMap<Compared, usize>,
}

impl Ways {
    /// Starts with the newest of `count` ways for all payloads.
    pub(super) fn newest(count: usize) -> Self {
        Self { count, chosen: BTreeMap::new() }
    }

    pub(super) fn of(&self, compared: &Compared) -> usize {
        self.chosen.get(compared).copied().unwrap_or(0)
    }

    /// Chooses the next way for this payload. Returns false if there is none.
    pub(super) fn take_next(&mut self, compared: &Compared) -> bool {
        let next = self.of(compared) + 1;
        let is_there = next < self.count;
        if is_there {
            self.chosen.insert(compared.clone(), next);
        }
        is_there
    }
}
