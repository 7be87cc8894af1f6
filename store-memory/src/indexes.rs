//! The indexes over sessions and their pending calls.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use holdover_store::rows::Index;

/// The sorted entries of all indexes.
#[derive(Default)]
pub(crate) struct Indexes {
    entries: BTreeMap<Index, BTreeSet<Vec<u8>>>,
    /// The number of entries that were read since the last call of `looked_at`.
    #[cfg(test)]
    looked_at: std::cell::Cell<usize>,
}

impl Indexes {
    /// Returns the entries of an index that lie in a range.
    pub(crate) fn of(
        &self,
        index: Index,
        range: Range<Vec<u8>>,
    ) -> impl DoubleEndedIterator<Item = &Vec<u8>> {
        let entries = self.entries.get(&index).into_iter();
        let entries = entries.flat_map(move |entries| entries.range(range.clone()));
        #[cfg(test)]
        let entries = entries.inspect(|_| self.looked_at.set(self.looked_at.get() + 1));
        entries
    }

    pub(crate) fn add_all(&mut self, entries: Vec<(Index, Vec<u8>)>) {
        for (index, entry) in entries {
            self.entries.entry(index).or_default().insert(entry);
        }
    }

    pub(crate) fn remove_all(&mut self, entries: Vec<(Index, Vec<u8>)>) {
        for (index, entry) in entries {
            self.entries.entry(index).or_default().remove(&entry);
        }
    }

    /// Returns the number of entries that were read since the last call.
    #[cfg(test)]
    pub(crate) fn looked_at(&self) -> usize {
        self.looked_at.take()
    }
}
