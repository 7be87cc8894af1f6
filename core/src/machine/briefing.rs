//! The mode and the system prompt of the agent, as messages changed them. When a message is taken back, its changes
//! are undone.

use serde::{Deserialize, Serialize};

use crate::words::ids::MessageSeq;
use crate::words::mode::Mode;
use crate::words::payload::is_default;

/// The most changes of mode and prompt that are remembered. If more are taken back, the values before the oldest
/// remembered change apply.
pub(crate) const BRIEFINGS_MAX: usize = 32;

/// The values of mode and prompt before messages changed them, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Briefings(Vec<Before>);

/// The values of mode and prompt before one message changed them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Before {
    /// The message.
    at: MessageSeq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    #[serde(default, skip_serializing_if = "is_default")]
    prompt: MessageSeq,
}

impl Briefings {
    /// Returns true if no change is remembered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Remembers that the message `at` changed the values from `before`. Beyond `BRIEFINGS_MAX`, the oldest change
    /// is forgotten.
    pub(super) fn remember(&mut self, at: MessageSeq, before: (Option<Mode>, MessageSeq)) {
        let (mode, prompt) = before;
        self.0.push(Before { at, mode, prompt });
        let most = self.0.len().saturating_sub(BRIEFINGS_MAX);
        self.0.drain(..most);
    }

    /// Keeps `mode` in force even if earlier messages are taken back: it replaces the mode before each remembered
    /// change. `None` changes nothing. Returns false if nothing changes.
    pub(super) fn outlast(&mut self, mode: Option<Mode>) -> bool {
        let mut changed = false;
        for earlier in &mut self.0 {
            let stays = mode.or(earlier.mode);
            changed |= earlier.mode != stays;
            earlier.mode = stays;
        }
        changed
    }

    /// Forgets the changes of messages after `to`, and returns the mode and the prompt before the first of them.
    /// Returns `None` if no such message changed anything.
    pub(super) fn take_back(&mut self, to: MessageSeq) -> Option<(Option<Mode>, MessageSeq)> {
        let kept = self.0.iter().take_while(|before| before.at <= to).count();
        self.0.drain(kept..).next().map(|before| (before.mode, before.prompt))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Machine;
    use super::*;

    fn briefed(said: &[(Option<Mode>, Option<u64>, u64)]) -> Machine {
        let mut machine = Machine::default();
        for (mode, prompt, at) in said {
            machine.brief(*mode, prompt.map(MessageSeq), MessageSeq(*at));
        }
        machine
    }

    fn back_to(mut machine: Machine, to: u64) -> (Option<Mode>, u64) {
        machine.unbrief(MessageSeq(to));
        (machine.mode, machine.prompt.0)
    }

    #[test]
    fn b10_a_word_that_is_taken_back_gives_way_to_the_one_before_it() {
        let (plan, ask) = (Some(Mode::Plan), Some(Mode::Ask));
        let machine = briefed(&[(plan, None, 1), (ask, Some(5), 5), (None, Some(0), 9)]);
        assert_eq!(back_to(machine.clone(), 9), (ask, 0));
        assert_eq!(back_to(machine.clone(), 8), (ask, 5));
        assert_eq!(back_to(machine.clone(), 4), (plan, 0));
        assert_eq!(back_to(machine, 0), (None, 0));
        // A value that no message set stays. A value that a later message set is undone.
        let machine = briefed(&[(plan, None, 1), (ask, None, 0), (Some(Mode::Agent), None, 7)]);
        assert_eq!(back_to(machine.clone(), 6), (ask, 0));
        assert_eq!(back_to(machine, 0), (ask, 0));
    }

    #[test]
    fn b10_what_is_remembered_is_bounded() {
        let mut machine = Machine::default();
        for at in 1..=100 {
            machine.brief(None, Some(MessageSeq(at)), MessageSeq(at));
        }
        assert_eq!(machine.briefings.0.len(), BRIEFINGS_MAX);
        assert_eq!(back_to(machine, 0), (None, 100 - BRIEFINGS_MAX as u64));
    }
}
