//! One operation on one session, as seen by the peers.

use std::fmt;

use holdover_store::time::Timestamp;

use crate::model::Model;
use crate::script::{Answer, Asking, Request};
use crate::shown::shown;

/// One operation on one session: its interval, and what the peer learned of its effect.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// The number of the peer that made the request.
    pub(crate) by: usize,
    /// The start of the operation, on a counter that all peers share.
    pub(crate) asked: u64,
    /// The end of the operation. `None` if its effect is not known.
    pub(crate) answered: Option<u64>,
    pub(crate) heard: Heard,
}

/// A request and what the peer learned of its effect.
#[derive(Debug, Clone)]
pub(crate) enum Heard {
    /// The clock was moved to this instant.
    Time(Timestamp),
    /// The operation returned this answer.
    Answer(Box<Request>, Box<Answer>),
    /// The operation took effect on some session, possibly on this one.
    Somewhere(Box<Request>),
    /// The outcome is unknown: the operation may take effect at any time after the call, or never.
    Nothing(Box<Request>),
}

impl Event {
    /// Returns the states that the session may have afterwards. The list is empty if the model would give another
    /// answer. `exact` says whether instants are compared.
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

    /// Returns the model's answer in this state. `None` if no request was made.
    pub(super) fn expected(&self, state: &Model) -> Option<Answer> {
        match &self.heard {
            Heard::Time(_) => None,
            Heard::Answer(request, _) | Heard::Somewhere(request) | Heard::Nothing(request) => {
                Some(asked_of(request, &mut state.clone()))
            }
        }
    }

    /// Returns true if the operation changes no session in any state. Such an operation can be left out: the remaining
    /// history has fewer answers to explain and the same states, so if it has no order, the whole history has none.
    pub(super) fn changes_nothing(&self) -> bool {
        match &self.heard {
            Heard::Answer(request, answer) => !request.writes() || answer.refuses(),
            Heard::Time(_) | Heard::Somewhere(_) | Heard::Nothing(_) => false,
        }
    }

    /// Returns what was known of the operation before `instant`. `None` if it had not begun.
    pub(super) fn until(&self, instant: u64) -> Option<Self> {
        if self.asked > instant {
            return None;
        }
        let mut event = self.clone();
        // A write without an answer may have taken effect. A read has no effect.
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

/// Applies the request to the model. A fork only reads its source, since the fork is another session.
fn asked_of(request: &Request, model: &mut Model) -> Answer {
    if request.forks() { request.ask_model(&mut model.clone()) } else { request.ask_model(model) }
}

fn same(expected: &Answer, found: &Answer, exact: bool) -> bool {
    expected == found || !exact && text(expected) == text(found)
}

/// Formats an answer without its instants.
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
