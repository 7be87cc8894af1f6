//! One operation on one session, as seen from outside.

use std::fmt;

use holdover_store::time::Timestamp;

use crate::model::Model;
use crate::script::{Answer, Asking, Request};
use crate::shown::shown;

/// One operation on one session: an interval, and what is known of what happened in it.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// Which of the peers asked.
    pub(crate) by: usize,
    /// When it was asked, on a counter that all peers share.
    pub(crate) asked: u64,
    /// When it was answered; never, if what became of it is not known.
    pub(crate) answered: Option<u64>,
    pub(crate) heard: Heard,
}

/// What was asked and heard.
#[derive(Debug, Clone)]
pub(crate) enum Heard {
    /// The clock was moved to here.
    Time(Timestamp),
    /// This answer.
    Answer(Box<Request>, Box<Answer>),
    /// That it was done somewhere: here it was done, or there was nothing to do.
    Somewhere(Box<Request>),
    /// Nothing: it was done at any time from the call on, or never.
    Nothing(Box<Request>),
}

impl Event {
    /// The states in which the session may be afterwards; none if the model answers otherwise. `exact`: instants
    /// count.
    pub(super) fn apply(&self, before: &Model, exact: bool) -> Vec<Model> {
        let mut after = before.clone();
        match &self.heard {
            Heard::Time(now) => {
                after.now = *now;
                vec![after]
            }
            Heard::Answer(request, answer) => {
                let expected = asked_of(request, &mut after);
                if same(&expected, answer, exact) { vec![after] } else { Vec::new() }
            }
            Heard::Somewhere(request) => {
                asked_of(request, &mut after);
                vec![after, before.clone()]
            }
            Heard::Nothing(request) => {
                asked_of(request, &mut after);
                vec![after]
            }
        }
    }

    /// What the model answers in this state; none if nothing was asked.
    pub(super) fn expected(&self, state: &Model) -> Option<Answer> {
        match &self.heard {
            Heard::Time(_) => None,
            Heard::Answer(request, _) | Heard::Somewhere(request) | Heard::Nothing(request) => {
                Some(asked_of(request, &mut state.clone()))
            }
        }
    }

    /// Whether no session is another one afterwards, whatever it was before. Without such an operation a history
    /// has fewer operations to fit and the same states, so that what does not fit without it does not fit with it.
    pub(super) fn changes_nothing(&self) -> bool {
        match &self.heard {
            Heard::Answer(request, answer) => !request.writes() || answer.refuses(),
            Heard::Time(_) | Heard::Somewhere(_) | Heard::Nothing(_) => false,
        }
    }

    /// As it was known before `instant`. None: it was not asked yet.
    pub(super) fn until(&self, instant: u64) -> Option<Self> {
        if self.asked > instant {
            return None;
        }
        let mut event = self.clone();
        // What was not answered yet may have been done. Reads have nothing to do.
        if let (true, Heard::Answer(request, _) | Heard::Somewhere(request)) =
            (self.answered.is_none_or(|answered| answered > instant), &self.heard)
        {
            if !request.writes() {
                return None;
            }
            (event.answered, event.heard) = (None, Heard::Nothing(request.clone()));
        }
        Some(event)
    }
}

/// A fork is a session of its own, and only reads its source.
fn asked_of(request: &Request, model: &mut Model) -> Answer {
    if request.forks() { request.ask_model(&mut model.clone()) } else { request.ask_model(model) }
}

fn same(expected: &Answer, found: &Answer, exact: bool) -> bool {
    expected == found || !exact && text(expected) == text(found)
}

/// An answer without its instants.
fn text(answer: &Answer) -> String {
    crate::shown::without_instants(&format!("{answer:?}"))
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answered = self.answered.map_or("…".into(), |answered| answered.to_string());
        write!(f, "    {:>3}..{answered:<3} ", self.asked)?;
        match &self.heard {
            Heard::Time(now) => write!(f, "the clock is moved to {now:?}"),
            Heard::Answer(request, answer) => {
                write!(f, "#{} {}\n             → {}", self.by, shown(request), shown(answer))
            }
            Heard::Somewhere(request) => {
                write!(f, "#{} {}\n             → done, here or elsewhere", self.by, shown(request))
            }
            Heard::Nothing(request) => {
                write!(f, "#{} {}\n             → no answer yet", self.by, shown(request))
            }
        }
    }
}
