//! The output of a run for its runtime: actions to perform, and transitions to tell hooks of.

use std::collections::VecDeque;

use crate::engine::action::{Action, ActionId};
use crate::words::hook::Moved;

/// What a run has for its runtime.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) actions: VecDeque<Action>,
    pub(crate) last_id: u64,
    /// Streams of deltas that were begun.
    pub(crate) streams: u32,
    /// Transitions that hooks are to be told of.
    pub(crate) moves: Vec<Moved>,
    /// Whether something was sent since the driver looked that cannot be taken back.
    pub(crate) irrevocable: bool,
    /// A word for the next model call alone.
    pub(crate) note: Option<String>,
}

impl Output {
    pub(crate) fn next_id(&mut self) -> ActionId {
        self.last_id += 1;
        ActionId(self.last_id)
    }

    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push_back(action);
    }
}
