//! The search for an order that explains a history.
//!
//! The algorithm is that of Wing and Gong, "Testing and verifying concurrent objects" (J. Parallel and Distributed
//! Computing 17, 1993): the next operation is one that began before any remaining operation was answered; the search
//! tries each. From Lowe, "Testing for linearizability" (Concurrency and Computation: Practice and Experience 29(4),
//! 2017), it takes the pruning: a branch that reaches a known state with the same operations left is not followed.

use std::collections::HashSet;

use holdover_store::payload::Digest;

use super::Event;
use crate::model::Model;

/// The maximum number of operations in a history.
pub(crate) const OPERATIONS_MAX: usize = u128::BITS as usize;

/// The maximum number of states that are visited before a history counts as undecided.
const STATES_MAX: usize = 40_000;

/// The result of a search.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// An order explains the answers. The value is one possible final state.
    Fits(Box<Model>),
    /// No order explains the answers.
    FitsNot,
    /// The search reached its limit without a result.
    Undecided,
}

/// Searches for an order of one session's operations in which the model, starting from `start`, gives every answer that
/// was received. `exact` says whether instants are compared.
pub(crate) fn search(events: &[Event], start: &Model, exact: bool) -> Verdict {
    if events.len() > OPERATIONS_MAX {
        return Verdict::Undecided;
    }
    let known = |index: &usize| events.get(*index).is_some_and(|event| event.answered.is_some());
    let all = (0..events.len()).filter(known).fold(0, |all, index| all | bit(index));
    // Operations that were answered first are tried first. They are pushed last, because the newest entry is popped
    // first.
    let mut by_answer: Vec<usize> = (0..events.len()).collect();
    by_answer.sort_by_key(|index| std::cmp::Reverse(answered(events, *index)));
    let mut left = vec![(0_u128, start.clone())];
    let mut seen = HashSet::new();
    while let Some((done, state)) = left.pop() {
        if done & all == all {
            return Verdict::Fits(Box::new(state));
        }
        let undone = || by_answer.iter().copied().filter(|index| done & bit(*index) == 0);
        let first_answer = undone().map(|index| answered(events, index)).min().unwrap_or(u64::MAX);
        for index in undone() {
            let Some(event) = events.get(index).filter(|event| event.asked < first_answer) else { continue };
            for next in event.apply(&state, exact) {
                let done = done | bit(index);
                if !seen.insert((done, Digest::of(format!("{next:?}").as_bytes()))) {
                    continue;
                }
                if seen.len() > STATES_MAX {
                    return Verdict::Undecided;
                }
                left.push((done, next));
            }
        }
    }
    Verdict::FitsNot
}

fn bit(index: usize) -> u128 {
    1 << index
}

fn answered(events: &[Event], index: usize) -> u64 {
    events.get(index).and_then(|event| event.answered).unwrap_or(u64::MAX)
}
