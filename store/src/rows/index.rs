//! Indexes of sessions and pending calls: places in an index, and index entries for backends without indexes
//! of their own.

use std::ops::Range;

use super::along::{alarm_entry, turn_entry};
use super::due::{DueGroup, DuePlace};
use super::labels::{label_entries, place_of_label};
use super::row::Row;
use super::write::Slot;
use crate::ids::{Incarnation, PendingId, SessionId, SessionKey, TenantId};
use crate::rules::SessionRow;
use crate::time::Timestamp;
use crate::{PendingCall, PendingKind, SessionSummary};

/// The length of an incarnation in an entry of [`Index::Lives`], in bytes.
const LIFE_BYTES: usize = 16;

/// The place of a session in an index by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionPlace {
    /// The instant by which the session is ordered in the index.
    pub at: Timestamp,
    /// The key of the session.
    pub key: SessionKey,
}

impl SessionPlace {
    /// Decodes the place from an entry of an index. Returns none if the entry is not valid, and for the indexes
    /// [`Index::Alarms`], [`Index::Turns`], [`Index::Pending`] and [`Index::PendingKinds`], whose entries hold other
    /// places.
    pub fn of_entry(index: Index, entry: &[u8]) -> Option<Self> {
        match index {
            Index::Sessions => Self::from_bytes(place_in(entry)?),
            Index::Lives => Self::from_bytes(place_in(entry)?.get(LIFE_BYTES..)?),
            Index::Labels => Self::from_bytes(place_of_label(place_in(entry)?)?),
            Index::Resting | Index::Dead => Self::from_bytes(entry),
            Index::Alarms | Index::Turns | Index::Pending | Index::PendingKinds => None,
        }
    }

    /// Returns the place of a session in a list of sessions. The list begins with the greatest place.
    pub fn listed(summary: &SessionSummary) -> Self {
        Self { at: summary.created_at, key: summary.key.clone() }
    }

    /// Returns the place of a session in [`Index::Resting`].
    pub fn changed(row: &SessionRow) -> Self {
        Self { at: row.updated_at, key: row.key.clone() }
    }

    /// Encodes the place as bytes, which have the same order as places.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = instant(self.at).to_vec();
        // Ids contain no control character, so NUL separates them.
        bytes.extend_from_slice(self.key.tenant.as_str().as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.key.id.as_str().as_bytes());
        bytes
    }

    /// Decodes a place from its bytes. Returns none if the bytes are not valid.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, ids) = bytes.split_first_chunk()?;
        let (tenant, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        let key = SessionKey::new(tenant.parse().ok()?, id.parse().ok()?);
        Some(Self { at: instant_of(*at), key })
    }
}

/// The place of an open pending call in the list of its tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PendingPlace {
    /// True if the call has no deadline. Such calls come last.
    pub endless: bool,
    /// The deadline of the call. If the call has none, the value has no meaning.
    pub deadline: Timestamp,
    /// The session of the call.
    pub session: SessionId,
    /// The id of the call.
    pub id: PendingId,
}

impl PendingPlace {
    /// Decodes the place from an entry of [`Index::Pending`] or [`Index::PendingKinds`]. Returns none if the entry is
    /// not valid, and for every other index.
    pub fn of_entry(index: Index, entry: &[u8]) -> Option<Self> {
        match index {
            Index::Pending => Self::from_bytes(place_in(entry)?),
            // The kind comes before the place.
            Index::PendingKinds => Self::from_bytes(place_in(place_in(entry)?)?),
            Index::Sessions
            | Index::Lives
            | Index::Labels
            | Index::Alarms
            | Index::Turns
            | Index::Resting
            | Index::Dead => None,
        }
    }

    /// Returns the place of a call.
    pub fn of(call: &PendingCall) -> Self {
        Self {
            endless: call.deadline.is_none(),
            deadline: call.deadline.unwrap_or_default(),
            session: call.key.id.clone(),
            id: call.id.clone(),
        }
    }

