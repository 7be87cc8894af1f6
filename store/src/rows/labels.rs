//! The search for sessions by label in [`Index::Labels`]. The list of each label has the same order as the
//! list of all sessions.

use std::ops::{Bound, Range};

use super::index::{Index, SessionPlace, behind, of_tenant};
use crate::Labels;
use crate::ids::TenantId;
use crate::payload::Digest;
use crate::rules::SessionRow;

/// The length of a label's digest in an entry, in bytes.
const LABEL_BYTES: usize = 32;

/// Returns the entries of a session in [`Index::Labels`], one for each of these labels. They do not change
/// while the session exists.
pub fn label_entries(row: &SessionRow, labels: &Labels) -> Vec<(Index, Vec<u8>)> {
    let place = SessionPlace { at: row.created_at, key: row.key.clone() }.to_bytes();
    let entry = |(name, value): (&String, &String)| {
        let of_label = [label(name, value).as_slice(), &place].concat();
        (Index::Labels, of_tenant(&row.key.tenant, &of_label))
    };
    labels.0.iter().map(entry).collect()
}

/// Returns the range of the entries in [`Index::Labels`] for one label of a tenant, from a place on. The newest
/// sessions are at the end of the range.
pub fn label_range(tenant: &TenantId, name: &str, value: &str, from: Bound<&SessionPlace>) -> Range<Vec<u8>> {
    let label = label(name, value);
    let of_label = |place: &[u8]| of_tenant(tenant, &[label.as_slice(), place].concat());
    let end = match from {
        // A place is an instant of eight bytes, then ids.
        Bound::Unbounded => of_label(&[u8::MAX; 9]),
        Bound::Excluded(place) => of_label(&place.to_bytes()),
        Bound::Included(place) => behind(of_label(&place.to_bytes())),
    };
    of_label(&[])..end
}

/// Returns the bytes after the label in `entry`, which does not include the tenant.
pub(super) fn place_of_label(entry: &[u8]) -> Option<&[u8]> {
    entry.get(LABEL_BYTES..)
}

/// Returns the form of a label in an entry: a digest, which has a fixed length and differs for each label.
fn label(name: &str, value: &str) -> [u8; LABEL_BYTES] {
    let length = (name.len() as u64).to_be_bytes();
    Digest::of(&[&length, name.as_bytes(), value.as_bytes()].concat()).0
}

