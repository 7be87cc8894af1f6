//! Rebuilds the state of a session from the rows of its history.

use super::{Facts, Machine, Refused, StateKind, transition};
use crate::words::history::HistoryRow;

/// The error of a history from which the machine cannot be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A row does not begin where the row before it ended.
    #[error("history row {row}: it begins in {}, the row before ended in {}", expected.as_str(), found.as_str())]
    Elsewhere {
        /// The row, from 0.
        row: usize,
        /// The state in which the row begins.
        expected: StateKind,
        /// The state in which the rows before it ended.
        found: StateKind,
    },
    /// A row did not lead to the state that it names.
    #[error("history row {row}: it leads to {}, it says {}", found.as_str(), said.as_str())]
    LedElsewhere {
        /// The row, from 0.
        row: usize,
        /// The state that the row names.
        said: StateKind,
        /// The state to which its input leads.
        found: StateKind,
    },
    /// A row's input does not belong to its state.
    #[error("history row {row}: {refused}")]
    Refused {
        /// The row, from 0.
        row: usize,
        /// The reason.
        refused: Refused,
    },
}

/// Folds rows into a machine, one after another.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    machine: Machine,
    rows: usize,
}

impl Fold {
    /// Starts from a stored machine; the next row is the one after it.
    pub fn of(machine: Machine) -> Self {
        Self { machine, rows: 0 }
    }

    /// Returns the machine that the rows so far have built.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the number of rows taken.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Takes the next row.
    ///
    /// # Errors
    /// The row does not fit the machine that the rows before it have made. Then nothing is changed.
    pub fn take(&mut self, row: &HistoryRow) -> Result<(), Broken> {
        let (at, found) = (self.rows, self.machine.state.kind());
        if found != row.from {
            return Err(Broken::Elsewhere { row: at, expected: row.from, found });
        }
        let facts = Facts { now: row.at };
        let moved = transition(&self.machine, &row.input, &facts);
        let next = moved.map_err(|refused| Broken::Refused { row: at, refused })?.next;
        let found = next.state.kind();
        if let Some(said) = row.to.filter(|said| *said != found) {
            return Err(Broken::LedElsewhere { row: at, said, found });
        }
        self.machine = next;
        self.rows += 1;
        Ok(())
    }
}

/// Rebuilds the machine from its rows alone (INV-10).
///
/// # Errors
/// Returns the fault of the first row that does not fit.
pub fn rebuild<'a>(rows: impl IntoIterator<Item = &'a HistoryRow>) -> Result<Machine, Broken> {
    let mut fold = Fold::default();
    rows.into_iter().try_for_each(|row| fold.take(row))?;
    Ok(fold.machine)
}