    /// Encodes the place as bytes, which have the same order as places.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.endless)];
        bytes.extend_from_slice(&instant(self.deadline));
        // Ids contain no control character, so NUL separates them.
        bytes.extend_from_slice(self.session.as_str().as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.id.as_str().as_bytes());
        bytes
    }

    /// Decodes a place from its bytes. Returns none if the bytes are not valid.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (endless, rest) = bytes.split_first()?;
        let (at, ids) = rest.split_first_chunk()?;
        let (session, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        Some(Self {
            endless: *endless != 0,
            deadline: instant_of(*at),
            session: session.parse().ok()?,
            id: id.parse().ok()?,
        })
    }
}

/// An index of sorted byte strings, for backends without indexes of their own.
///
/// A backend may store `index as u8`, so new variants must be added at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Index {
    /// Sessions by tenant, creation and id.
    Sessions = 1,
    /// Sessions that are [`quiet`](SessionRow::quiet), by their last change and key.
    Resting,
    /// Open pending calls by tenant, deadline, session and id.
    Pending,
    /// Keys that have only tombstones, by the deletion of their newest incarnation and the key.
    Dead,
    /// Sessions with an alarm, by [group](DueGroup), alarm and key.
    Alarms,
    /// Sessions with an alarm, by [group](DueGroup), tenant, alarm and id.
    Turns,
    /// Sessions by tenant, incarnation, creation and id.
    Lives,
    /// Sessions by tenant, label, creation and id: one entry for each label.
    Labels,
    /// Open pending calls by tenant, kind, deadline, session and id.
    PendingKinds,
}

/// Returns the index entries that depend on a session's row. When the row changes, remove the old entries and
/// add the new ones.
pub fn index_entries(row: &SessionRow) -> Vec<(Index, Vec<u8>)> {
    let listed = SessionPlace { at: row.created_at, key: row.key.clone() }.to_bytes();
    let life = [row.incarnation.0.as_bytes().as_slice(), &listed].concat();
    let mut entries = vec![
        (Index::Sessions, of_tenant(&row.key.tenant, &listed)),
        (Index::Lives, of_tenant(&row.key.tenant, &life)),
    ];
    if let Some(at) = row.alarm {
        let (group, place) = (DueGroup::of(row), DuePlace::new(at, &row.key));
        entries.push((Index::Alarms, alarm_entry(&group, &place)));
        entries.push((Index::Turns, turn_entry(&group, &place)));
    }
    if row.quiet() {
        entries.push((Index::Resting, SessionPlace::changed(row).to_bytes()));
    }
    entries
}

/// Returns true if two rows of one session have the same index entries.
pub(super) fn stand_alike(before: &SessionRow, after: &SessionRow) -> bool {
    /// Returns the values in a row's [`index_entries`], except its key.
    fn places(row: &SessionRow) -> impl PartialEq + '_ {
        let in_queue = row.interrupt.is_none().then_some((&row.queue, row.format));
        let due = row.alarm.map(|alarm| (alarm, in_queue));
        (row.incarnation, row.created_at, due, row.quiet().then_some(row.updated_at))
    }
    places(before) == places(after)
}

/// Returns the index entries of a slot: those of its row or, if it has no row, that of its newest tombstone.
pub fn slot_entries(slot: &Slot) -> Vec<(Index, Vec<u8>)> {
    match (&slot.row, slot.lives.last()) {
        (Some(row), _) => index_entries(row),
        (None, Some(last)) => {
            vec![(Index::Dead, SessionPlace { at: last.at, key: last.key.clone() }.to_bytes())]
        }
        (None, None) => Vec::new(),
    }
}

/// Returns the index entries of one of a session's rows, if its kind has any.
pub fn row_entries(session: &SessionRow, row: &Row) -> Vec<(Index, Vec<u8>)> {
    match row {
        Row::Pending { call, .. } => {
            vec![(Index::Pending, pending_entry(call)), (Index::PendingKinds, pending_kind_entry(call))]
        }
        Row::Labels(labels) => label_entries(session, labels),
        Row::Definition(_)
        | Row::State(_)
        | Row::Message(_)
        | Row::Events(_)
        | Row::Item { .. }
        | Row::Key { .. }
        | Row::Staged(_)
        | Row::Start(_)
        | Row::Opened(_)
        | Row::Run(_)
        | Row::Checkpoint(_)
        | Row::Delta(_) => Vec::new(),
    }
}

