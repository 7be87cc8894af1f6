//! A machine as data: every move, and the facts by which the table is checked.
//!
//! [`SESSION`] is the table of a session's own machine. A [procedure](crate::procedure) of a user is read as such a
//! table too, so both are checked and drawn by the same code. [`Table::validate`] refuses a table that could strand a
//! session.

mod check;
mod session;

use std::fmt::{self, Debug};

pub use session::{BOUNDS, NATURES, ROWS, SESSION, admits, inputs_of, validate};

use super::{InputKind, StateKind};

/// The name of a state or of an input of a table. The order of names is the order in which they are drawn.
pub trait Name: Copy + Ord + Debug {
    /// Returns the name.
    fn name(&self) -> &str;
}

impl Name for StateKind {
    fn name(&self) -> &str {
        self.as_str()
    }
}

impl Name for InputKind {
    fn name(&self) -> &str {
        self.as_str()
    }
}

impl Name for &str {
    fn name(&self) -> &str {
        self
    }
}

/// One row: in this state, this input leads to one of these states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a, S = StateKind, I = InputKind> {
    /// The state before.
    pub from: S,
    /// The input.
    pub on: I,
    /// The possible next states. They include `from` itself if the machine may stay there.
    pub to: &'a [S],
}

/// The nature of a state: at rest, working or parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature<'a, I = InputKind> {
    /// No turn is open.
    Rest,
    /// A run works on the turn.
    Working,
    /// No call runs, and the model is not asked; these inputs wake the session.
    Parked {
        /// The inputs that wake the session.
        woken_by: &'a [I],
        /// The input that brings the awaited answer. `None` if nobody is asked.
        answered_by: Option<I>,
    },
}

/// A bound on every cycle that passes through a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound<S = StateKind> {
    /// The state.
    pub state: S,
    /// The reason why the cycle ends.
    pub by: &'static str,
}

/// The way out of a working or parked state when something fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a, S = StateKind, I = InputKind> {
    /// The input that reports the failure.
    pub on: I,
    /// The state to which it leads, unless it leads to rest.
    pub to: S,
    /// The other inputs of errors and stops. A state from which only these and `on` lead to rest is a dead end.
    pub beside: &'a [I],
}

/// A table, and the facts about its states.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a, S = StateKind, I = InputKind> {
    /// The state in which the machine begins.
    pub first: S,
    /// Every move. A pair that is not listed is refused.
    pub rows: &'a [Row<'a, S, I>],
    /// The nature of each state.
    pub natures: &'a [(S, Nature<'a, I>)],
    /// The bounds of cycles.
    pub bounds: &'a [Bound<S>],
    /// The inputs that come at the pace of somebody else. A cycle that needs one of them has a bound.
    pub paced: &'a [I],
    /// The way out of working and parked states when something fails. `None` if the machine has no failures of its own.
    pub failure: Option<Failure<'a, S, I>>,
}

impl<'a, S: Name, I: Name> Table<'a, S, I> {
    /// Returns the states to which `on` may lead from `from`; empty if it is refused.
    pub fn targets(&self, from: S, on: I) -> &'a [S] {
        self.rows.iter().find(|row| row.from == from && row.on == on).map_or(&[], |row| row.to)
    }

    /// Returns the inputs that a machine in this state takes, in the order of the table.
    pub fn inputs_of(&self, state: S) -> Vec<I> {
        self.rows.iter().filter(|row| row.from == state).map(|row| row.on).collect()
    }

    pub(super) fn nature(&self, state: S) -> Option<&Nature<'a, I>> {
        self.natures.iter().find(|(of, _)| *of == state).map(|(_, nature)| nature)
    }

    pub(super) fn is_rest(&self, state: S) -> bool {
        self.nature(state) == Some(&Nature::Rest)
    }
}

/// A fault of a table that could strand a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableError<S = StateKind, I = InputKind> {
    /// The table does not know the state in which it begins.
    NoFirst(S),
    /// A pair is listed twice.
    Twice(S, I),
    /// A row leads to no state, or to a state that the table does not know.
    MissingTarget(S, I),
    /// No path from the first state reaches this state.
    Unreached(S),
    /// No path from this state reaches rest without passing through an error.
    DeadEnd(S),
    /// A working or parked state in which a failure does not end the turn.
    NoFailureEdge(S),
    /// A parked state without a wake-up input, or with one that does not leave the state.
    NoWakeUp(S),
    /// A parked state whose answer leads to no other state.
    NoAnswer(S),
    /// A cycle without a bound: its states, in the order of the cycle.
    UnboundedCycle(Vec<S>),
}

impl<S: Name, I: Name> TableError<S, I> {
    /// Returns the state at fault. For a cycle, this is its first state. `None` for a cycle without states.
    pub fn state(&self) -> Option<S> {
        match self {
            Self::NoFirst(state)
            | Self::Twice(state, _)
            | Self::MissingTarget(state, _)
            | Self::Unreached(state)
            | Self::DeadEnd(state)
            | Self::NoFailureEdge(state)
            | Self::NoWakeUp(state)
            | Self::NoAnswer(state) => Some(*state),
            Self::UnboundedCycle(states) => states.first().copied(),
        }
    }

    /// Returns the input at fault, if the fault is about one row.
    pub fn input(&self) -> Option<I> {
        match self {
            Self::Twice(_, input) | Self::MissingTarget(_, input) => Some(*input),
            Self::NoFirst(_)
            | Self::Unreached(_)
            | Self::DeadEnd(_)
            | Self::NoFailureEdge(_)
            | Self::NoWakeUp(_)
            | Self::NoAnswer(_)
            | Self::UnboundedCycle(_) => None,
        }
    }

    /// Returns the fault as a text that names state and input.
    pub fn why(&self) -> String {
        match self {
            Self::NoFirst(state) => format!("there is no state {} to begin in", state.name()),
            Self::Twice(state, on) => format!("{} on {} is listed twice", state.name(), on.name()),
            Self::MissingTarget(state, on) => {
                format!("{} on {} has no known target", state.name(), on.name())
            }
            Self::Unreached(state) => format!("nothing leads to {}", state.name()),
            Self::DeadEnd(state) => format!("no way from {} to rest without an error", state.name()),
            Self::NoFailureEdge(state) => format!("{} has no failure edge", state.name()),
            Self::NoWakeUp(state) => format!("nothing wakes {}", state.name()),
            Self::NoAnswer(state) => format!("no way to answer {}", state.name()),
            Self::UnboundedCycle(states) => {
                let names: Vec<&str> = states.iter().map(Name::name).collect();
                format!("nothing bounds the cycle through {}", names.join(", "))
            }
        }
    }
}

impl<S: Name, I: Name> fmt::Display for TableError<S, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "machine table: {}", self.why())
    }
}

impl<S: Name, I: Name> std::error::Error for TableError<S, I> {}

/// All faults of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableErrors<S = StateKind, I = InputKind>(pub Vec<TableError<S, I>>);

impl<S: Name, I: Name> fmt::Display for TableErrors<S, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }
}

impl<S: Name, I: Name> std::error::Error for TableErrors<S, I> {}
