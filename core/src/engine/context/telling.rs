//! The events by which followers of a session are told of its turns and steps.

use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::machine::Machine;
use crate::words::ending::Ending;
use crate::words::event::Event;

impl Context {
    /// A turn began: the first event of all that tell of it.
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

    /// A turn ended: the last events of all that tell of it.
    pub(crate) fn announce_end(&mut self, ending: Ending) {
        let (turn, steps) = (self.mind.machine.turn.number, self.mind.machine.turn.steps);
        let (session, reason) = (Some(self.run.fence.key.id.clone()), Some(ending.reason));
        self.mind.emit(Event::AgentEnd { turn, session, steps, reason });
        self.mind.emit(Event::Done { turn, ending, usage: self.mind.machine.usage });
    }
}

impl Mind {
    /// What follows from the last move of the machine alone: a step that began or is over, an error that ends the
    /// turn.
    pub(crate) fn told_of_move(&self, before: &Machine) -> Vec<Event> {
        let after = &self.machine.state;
        let (was, is) = (before.state.open_step(), after.open_step());
        // The outcome is fixed by one move of an open turn, and told once.
        let fixed = after.ending().filter(|_| before.turn.open && before.state.ending().is_none());
        let error = fixed.and_then(|ending| ending.error.clone());
        let changed = was != is;
        let ended = was.filter(|_| changed).map(|step| Event::StepEnded { step });
        let begun = is.filter(|_| changed).map(|step| Event::StepStarted { step });
        [ended, begun, error.map(|error| Event::Error { error })].into_iter().flatten().collect()
    }
}

/// Of words that came from outside an event shows so much, in characters.
const WORDS_CHARS_MAX: usize = 1_000;

/// These words as an event shows them: it is no second copy of what they are about.
pub(crate) fn in_short(words: &str) -> String {
    match words.char_indices().nth(WORDS_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words.to_owned(),
    }
}