/// Returns the range of the entries after a place and before an instant, in [`Index::Resting`] and [`Index::Dead`].
pub fn time_range(after: Option<&SessionPlace>, before: Timestamp) -> Range<Vec<u8>> {
    let start = after.map_or_else(Vec::new, |place| behind(place.to_bytes()));
    let end = instant(before).to_vec();
    // A range that ends before it starts is empty.
    start.clone().min(end.clone())..end
}

/// Returns the range of a tenant's entries in [`Index::Sessions`] that come after a place in a list of sessions. The
/// list begins with the newest session, so walk the range backwards. The range ends before the place.
pub fn sessions_range(tenant: &TenantId, after: Option<&SessionPlace>) -> Range<Vec<u8>> {
    let Range { start, end } = tenant_range(tenant);
    let end = after.map_or(end, |place| of_tenant(tenant, &place.to_bytes()));
    start..end
}

/// Returns the range of the entries of one incarnation in [`Index::Lives`]. Walk the range backwards, as with
/// [`sessions_range`].
pub fn life_range(tenant: &TenantId, life: Incarnation, after: Option<&SessionPlace>) -> Range<Vec<u8>> {
    let of_life = |place: &[u8]| of_tenant(tenant, &[life.0.as_bytes().as_slice(), place].concat());
    // A place is an instant of eight bytes, then ids.
    let end = after.map_or_else(|| of_life(&[u8::MAX; 9]), |place| of_life(&place.to_bytes()));
    of_life(&[])..end
}

/// Returns the range of a tenant's entries in [`Index::Pending`] that come after a place.
pub fn pending_range(tenant: &TenantId, after: Option<&PendingPlace>) -> Range<Vec<u8>> {
    let Range { start, end } = tenant_range(tenant);
    let start = after.map_or(start, |place| behind(of_tenant(tenant, &place.to_bytes())));
    start..end
}

/// Returns the range of a tenant's entries of one kind in [`Index::PendingKinds`] that come after a place. Places have
/// the same order as in [`pending_range`].
pub fn pending_kind_range(
    tenant: &TenantId,
    kind: &PendingKind,
    after: Option<&PendingPlace>,
) -> Range<Vec<u8>> {
    let of_kind =
        |last, place: &[u8]| of_tenant(tenant, &[kind.as_str().as_bytes(), &[last], place].concat());
    let start = after.map_or_else(|| of_kind(0, &[]), |place| behind(of_kind(0, &place.to_bytes())));
    start..of_kind(1, &[])
}

fn tenant_range(tenant: &TenantId) -> Range<Vec<u8>> {
    let with = |last| [tenant.as_str().as_bytes(), &[last]].concat();
    with(0)..with(1)
}

/// Returns the smallest bytes after `entry`.
pub(super) fn behind(mut entry: Vec<u8>) -> Vec<u8> {
    entry.push(0);
    entry
}

/// Returns the entry of an open pending call in [`Index::Pending`].
pub fn pending_entry(call: &PendingCall) -> Vec<u8> {
    of_tenant(&call.key.tenant, &PendingPlace::of(call).to_bytes())
}

/// Returns the entry of an open pending call in [`Index::PendingKinds`].
fn pending_kind_entry(call: &PendingCall) -> Vec<u8> {
    // Names of kinds contain no control character, so NUL ends them.
    let place = PendingPlace::of(call).to_bytes();
    of_tenant(&call.key.tenant, &[call.kind.as_str().as_bytes(), &[0], &place].concat())
}

/// Returns the entry for `place` in an index that is sorted by tenant. Such an entry begins with the tenant's name.
pub(super) fn of_tenant(tenant: &TenantId, place: &[u8]) -> Vec<u8> {
    let mut bytes = tenant_range(tenant).start;
    bytes.extend_from_slice(place);
    bytes
}

/// Returns the bytes of an entry after its first name: the tenant.
fn place_in(entry: &[u8]) -> Option<&[u8]> {
    let end = entry.iter().position(|byte| *byte == 0)?;
    entry.get(end + 1..)
}

/// Encodes an instant as big-endian bytes with the sign bit inverted, so that the bytes have the order of
/// time.
pub(super) fn instant(at: Timestamp) -> [u8; 8] {
    (at.as_ms() ^ i64::MIN).to_be_bytes()
}

