//! The output of a run for its runtime: actions to perform, and transitions for hooks.

use std::collections::VecDeque;

use crate::engine::action::{Action, ActionId};
use crate::words::hook::Moved;

/// The output of a run for its runtime.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) actions: VecDeque<Action>,
    pub(crate) last_id: u64,
    /// The number of streams of deltas that have begun.
    pub(crate) streams: u32,
    /// The transitions that hooks have yet to receive.
    pub(crate) moves: Vec<Moved>,
    /// True if calls were sent or children were begun since the last look at what is settled.
    pub(crate) irrevocable: bool,
    /// A note for the next model call only.
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
