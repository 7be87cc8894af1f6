//! Shortens a history that fits no order, so that a reader can follow it.

use std::fmt;

use super::search::{Verdict, search};
use super::{Event, Heard};
use crate::difference::compared;
use crate::model::Model;
use crate::script::Answer;
use crate::shown::shown;

/// The shortest beginning of a history that fits no order.
pub(crate) struct Counterexample {
    /// The operations of that beginning. Operations that change nothing are left out if the others alone fit no order.
    events: Vec<Event>,
    left_out: usize,
    /// The operation whose answer contradicts every order.
    last: Event,
    /// A state that is possible before the last answer, and the model's answer in it.
    before: Option<(Box<Model>, Option<Answer>)>,
}

impl Counterexample {
    /// Creates the counterexample of a history that fits no order. Returns `None` if the history fits an order or is
    /// undecided.
    pub(crate) fn of(events: &[Event], start: &Model, exact: bool) -> Option<Self> {
        let fits_not = |events: &[Event]| matches!(search(events, start, exact), Verdict::FitsNot);
        let mut answers: Vec<u64> = events.iter().filter_map(|event| event.answered).collect();
        answers.sort_unstable();
        // If a beginning fits no order, every longer beginning fits none either.
        let first = answers.partition_point(|answer| !fits_not(&until(events, *answer)));
        let at = *answers.get(first)?;
        let last = events.iter().find(|event| event.answered == Some(at))?.clone();
        let before = match first.checked_sub(1).and_then(|before| answers.get(before)) {
            Some(before) => search(&until(events, *before), start, exact),
            None => search(&[], start, exact),
        };
        let before = match before {
            Verdict::Fits(state) => Some((state.clone(), last.expected(&state))),
            Verdict::FitsNot | Verdict::Undecided => None,
        };
        let mut events = until(events, at);
        let whole = events.len();
        for index in (0..whole).rev() {
            let mut without = events.clone();
            let event = without.remove(index);
            if event.answered != Some(at) && event.changes_nothing() && fits_not(&without) {
                events = without;
            }
        }
        let left_out = whole - events.len();
        Some(Self { events, left_out, last, before })
    }
}

fn until(events: &[Event], instant: u64) -> Vec<Event> {
    events.iter().filter_map(|event| event.until(instant)).collect()
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { events, left_out, last, before } = self;
        writeln!(
            f,
            "  the shortest beginning that fits no order, each operation from its call to its answer, and who asked:"
        )?;
        events.iter().try_for_each(|event| writeln!(f, "{event}"))?;
        if *left_out > 0 {
            writeln!(f, "    ({left_out} that change nothing, and are not needed for it, are left out)")?;
        }
        write!(
            f,
            "  the answer that fits no more is that of {}..{}",
            last.asked,
            last.answered.unwrap_or_default()
        )?;
        let Some((state, expected)) = before else { return Ok(()) };
        let session = state.lives.values().next().map(|life| state.snapshot(&life.row.key).session);
        let session = session.flatten().map_or("no session".into(), |session| shown(&session));
        writeln!(f, "\n  all before it fits, and leaves (for one) {session}")?;
        let (Some(expected), Heard::Answer(_, found)) = (expected, &last.heard) else { return Ok(()) };
        let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
        write!(f, "  there it would be answered otherwise:\n{}", compared(&expected, &found))
    }
}