pub(super) fn instant_of(bytes: [u8; 8]) -> Timestamp {
    Timestamp::from_ms(i64::from_be_bytes(bytes) ^ i64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{InboxSeq, StateFormat};
    use crate::payload::Payload;
    use crate::{Interrupt, InterruptKind, Labels, NewSession, SessionStatus, Start};

    #[test]
    fn places_read_back_and_their_bytes_are_in_their_order() {
        let place = |ms, id: &str| SessionPlace {
            at: Timestamp::from_ms(ms),
            key: SessionKey::new("t".parse().unwrap(), id.parse().unwrap()),
        };
        let places =
            [place(i64::MIN, "a"), place(-1, "b"), place(0, "a"), place(0, "b"), place(i64::MAX, "a")];
        assert!(places.is_sorted());
        assert!(places.iter().map(SessionPlace::to_bytes).is_sorted());
        for one in places {
            assert_eq!(SessionPlace::from_bytes(&one.to_bytes()), Some(one));
        }
    }

    #[test]
    fn rows_stand_alike_where_they_have_the_same_entries() {
        let new = NewSession {
            key: SessionKey::new("t".parse().unwrap(), "s".parse().unwrap()),
            incarnation: Incarnation(uuid::Uuid::from_u128(1)),
            operation: "o".parse().unwrap(),
            queue: "q".parse().unwrap(),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: StateFormat(1),
            items: vec![],
            start: Start::WithItems,
        };
        let at = Timestamp::from_ms;
        let stop = Interrupt {
            id: "i".parse().unwrap(),
            kind: InterruptKind::Soft,
            reason: String::new(),
            at: at(0),
            incarnation: None,
        };
        let changes: [fn(&mut SessionRow, &Interrupt); 12] = [
            |_, _| {},
            |row, _| row.version = row.version.next(),
            |row, _| row.incarnation = Incarnation(uuid::Uuid::from_u128(2)),
            |row, _| row.created_at = Timestamp::from_ms(7),
            |row, _| row.alarm = Some(Timestamp::from_ms(7)),
            |row, _| row.queue = "r".parse().unwrap(),
            |row, _| row.format = StateFormat(2),
            |row, stop| row.interrupt = Some(stop.clone()),
            |row, _| row.updated_at = Timestamp::from_ms(7),
            |row, _| row.unread = 1,
            |row, _| row.status = SessionStatus::Suspended,
            |row, _| row.last_message.0 = 3,
        ];
        let mut rows = Vec::new();
        for first in &changes {
            for then in &changes {
                for alarm in [None, Some(at(5))] {
                    let mut row = SessionRow::create(&new, at(1));
                    row.alarm = alarm;
                    first(&mut row, &stop);
                    then(&mut row, &stop);
                    rows.push(row);
                }
            }
        }
        for before in &rows {
            for after in &rows {
                let same = index_entries(before) == index_entries(after);
                assert_eq!(stand_alike(before, after), same, "{before:?}\n{after:?}");
            }
        }
    }

    #[test]
    fn a_range_of_time_starts_behind_a_place_and_ends_before_an_instant() {
        let key = SessionKey::new("t".parse().unwrap(), "s".parse().unwrap());
        let place = |ms| SessionPlace { at: Timestamp::from_ms(ms), key: key.clone() };
        let range = time_range(Some(&place(1)), Timestamp::from_ms(3));
        let within = [0, 1, 2, 3].map(|ms| range.contains(&place(ms).to_bytes()));
        assert_eq!(within, [false, false, true, false]);
        assert!(time_range(None, Timestamp::from_ms(3)).contains(&place(i64::MIN).to_bytes()));
        let none = time_range(Some(&place(4)), Timestamp::from_ms(3));
        assert!(none.is_empty() && none.start <= none.end);
    }

    #[test]
    fn the_entries_of_a_tenant_lie_in_its_ranges_and_those_of_no_other_do() {
        let place = |tenant: &str, ms| SessionPlace {
            at: Timestamp::from_ms(ms),
            key: SessionKey::new(tenant.parse().unwrap(), "s".parse().unwrap()),
        };
        let entry = |place: &SessionPlace| of_tenant(&place.key.tenant, &place.to_bytes());
        let places = [place("s", 1), place("t", -1), place("t", 1), place("t", 2), place("tt", 1)];
        let within = |range: Range<Vec<u8>>| places.each_ref().map(|place| range.contains(&entry(place)));
        let t = &places[1].key.tenant;
        assert_eq!(within(sessions_range(t, None)), [false, true, true, true, false]);
        assert_eq!(within(sessions_range(t, Some(&places[2]))), [false, true, false, false, false]);
        for place in &places {
            assert_eq!(SessionPlace::of_entry(Index::Sessions, &entry(place)).as_ref(), Some(place));
            assert_eq!(SessionPlace::of_entry(Index::Resting, &place.to_bytes()).as_ref(), Some(place));
            let [one, other] = [1, 2].map(|life| Incarnation(uuid::Uuid::from_u128(life)));
            let of_life = [one.0.as_bytes().as_slice(), &place.to_bytes()].concat();
            let of_life = of_tenant(&place.key.tenant, &of_life);
            assert_eq!(SessionPlace::of_entry(Index::Lives, &of_life).as_ref(), Some(place));
            assert!(life_range(&place.key.tenant, one, None).contains(&of_life));
            assert!(!life_range(&place.key.tenant, other, None).contains(&of_life));
            assert!(!life_range(&place.key.tenant, one, Some(place)).contains(&of_life));
        }

        let pending = |id: &str| PendingPlace {
            endless: false,
            deadline: Timestamp::EPOCH,
            session: "s".parse().unwrap(),
            id: id.parse().unwrap(),
        };
        let places = ["a", "b", "c"].map(pending);
        let entry = |place: &PendingPlace| of_tenant(t, &place.to_bytes());
        let range = pending_range(t, Some(&places[1]));
        assert_eq!(places.each_ref().map(|place| range.contains(&entry(place))), [false, false, true]);
        assert!(pending_range(t, None).contains(&entry(&places[0])));
        assert_eq!(PendingPlace::of_entry(Index::Pending, &entry(&places[0])).as_ref(), Some(&places[0]));
    }

    #[test]
    fn the_entries_of_a_kind_lie_in_its_ranges_and_those_of_no_other_do() {
        let call = |tenant: &str, kind: &str, deadline: Option<i64>, id: &str| PendingCall {
            key: SessionKey::new(tenant.parse().unwrap(), "s".parse().unwrap()),
            incarnation: Incarnation(uuid::Uuid::from_u128(1)),
            id: id.parse().unwrap(),
            call: "call".parse().unwrap(),
            kind: PendingKind::from_wire(kind).unwrap(),
            needed: 1,
            answered: 0,
            last_answer: InboxSeq::default(),
            deadline: deadline.map(Timestamp::from_ms),
            opened_at: Timestamp::EPOCH,
            body: Payload::new("{}"),
        };
        let calls = [
            call("t", "approval", Some(-5), "p"),
            call("t", "approval", Some(5), "a"),
            call("t", "approval", Some(5), "b"),
            call("t", "approval", None, "a"),
            call("t", "approval-", Some(1), "p"),
            call("t", "approval2", Some(1), "p"),
            call("t", "approva", Some(1), "p"),
            call("t", "Approval", Some(1), "p"),
            call("tt", "approval", Some(1), "p"),
            call("s", "approval", None, "p"),
        ];
        let entries: Vec<_> = calls.iter().map(pending_kind_entry).collect();
        assert!(entries[..4].is_sorted());
        let (tenant, kind) = (&calls[0].key.tenant, PendingKind::Approval);
        let within = |after: Option<&PendingPlace>| {
            let range = pending_kind_range(tenant, &kind, after);
            entries.iter().map(|entry| range.contains(entry)).collect::<Vec<_>>()
        };
        assert_eq!(within(None), [[true; 4].as_slice(), &[false; 6]].concat());
        for (nth, call) in calls[..4].iter().enumerate() {
            let (gone, rest) = (vec![false; nth + 1], vec![true; 3 - nth]);
            assert_eq!(within(Some(&PendingPlace::of(call))), [gone, rest, vec![false; 6]].concat(), "{nth}");
        }
        for (call, entry) in calls.iter().zip(&entries) {
            assert_eq!(PendingPlace::of_entry(Index::PendingKinds, entry), Some(PendingPlace::of(call)));
            assert_eq!(SessionPlace::of_entry(Index::PendingKinds, entry), None);
        }
    }
}