/// Returns the places of the sessions that have all of these labels, newest first, after a place. There must
/// be at least one label. `seek` returns the first place in the list of one label, from a place on.
///
/// All lists have the same order, so the search in each list starts at the place that another list has
/// reached. The shortest list bounds the number of calls of `seek`.
pub fn with_labels<E>(
    labels: &Labels,
    after: Option<&SessionPlace>,
    mut seek: impl FnMut(&str, &str, Bound<&SessionPlace>) -> Result<Option<SessionPlace>, E>,
) -> impl Iterator<Item = Result<SessionPlace, E>> {
    let mut from = after.cloned().map_or(Bound::Unbounded, Bound::Excluded);
    std::iter::from_fn(move || {
        // The number of consecutive lists that have this place.
        let mut agree = 0;
        for (name, value) in labels.0.iter().cycle() {
            let place = match seek(name, value, from.as_ref()) {
                Ok(place) => place?,
                Err(error) => return Some(Err(error)),
            };
            agree = if matches!(&from, Bound::Included(at) if *at == place) { agree + 1 } else { 1 };
            if agree == labels.0.len() {
                from = Bound::Excluded(place.clone());
                return Some(Ok(place));
            }
            from = Bound::Included(place);
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::SessionStatus;
    use crate::ids::{Incarnation, SessionKey, StateFormat};
    use crate::payload::Payload;
    use crate::time::Timestamp;
    use crate::{NewSession, Start};

    fn session(tenant: &str, nth: i64) -> SessionRow {
        let new = NewSession {
            key: SessionKey::new(tenant.parse().unwrap(), format!("s{nth}").parse().unwrap()),
            incarnation: Incarnation(uuid::Uuid::from_u128(1)),
            operation: "o".parse().unwrap(),
            queue: "q".parse().unwrap(),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: StateFormat(1),
            items: vec![],
            start: Start::WithItems,
        };
        // Several sessions are created at the same instant, and some before 1970.
        let row = SessionRow::create(&new, Timestamp::from_ms(nth / 3 - 2));
        assert_eq!(row.status, SessionStatus::Idle);
        row
    }

    /// The entries of an index, and the number of queries.
    #[derive(Default)]
    struct Entries(BTreeSet<Vec<u8>>, Cell<usize>);

    impl Entries {
        fn put(&mut self, row: &SessionRow, labels: &Labels) {
            self.0.extend(label_entries(row, labels).into_iter().map(|(_, entry)| entry));
        }

        fn list(&self, labels: &Labels, after: Option<&SessionPlace>) -> Vec<SessionPlace> {
            let tenant: TenantId = "t".parse().unwrap();
            self.1.set(0);
            let seek = |name: &str, value: &str, from: Bound<&SessionPlace>| {
                self.1.set(self.1.get() + 1);
                let mut entries = self.0.range(label_range(&tenant, name, value, from));
                Ok::<_, Infallible>(
                    entries.next_back().map(|entry| SessionPlace::of_entry(Index::Labels, entry).unwrap()),
                )
            };
            with_labels(labels, after, seek).map(|Ok(place)| place).collect()
        }
    }

    fn labels() -> impl Strategy<Value = Labels> {
        // Includes empty names and values, and pairs that are equal when name and value are joined.
        prop::collection::btree_map("[ab\0]{0,2}", "[ab\0]{0,2}", 0..4).prop_map(Labels)
    }

    proptest! {
        #[test]
        fn all_that_have_the_labels_are_listed_after_any_place(
            sessions in prop::collection::vec((prop::sample::select(vec!["s", "t", "tt"]), labels()), 0..24),
            wanted in labels(),
            after in 0..32_usize,
        ) {
            prop_assume!(!wanted.0.is_empty());
            let rows: Vec<_> = (0..).zip(&sessions).map(|(nth, (tenant, labels))| (session(tenant, nth), labels)).collect();
            let mut entries = Entries::default();
            rows.iter().for_each(|(row, labels)| entries.put(row, labels));
            let is_meant = |row: &SessionRow, labels: &Labels| {
                row.key.tenant.as_str() == "t" && labels.contains_all(&wanted)
            };
            let meant = rows.iter().filter(|(row, labels)| is_meant(row, labels));
            let mut expected: Vec<_> =
                meant.map(|(row, _)| SessionPlace { at: row.created_at, key: row.key.clone() }).collect();
            expected.sort();
            expected.reverse();
            prop_assert_eq!(&entries.list(&wanted, None), &expected);
            if let Some(after) = expected.get(after) {
                let rest: Vec<_> = expected.iter().filter(|place| *place < after).cloned().collect();
                prop_assert_eq!(entries.list(&wanted, Some(after)), rest);
            }
        }
    }

    #[test]
    fn the_shortest_list_bounds_how_often_they_are_asked() {
        let mut entries = Entries::default();
        for nth in 0..10_000 {
            // All sessions have the first label, and few have the last.
            let mut labels: Labels =
                [("agent", "a"), ("half", if nth < 5_000 { "old" } else { "new" })].into_iter().collect();
            if nth % 2_000 == 7 {
                labels.0.insert("user".into(), "kim".into());
            }
            entries.put(&session("t", nth), &labels);
        }
        let of = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Labels>();
        assert_eq!(entries.list(&of(&[("agent", "a"), ("user", "kim")]), None).len(), 5);
        assert!(entries.1.get() < 20, "{}", entries.1.get());
        assert_eq!(entries.list(&of(&[("agent", "a"), ("half", "old"), ("user", "kim")]), None).len(), 3);
        assert!(entries.1.get() < 30, "{}", entries.1.get());
        assert_eq!(entries.list(&of(&[("half", "new"), ("none", "")]), None), []);
        assert!(entries.1.get() < 3, "{}", entries.1.get());
    }
}
