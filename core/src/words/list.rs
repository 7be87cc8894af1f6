//! A list that grows at its end and whose clones share memory.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Index, Range};
use std::sync::Arc;

/// The number of items in one chunk.
const CHUNK: usize = 32;

/// A list of chunks that are shared among clones.
///
/// The cost of a clone does not depend on the length of the list. A push copies only shared parts: at most
/// one chunk and, when a chunk becomes full, the pointers to all chunks. Changes to one clone never affect
/// another.
///
/// ```
/// use holdover_core::list::SharedList;
///
/// let mut list = SharedList::from(["one", "two"]);
/// let before = list.clone();
/// list.push("three");
/// assert_eq!(list.iter().rev().copied().collect::<Vec<_>>(), ["three", "two", "one"]);
/// assert_eq!((list.len(), list[2], before.last()), (3, "three", Some(&"two")));
/// ```
pub struct SharedList<T> {
    /// The full chunks.
    full: Arc<Vec<Arc<Vec<T>>>>,
    /// The items after the full chunks: fewer than one chunk.
    tail: Arc<Vec<T>>,
}

impl<T> SharedList<T> {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK + self.tail.len()
    }

    /// Returns true if the list has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the item at this index, counted from 0.
    pub fn get(&self, at: usize) -> Option<&T> {
        let chunk = self.full.get(at / CHUNK).unwrap_or(&self.tail);
        if at < self.len() { chunk.get(at % CHUNK) } else { None }
    }

    /// Returns the first item.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// Returns the last item.
    pub fn last(&self) -> Option<&T> {
        self.len().checked_sub(1).and_then(|at| self.get(at))
    }

    /// Iterates over the items in order. The iterator is double-ended.
    pub fn iter(&self) -> Iter<'_, T> {
        self.range(0..self.len())
    }

    /// Iterates over the items in this index range. Indexes beyond the end are ignored.
    pub fn range(&self, places: Range<usize>) -> Iter<'_, T> {
        let end = places.end.min(self.len());
        Iter { list: self, places: places.start.min(end)..end }
    }

    /// Returns the index of the first item for which `is_before` is false. `is_before` must be true for all
    /// items before that index and false for all items from it on.
    pub fn partition_point(&self, mut is_before: impl FnMut(&T) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if self.get(middle).is_some_and(&mut is_before) { from = middle + 1 } else { to = middle }
        }
        from
    }
}

impl<T: Clone> SharedList<T> {
    /// Appends an item.
    pub fn push(&mut self, item: T) {
        match Arc::get_mut(&mut self.tail) {
            Some(tail) => tail.push(item),
            None => {
                let mut tail = Vec::with_capacity(CHUNK);
                tail.extend_from_slice(&self.tail);
                tail.push(item);
                self.tail = Arc::new(tail);
            }
        }
        if self.tail.len() == CHUNK {
            Arc::make_mut(&mut self.full).push(std::mem::take(&mut self.tail));
        }
    }

    /// Keeps the first `len` items. Does nothing if the list is not longer.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        if len < self.full.len() * CHUNK {
            self.tail = self.full.get(len / CHUNK).map(Arc::clone).unwrap_or_default();
            Arc::make_mut(&mut self.full).truncate(len / CHUNK);
        }
        Arc::make_mut(&mut self.tail).truncate(len % CHUNK);
    }

    /// Removes the last item and returns it.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.last().cloned()?;
        self.truncate(self.len() - 1);
        Some(last)
    }

    /// Replaces the item at this index. Panics if the index is out of bounds.
    pub fn set(&mut self, at: usize, item: T) {
        let len = self.len();
        assert!(at < len, "place {at} of a list of {len}");
        let tail = &mut self.tail;
        let chunk =
            if at / CHUNK < self.full.len() { &mut Arc::make_mut(&mut self.full)[at / CHUNK] } else { tail };
        Arc::make_mut(chunk)[at % CHUNK] = item;
    }
}

impl<T> Clone for SharedList<T> {
    fn clone(&self) -> Self {
        Self { full: Arc::clone(&self.full), tail: Arc::clone(&self.tail) }
    }
}

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Self { full: Arc::default(), tail: Arc::default() }
    }
}

impl<T: PartialEq> PartialEq for SharedList<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other)
    }
}

impl<T: Eq> Eq for SharedList<T> {}

impl<T: fmt::Debug> fmt::Debug for SharedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T> Index<usize> for SharedList<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        let chunk = self.full.get(at / CHUNK);
        chunk.map_or_else(|| &self.tail[at - self.full.len() * CHUNK], |chunk| &chunk[at % CHUNK])
    }
}

impl<T: Clone> Extend<T> for SharedList<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: Clone> FromIterator<T> for SharedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        list.extend(items);
        list
    }
}

impl<T: Clone> From<Vec<T>> for SharedList<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Clone, const N: usize> From<[T; N]> for SharedList<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<'a, T> IntoIterator for &'a SharedList<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// An iterator over the items of a [`SharedList`].
#[derive(Debug)]
pub struct Iter<'a, T> {
    list: &'a SharedList<T>,
    places: Range<usize>,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self { list: self.list, places: self.places.clone() }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.places.next().and_then(|at| self.list.get(at))
    }

    fn nth(&mut self, many: usize) -> Option<&'a T> {
        self.places.nth(many).and_then(|at| self.list.get(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }
}

impl<'a, T> DoubleEndedIterator for Iter<'a, T> {
    fn next_back(&mut self) -> Option<&'a T> {
        self.places.next_back().and_then(|at| self.list.get(at))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<T> FusedIterator for Iter<'_, T> {}

#[cfg(test)]
mod tests;
