//! One list of what lies in many partitions, in one order.
//!
//! Every partition hands out what it has in order, a bounded number at a time, and says up to where it has looked.
//! A row is shown once no partition can still have one before it, so the order over all of them is exact.

use std::cmp::Ordering;
use std::collections::VecDeque;

use bytes::Bytes;
use futures::future::{BoxFuture, try_join_all};

use crate::error::Fault;
use crate::keys::Keys;

/// How often the partitions are looked at for one page. Then it is short, and the next goes on there.
const ROUNDS_MAX: usize = 64;

/// What one look at a partition found.
#[derive(Debug)]
pub(crate) struct Found<T> {
    /// Rows with their places, in order.
    pub(crate) rows: Vec<(Bytes, T)>,
    /// Up to which place it has looked; none: to the end.
    pub(crate) looked: Option<Bytes>,
}

/// How one partition is looked at, after a place.
pub(crate) type Look<'a, T> = dyn Fn(u16, Bytes) -> BoxFuture<'a, Result<Found<T>, Fault>> + Send + Sync + 'a;

/// Which way a list goes by the bytes of its places.
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

/// What is known of one partition.
#[derive(Debug)]
struct Stream<T> {
    partition: u16,
    rows: VecDeque<(Bytes, T)>,
    /// Where the next look begins.
    after: Bytes,
    done: bool,
}

/// A walk over all partitions.
#[derive(Debug)]
pub(crate) struct Merge<T> {
    streams: Vec<Stream<T>>,
    order: Order,
    /// None: as many as it takes.
    rounds_left: Option<usize>,
}

impl<T> Merge<T> {
    /// A walk that goes on after a place; empty: from the start.
    pub(crate) fn new(keys: &Keys, order: Order, after: &[u8]) -> Self {
        let after = Bytes::copy_from_slice(after);
        let stream =
            |partition| Stream { partition, rows: VecDeque::new(), after: after.clone(), done: false };
        Self { streams: keys.partitions().map(stream).collect(), order, rounds_left: Some(ROUNDS_MAX) }
    }

    /// The same to the end of all partitions: for a walk that cannot be gone on with. What lies in them bounds it,
    /// since each look begins where the one before it ended.
    pub(crate) fn until_the_end(self) -> Self {
        Self { rounds_left: None, ..self }
    }

    /// How many rows to ask one partition for, of a page of `rows`.
    pub(crate) fn share(&self, rows: usize) -> usize {
        (rows / self.streams.len().max(1) * 2 + 8).min(rows + 1)
    }

    /// Looks until the next row is known, and shows it. None: there is none, or the page must end here.
    pub(crate) async fn peek(&mut self, look: &Look<'_, T>) -> Result<Option<&(Bytes, T)>, Fault> {
        loop {
            if let Some(index) = self.next_known() {
                return Ok(self.streams.get(index).and_then(|stream| stream.rows.front()));
            }
            if self.streams.iter().all(|stream| stream.done) || self.rounds_left == Some(0) {
                return Ok(None);
            }
            self.rounds_left = self.rounds_left.map(|rounds| rounds - 1);
            let empty = self.streams.iter().enumerate();
            let empty = empty.filter(|(_, stream)| stream.rows.is_empty() && !stream.done);
            let looks: Vec<_> = empty
                .map(|(index, stream)| {
                    let looking = look(stream.partition, stream.after.clone());
                    async move { Ok::<_, Fault>((index, looking.await?)) }
                })
                .collect();
            for (index, found) in try_join_all(looks).await? {
                if let Some(stream) = self.streams.get_mut(index) {
                    stream.done = found.looked.is_none();
                    stream.after = found.looked.unwrap_or_default();
                    stream.rows.extend(found.rows);
                }
            }
        }
    }

    /// Takes the row that [`peek`](Self::peek) showed.
    pub(crate) fn take(&mut self) -> Option<(Bytes, T)> {
        let index = self.next_known()?;
        self.streams.get_mut(index)?.rows.pop_front()
    }

    /// Where a page goes on that ended without another row; none at the end.
    pub(crate) fn looked(&self) -> Option<Bytes> {
        let unfinished = self.streams.iter().filter(|stream| !stream.done);
        unfinished.map(|stream| stream.after.clone()).min_by(|a, b| self.order.compare(a, b))
    }

    /// Whose first row comes before all that may still be found.
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

    /// Each partition's rows, handed out two at a time.
    const ROWS: [&[&str]; 3] = [&["a", "d", "e", "k"], &[], &["b", "c", "f", "g", "h"]];

    fn look(partition: u16, after: Bytes) -> BoxFuture<'static, Result<Found<()>, Fault>> {
        let rows: Vec<_> = ROWS[usize::from(partition)]
            .iter()
            .filter(|row| row.as_bytes() > after.as_ref())
            .take(2)
            .map(|row| (Bytes::from(*row), ()))
            .collect();
        let looked = (rows.len() == 2).then(|| rows[1].0.clone());
        Box::pin(async move { Ok(Found { rows, looked }) })
    }

    #[tokio::test]
    async fn rows_of_all_partitions_come_in_one_order() {
        let mut merge = Merge::new(&Keys::new("n", 3), Order::Upwards, b"");
        let mut shown = String::new();
        while merge.peek(&look).await.unwrap().is_some() {
            shown.push_str(std::str::from_utf8(&merge.take().unwrap().0).unwrap());
        }
        assert_eq!((shown.as_str(), merge.looked()), ("abcdefghk", None));
    }

    #[tokio::test]
    async fn a_walk_without_rows_ends_its_page_where_it_has_looked() {
        let mut merge: Merge<()> = Merge::new(&Keys::new("n", 2), Order::Upwards, b"");
        let nothing = |partition: u16, after: Bytes| -> BoxFuture<'static, Result<Found<()>, Fault>> {
            let next = after.last().map_or(0, |last| last + 1) + u8::try_from(partition).unwrap();
            Box::pin(async move { Ok(Found { rows: Vec::new(), looked: Some(Bytes::from(vec![next])) }) })
        };
        assert!(merge.peek(&nothing).await.unwrap().is_none());
        assert_eq!(merge.looked(), Some(Bytes::from(vec![63])));
    }

    #[tokio::test]
    async fn a_walk_until_the_end_finds_what_lies_behind_many_rounds() {
        let mut merge = Merge::new(&Keys::new("n", 1), Order::Upwards, b"").until_the_end();
        let late = |_, after: Bytes| -> BoxFuture<'static, Result<Found<()>, Fault>> {
            let next = Bytes::from(vec![b'x'; after.len() + 1]);
            let there = next.len() > ROUNDS_MAX * 3;
            let rows = if there { vec![(next.clone(), ())] } else { Vec::new() };
            Box::pin(async move { Ok(Found { rows, looked: (!there).then_some(next) }) })
        };
        assert!(merge.peek(&late).await.unwrap().is_some());
    }
}
