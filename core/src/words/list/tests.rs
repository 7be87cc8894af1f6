//! Tests that the list behaves like a `Vec` and copies only a bounded part of itself.

use std::cell::Cell;
use std::rc::Rc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Change {
    Push(u8),
    Extend(usize),
    Truncate(usize),
    Pop,
    Set(usize, u8),
    /// Keeps a clone of the current list, to compare it at the end.
    Keep,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        4 => any::<u8>().prop_map(Change::Push),
        1 => (0..3 * CHUNK).prop_map(Change::Extend),
        1 => (0..4 * CHUNK).prop_map(Change::Truncate),
        1 => Just(Change::Pop),
        1 => (0..4 * CHUNK, any::<u8>()).prop_map(|(at, item)| Change::Set(at, item)),
        2 => Just(Change::Keep),
    ];
    vec(change, 0..60)
}

fn same(list: &SharedList<u8>, expected: &[u8]) {
    assert_eq!(list.len(), expected.len());
    assert_eq!(list.is_empty(), expected.is_empty());
    assert!(list.iter().eq(expected) && list.iter().rev().eq(expected.iter().rev()), "{list:?}");
    assert_eq!(list.iter().len(), expected.len());
    assert_eq!((list.first(), list.last()), (expected.first(), expected.last()));
    assert_eq!(list.get(expected.len()), None);
    for (at, item) in expected.iter().enumerate() {
        assert_eq!((list.get(at), &list[at], list.iter().nth(at)), (Some(item), item, Some(item)));
    }
    assert_eq!(*list, SharedList::from(expected.to_vec()));
    assert_eq!(format!("{list:?}"), format!("{expected:?}"));
    assert!(list.tail.len() < CHUNK && list.full.iter().all(|chunk| chunk.len() == CHUNK));
}

proptest! {
    #[test]
    fn it_is_a_vec_and_a_clone_stays_what_it_was(changes in changes()) {
        let (mut list, mut expected) = (SharedList::new(), Vec::new());
        let mut kept = Vec::new();
        for change in changes {
            match change {
                Change::Push(item) => {
                    list.push(item);
                    expected.push(item);
                }
                Change::Extend(many) => {
                    list.extend(vec![7; many]);
                    expected.extend(vec![7; many]);
                }
                Change::Truncate(len) => {
                    list.truncate(len);
                    expected.truncate(len);
                }
                Change::Pop => assert_eq!(list.pop(), expected.pop()),
                Change::Set(at, item) => {
                    if let Some(place) = expected.get_mut(at) {
                        *place = item;
                        list.set(at, item);
                    }
                }
                Change::Keep => kept.push((list.clone(), expected.clone())),
            }
            same(&list, &expected);
        }
        for (list, expected) in kept {
            same(&list, &expected);
        }
    }

    #[test]
    fn a_range_is_that_of_a_slice_clipped(len in 0..5 * CHUNK, from in 0..6 * CHUNK, to in 0..6 * CHUNK) {
        let items: Vec<usize> = (0..len).collect();
        let list = SharedList::from(items.clone());
        let expected = items.get(from.min(len)..to.min(len)).unwrap_or_default();
        prop_assert!(list.range(from..to).eq(expected));
        prop_assert_eq!(list.partition_point(|item| *item < from), items.partition_point(|item| *item < from));
    }
}

/// A value that counts its clones.
struct Counted(Rc<Cell<usize>>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.set(self.0.get() + 1);
        Self(Rc::clone(&self.0))
    }
}

/// Returns the number of items that are copied by `pushes` pushes to a list of `had` items, if the list is
/// cloned before each push.
fn copied(had: usize, pushes: usize) -> usize {
    let clones = Rc::new(Cell::new(0));
    let item = || Counted(Rc::clone(&clones));
    let mut list: SharedList<Counted> = std::iter::repeat_with(item).take(had).collect();
    assert_eq!(clones.get(), 0, "what nobody shares is not copied");
    for _ in 0..pushes {
        let handed_on = list.clone();
        list.push(item());
        assert_eq!(handed_on.len() + 1, list.len());
    }
    clones.get()
}

#[test]
fn u01_what_a_push_copies_does_not_depend_on_the_length() {
    let few = copied(CHUNK, 4 * CHUNK);
    assert!(few <= 4 * CHUNK * CHUNK / 2, "{few} copies");
    assert_eq!(copied(1_000 * CHUNK, 4 * CHUNK), few);
}

#[test]
#[should_panic(expected = "place 3 of a list of 3")]
fn to_set_what_is_not_there_panics() {
    SharedList::from([1, 2, 3]).set(3, 4);
}

#[test]
#[should_panic(expected = "out of bounds")]
fn to_index_what_is_not_there_panics() {
    let _ = SharedList::from([1, 2, 3])[3];
}
