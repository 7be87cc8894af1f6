//! Types for reading rows of one session: the rows to read, and the rows that were found.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::row::{Kind, Row};
use super::write::Slot;
use crate::rules::SessionRow;
use crate::time::Timestamp;

/// The rows of one kind to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// All rows, in ascending order.
    All,
    /// The rows from the first number to the last, both included, in ascending order.
    Numbers(u64, u64),
    /// The rows from the first number to the last, both included, in descending order.
    Descending(u64, u64),
    /// The rows with these names, in any order.
    Names(Vec<String>),
}

/// A request to read rows of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The kind of the rows.
    pub kind: Kind,
    /// The rows to read of that kind.
    pub which: Which,
    /// The most rows to read. Rows after that number are left out.
    pub rows: usize,
    /// The limit on payload bytes. This want ends after the row whose payload reaches the limit. Payloads of
    /// the same kind that earlier wants of the same read returned count, too.
    pub bytes: usize,
    /// True if the backend may return empty payloads.
    pub light: bool,
}

impl Want {
    /// Asks for all rows of a kind.
    pub fn all(kind: Kind) -> Self {
        Self { kind, which: Which::All, rows: usize::MAX, bytes: usize::MAX, light: false }
    }

    /// Asks for the rows of a kind from one number to another, both included.
    pub fn numbers(kind: Kind, from: u64, to: u64) -> Self {
        Self { which: Which::Numbers(from, to), ..Self::all(kind) }
    }

    /// Asks for the row of a kind with this number.
    pub fn number(kind: Kind, number: u64) -> Self {
        Self::numbers(kind, number, number)
    }

    /// Asks for the rows of a kind with these names.
    pub fn names(kind: Kind, names: Vec<String>) -> Self {
        Self { which: Which::Names(names), ..Self::all(kind) }
    }

    /// Asks for the rows of a kind up to a number, in descending order.
    pub fn newest(kind: Kind, to: u64) -> Self {
        Self { which: Which::Descending(0, to), ..Self::all(kind) }
    }

    /// Limits the request to `rows` rows and `bytes` payload bytes.
    #[must_use]
    pub fn at_most(self, rows: usize, bytes: usize) -> Self {
        Self { rows, bytes, ..self }
    }

    /// Allows the backend to return empty payloads.
    #[must_use]
    pub fn light(self) -> Self {
        Self { light: true, ..self }
    }
}

/// Reads the wanted rows. `rows_of` returns the rows of one want, in the order of the want. Takes only as
/// many of them as [`Want::rows`] and [`Want::bytes`] allow.
pub fn read_wants<'w, E, I: Iterator<Item = Result<Row, E>>>(
    wants: &'w [Want],
    mut rows_of: impl FnMut(&'w Want) -> Result<I, E>,
) -> Result<Vec<Vec<Row>>, E> {
    let mut bytes_read: BTreeMap<Kind, usize> = BTreeMap::new();
    let one = |want: &'w Want| {
        let bytes = bytes_read.entry(want.kind).or_default();
        let mut taken = Vec::new();
        let mut rows = rows_of(want)?;
        while taken.len() < want.rows && *bytes < want.bytes {
            let Some(row) = rows.next().transpose()? else { break };
            *bytes += row.payload_bytes();
            taken.push(row);
        }
        Ok(taken)
    };
    wants.iter().map(one).collect()
}

/// The slot and the wanted rows of one session, all as of one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The store's clock, read at that instant or later.
    pub now: Timestamp,
    /// The slot under the key.
    pub slot: Option<Arc<Slot>>,
    /// The rows of each want, in the order of the wants.
    pub rows: Vec<Vec<Row>>,
}

impl Found {
    /// Returns the session's row.
    pub fn row(&self) -> Option<&SessionRow> {
        self.slot.as_ref().and_then(|slot| slot.row.as_ref())
    }
}

/// Rows found along an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned<T, P> {
    /// The rows, in the order of the index.
    pub rows: Vec<T>,
    /// The place to continue after; none at the end. There may be such a place even if there are few rows or
    /// none.
    pub next: Option<P>,
}

impl<T, P> Scanned<T, P> {
    /// Takes rows, each with its place, until there are `limit` rows or their total `size` has reached
    /// `bytes`. Reads one more row to find out whether more follow.
    pub fn fill<E>(
        rows: impl IntoIterator<Item = Result<(P, T), E>>,
        limit: usize,
        bytes: usize,
        size: impl Fn(&T) -> usize,
    ) -> Result<Self, E> {
        let mut rows = rows.into_iter();
        let (mut taken, mut last, mut read) = (Vec::new(), None, 0);
        while taken.len() < limit && read < bytes {
            let Some((place, row)) = rows.next().transpose()? else {
                return Ok(Self { rows: taken, next: None });
            };
            read += size(&row);
            taken.push(row);
            last = Some(place);
        }
        let more = rows.next().transpose()?.is_some();
        Ok(Self { rows: taken, next: last.filter(|_| more) })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::payload::Payload;

    #[test]
    fn a_read_ends_by_rows_and_by_the_bytes_of_a_kind() {
        let row = || Ok::<_, Infallible>(Row::State(Payload::new("1234")));
        let read = |wants: &[Want]| -> Vec<usize> {
            let found = read_wants(wants, |_| Ok(std::iter::repeat_with(row).take(5)));
            let Ok(found) = found;
            found.iter().map(Vec::len).collect()
        };
        let all = Want::all(Kind::State);
        assert_eq!(read(&[all.clone(), all.clone().at_most(2, usize::MAX)]), [5, 2]);
        assert_eq!(read(&[all.clone().at_most(0, 0)]), [0]);
        // The row whose payload reaches the limit is the last.
        assert_eq!(read(&[all.clone().at_most(9, 8)]), [2]);
        assert_eq!(read(&[all.clone().at_most(9, 9), all.clone().at_most(9, 9)]), [3, 0]);
        let other = Want::all(Kind::Definition);
        assert_eq!(read(&[all.at_most(9, 9), other.at_most(9, 9)]), [3, 3]);
    }

    #[test]
    fn a_scan_goes_on_only_if_there_is_more() {
        let scan = |count: u32, limit, bytes| {
            let rows = (1..=count).map(|n| Ok::<_, Infallible>((n, n)));
            let Ok(scanned) = Scanned::fill(rows, limit, bytes, |_| 4);
            (scanned.rows.len(), scanned.next)
        };
        assert_eq!(scan(3, 4, usize::MAX), (3, None));
        assert_eq!(scan(3, 3, usize::MAX), (3, None));
        assert_eq!(scan(3, 2, usize::MAX), (2, Some(2)));
        assert_eq!(scan(3, 4, 5), (2, Some(2)));
        assert_eq!(scan(3, 0, 5), (0, None));
    }
}
