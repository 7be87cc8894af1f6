//! What is read of one session, and what is found.

use std::sync::Arc;

use super::row::{Kind, Row};
use super::write::Slot;
use crate::rules::SessionRow;
use crate::time::Timestamp;

/// Which rows of a kind are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// All, in ascending order.
    All,
    /// Those from the first number to the last, both included, in ascending order.
    Numbers(u64, u64),
    /// The same, in descending order.
    Descending(u64, u64),
    /// Those with these names, in any order.
    Names(Vec<String>),
}

/// Rows of one kind that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The kind.
    pub kind: Kind,
    /// Which of them.
    pub which: Which,
    /// At most so many. Those that come first.
    pub rows: usize,
    /// The read ends after the row with which the payloads of the kind reach so many bytes: what is asked for of this
    /// kind behind it, also by later wants of the same read, is left out.
    pub bytes: usize,
    /// Whether payloads may be left out, that is, be empty.
    pub light: bool,
}

impl Want {
    /// All rows of a kind.
    pub fn all(kind: Kind) -> Self {
        Self { kind, which: Which::All, rows: usize::MAX, bytes: usize::MAX, light: false }
    }

    /// The rows of a kind from one number to another.
    pub fn numbers(kind: Kind, from: u64, to: u64) -> Self {
        Self { which: Which::Numbers(from, to), ..Self::all(kind) }
    }

    /// The row of a kind with this number.
    pub fn number(kind: Kind, number: u64) -> Self {
        Self::numbers(kind, number, number)
    }

    /// The rows of a kind with these names.
    pub fn names(kind: Kind, names: Vec<String>) -> Self {
        Self { which: Which::Names(names), ..Self::all(kind) }
    }

    /// The rows of a kind up to a number, those with the greatest numbers first.
    pub fn newest(kind: Kind, to: u64) -> Self {
        Self { which: Which::Descending(0, to), ..Self::all(kind) }
    }

    /// At most so many rows and bytes.
    #[must_use]
    pub fn at_most(self, rows: usize, bytes: usize) -> Self {
        Self { rows, bytes, ..self }
    }

    /// Without payloads, if the backend saves something by it.
    #[must_use]
    pub fn light(self) -> Self {
        Self { light: true, ..self }
    }
}

/// What was found of one session, all at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The store's clock, read at that instant or after.
    pub now: Timestamp,
    /// What stands under the key.
    pub slot: Option<Arc<Slot>>,
    /// For each want its rows.
    pub rows: Vec<Vec<Row>>,
}

impl Found {
    /// The session's row.
    pub fn row(&self) -> Option<&SessionRow> {
        self.slot.as_ref().and_then(|slot| slot.row.as_ref())
    }
}

/// Rows found along an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned<T, P> {
    /// In the order of the index.
    pub rows: Vec<T>,
    /// Where to go on after; none at the end. May be there although rows are few, or none.
    pub next: Option<P>,
}
