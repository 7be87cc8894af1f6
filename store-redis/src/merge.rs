//! Merges the entries of many partitions into one list, in one order.
//!
//! Every partition returns its entries in order, a bounded number at a time, and reports up to where it has
//! looked. A row is shown once no partition can still have one before it, so the order over all of them is exact.

use std::cmp::Ordering;
use std::collections::VecDeque;

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::error::Fault;
use crate::keys::Keys;

/// The result of one look at a partition.
#[derive(Debug)]
pub(crate) struct Found<T> {
    /// Rows with their places, in order.
    pub(crate) rows: Vec<(Bytes, T)>,
    /// The place up to which the partition has looked. None if it has looked to the end.
    pub(crate) looked: Option<Bytes>,
}

/// A function that looks at partitions, each after a place, and returns results in the same order.
pub(crate) type Look<'a, T> =
    dyn Fn(Vec<(u16, Bytes)>) -> BoxFuture<'a, Result<Vec<Found<T>>, Fault>> + Send + Sync + 'a;

/// The direction of a list along the bytes of its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Upwards,
    Downwards,
}

impl Order {
    fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Upwards => a.cmp(b),
            Self::Downwards => b.cmp(a),
        }
    }
}

/// Returns how many rows to ask of each partition, if about `rows` rows of all are wanted.
pub(crate) fn share(rows: usize, partitions: usize) -> usize {
    (rows / partitions.max(1)).saturating_mul(2).saturating_add(8).min(rows.saturating_add(1))
}

/// The known rows of one partition.
#[derive(Debug)]
struct Stream<T> {
    partition: u16,
    rows: VecDeque<(Bytes, T)>,
    /// The place after which the next look begins.
    after: Bytes,
    done: bool,
}

/// A walk over all partitions.
#[derive(Debug)]
pub(crate) struct Merge<T> {
    streams: Vec<Stream<T>>,
    order: Order,
}

impl<T> Merge<T> {
    /// Creates a walk that continues after a place. If the place is empty, the walk begins at the start.
    pub(crate) fn new(keys: &Keys, order: Order, after: &[u8]) -> Self {
        let after = Bytes::copy_from_slice(after);
        let stream =
            |partition| Stream { partition, rows: VecDeque::new(), after: after.clone(), done: false };
        Self { streams: keys.partitions().map(stream).collect(), order }
    }

    /// Returns how many rows to ask of one partition, for a page of `rows`.
    pub(crate) fn share(&self, rows: usize) -> usize {
        share(rows, self.streams.len())
    }

    /// Looks until the next row is known, and returns it without taking it. Returns none if there are no more rows.
    /// The content of the partitions bounds the number of looks, because each begins where the one before it ended.
    pub(crate) async fn peek(&mut self, look: &Look<'_, T>) -> Result<Option<&(Bytes, T)>, Fault> {
        loop {
            if let Some(index) = self.next_known() {
                return Ok(self.streams.get(index).and_then(|stream| stream.rows.front()));
            }
            let empty = |stream: &Stream<T>| stream.rows.is_empty() && !stream.done;
            let asked: Vec<(u16, Bytes)> = self
                .streams
                .iter()
                .filter(|stream| empty(stream))
                .map(|stream| (stream.partition, stream.after.clone()))
                .collect();
            if asked.is_empty() {
                return Ok(None);
            }
            let looked = look(asked).await?;
            for (stream, found) in self.streams.iter_mut().filter(|stream| empty(stream)).zip(looked) {
                stream.done = found.looked.is_none();
                stream.after = found.looked.unwrap_or_default();
                stream.rows.extend(found.rows);
            }
        }
    }

    /// Takes the row that [`peek`](Self::peek) returned.
    pub(crate) fn take(&mut self) -> Option<(Bytes, T)> {
        let index = self.next_known()?;
        self.streams.get_mut(index)?.rows.pop_front()
    }

    /// Returns the stream whose first row comes before all rows that may still be found.
    fn next_known(&self) -> Option<usize> {
        let heads = self
            .streams
            .iter()
            .enumerate()
            .filter_map(|(index, stream)| stream.rows.front().map(|(place, _)| (index, place)));
        let (index, place) = heads.min_by(|(_, a), (_, b)| self.order.compare(a, b))?;
        let blocked = self.streams.iter().any(|stream| {
            let behind = stream.after.is_empty() || self.order.compare(&stream.after, place).is_lt();
            stream.rows.is_empty() && !stream.done && behind
        });
        (!blocked).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of each partition, returned two at a time.
    const ROWS: [&[&str]; 3] = [&["a", "d", "e", "k"], &[], &["b", "c", "f", "g", "h"]];

    fn look(asked: Vec<(u16, Bytes)>) -> BoxFuture<'static, Result<Vec<Found<()>>, Fault>> {
        let one = |(partition, after): (u16, Bytes)| {
            let rows: Vec<_> = ROWS[usize::from(partition)]
                .iter()
                .filter(|row| row.as_bytes() > after.as_ref())
                .take(2)
                .map(|row| (Bytes::from(*row), ()))
                .collect();
            let looked = (rows.len() == 2).then(|| rows[1].0.clone());
            Found { rows, looked }
        };
        Box::pin(async move { Ok(asked.into_iter().map(one).collect()) })
    }

    #[tokio::test]
    async fn rows_of_all_partitions_come_in_one_order() {
        let mut merge = Merge::new(&Keys::new("n", 3), Order::Upwards, b"");
        let mut shown = String::new();
        while merge.peek(&look).await.unwrap().is_some() {
            shown.push_str(std::str::from_utf8(&merge.take().unwrap().0).unwrap());
        }
        assert_eq!(shown, "abcdefghk");
    }

    #[tokio::test]
    async fn a_walk_finds_what_lies_behind_many_looks() {
        let mut merge = Merge::new(&Keys::new("n", 1), Order::Upwards, b"");
        let late = |asked: Vec<(u16, Bytes)>| -> BoxFuture<'static, Result<Vec<Found<()>>, Fault>> {
            let next = Bytes::from(vec![b'x'; asked[0].1.len() + 1]);
            let there = next.len() > 200;
            let rows = if there { vec![(next.clone(), ())] } else { Vec::new() };
            Box::pin(async move { Ok(vec![Found { rows, looked: (!there).then_some(next) }]) })
        };
        assert!(merge.peek(&late).await.unwrap().is_some());
    }
}
