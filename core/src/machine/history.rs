//! What happened to a session, as rows from which its state can be rebuilt.

use serde::{Deserialize, Serialize};

use super::{Facts, Input, Machine, Refused, StateKind, transition};
use crate::time::Timestamp;

/// One transition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRow {
    /// The state before.
    pub from: StateKind,
    /// What happened.
    #[serde(rename = "on")]
    pub input: Input,
    /// When.
    pub at: Timestamp,
}

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

/// Rebuilds the machine from its rows alone (INV-10).
pub fn rebuild<'a>(rows: impl IntoIterator<Item = &'a HistoryRow>) -> Result<Machine, Broken> {
    let mut machine = Machine::default();
    for (row, step) in rows.into_iter().enumerate() {
        let found = machine.state.kind();
        if found != step.from {
            return Err(Broken::Elsewhere { row, expected: step.from, found });
        }
        let facts = Facts { now: step.at };
        machine = transition(&machine, &step.input, &facts)
            .map_err(|refused| Broken::Refused { row, refused })?
            .next;
    }
    Ok(machine)
}
