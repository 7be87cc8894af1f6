//! The events that report turns and steps to followers of a session.

use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::machine::{AgentState, Machine};
use crate::words::ending::Ending;
use crate::words::event::Event;

impl Context {
    /// Announces that a turn began, as the first event of the turn.
    pub(crate) fn announce_turn(&mut self) {
        let init =
            Event::Init { turn: self.mind.machine.turn.number, session: Some(self.run.fence.key.id.clone()) };
        let events = &mut self.mind.draft.events;
        let at = match events.last() {
            Some(Event::RunStarted { .. }) => events.len() - 1,
            Some(_) | None => events.len(),
        };
        events.insert(at, init);
    }

    /// Announces that a turn ended, as the last events of the turn.
    pub(crate) fn announce_end(&mut self, ending: Ending) {
        let (turn, steps) = (self.mind.machine.turn.number, self.mind.machine.turn.steps);
        let (session, reason) = (Some(self.run.fence.key.id.clone()), Some(ending.reason));
        self.mind.emit(Event::AgentEnd { turn, session, steps, reason });
        self.mind.emit(Event::Done { turn, ending, usage: self.mind.machine.usage });
    }
}

impl Mind {
    /// Returns the events that follow from the last move of the machine: a step began or ended, or an error ends
    /// the turn.
    pub(crate) fn told_of_move(&self, before: &Machine) -> Vec<Event> {
        let after = &self.machine.state;
        let (was, is) = (before.state.open_step(), after.open_step());
        // An error is reported once, by the move that makes the open turn fail. This is usually the move that fixes
        // the outcome, but a handoff can also fail after that.
        let error_in = |state: &AgentState| state.ending().and_then(|ending| ending.error.clone());
        let error = error_in(after).filter(|_| before.turn.open && error_in(&before.state).is_none());
        let changed = was != is;
        let ended = was.filter(|_| changed).map(|step| Event::StepEnded { step });
        let begun = is.filter(|_| changed).map(|step| Event::StepStarted { step });
        [ended, begun, error.map(|error| Event::Error { error })].into_iter().flatten().collect()
    }
}

/// The most characters of a text from outside that an event contains.
const WORDS_CHARS_MAX: usize = 1_000;

/// Returns a text in the form for events, which do not contain long texts in full.
pub(crate) fn in_short(words: &str) -> String {
    match words.char_indices().nth(WORDS_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words.to_owned(),
    }
}
