//! Rebuilds the state of a session from the rows of its history.

use super::{Facts, Machine, Refused, StateKind, transition};
use crate::words::history::HistoryRow;

/// A history that does not rebuild.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A row begins where the row before it did not end.
    #[error("history row {row}: it begins in {}, the row before ended in {}", expected.as_str(), found.as_str())]
    Elsewhere {
        /// Which row, from 0.
        row: usize,
        /// What the row says.
        expected: StateKind,
        /// Where the rows before it lead.
        found: StateKind,
    },
    /// A row's input does not belong to its state.
    #[error("history row {row}: {refused}")]
    Refused {
        /// Which row, from 0.
        row: usize,
        /// Why.
        refused: Refused,
    },
}

/// Rows that are folded, one after another.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    machine: Machine,
    rows: usize,
}

impl Fold {
    /// From a machine as it was stored: what follows is the row after it.
    pub fn of(machine: Machine) -> Self {
        Self { machine, rows: 0 }
    }

    /// The machine as the rows so far have made it: what a row is a move of, and where it led.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How many rows were taken.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Takes the next row.
    ///
    /// # Errors
    /// It does not fit what the rows before it have made. Then nothing is changed.
    pub fn take(&mut self, row: &HistoryRow) -> Result<(), Broken> {
        let (at, found) = (self.rows, self.machine.state.kind());
        if found != row.from {
            return Err(Broken::Elsewhere { row: at, expected: row.from, found });
        }
        let facts = Facts { now: row.at };
        let moved = transition(&self.machine, &row.input, &facts);
        self.machine = moved.map_err(|refused| Broken::Refused { row: at, refused })?.next;
        self.rows += 1;
        Ok(())
    }
}

/// Rebuilds the machine from its rows alone (INV-10).
pub fn rebuild<'a>(rows: impl IntoIterator<Item = &'a HistoryRow>) -> Result<Machine, Broken> {
    let mut fold = Fold::default();
    rows.into_iter().try_for_each(|row| fold.take(row))?;
    Ok(fold.machine)
}
