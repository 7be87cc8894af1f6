//! The names of the indexes, and the entries of sessions and pending calls in them.

use holdover_store::Labels;
use holdover_store::ids::{Incarnation, PendingId, SessionKey, TenantId};
use holdover_store::rows::{DueGroup, DuePlace, Slot};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;

use crate::place;

/// Returns the name of the index of a tenant's sessions by label. A rebuild adds the sessions of earlier formats.
pub(crate) fn labels_index(tenant: &TenantId) -> String {
    format!("labels:{tenant}")
}

/// Returns the members of a session in the index by label.
pub(crate) fn label_members(row: &SessionRow, labels: &Labels) -> Vec<Vec<u8>> {
    let member =
        |(name, value): (&String, &String)| place::of_label(name, value, row.created_at, &row.key.id);
    labels.0.iter().map(member).collect()
}

/// Returns the name of the index of a tenant's pending calls.
pub(crate) fn pending_index(tenant: &TenantId) -> String {
    format!("pending:{tenant}")
}

/// Returns the name of the index of a tenant's pending calls by kind. A rebuild adds the calls of earlier formats.
pub(crate) fn kinds_index(tenant: &TenantId) -> String {
    format!("kinds:{tenant}")
}

/// Returns the index entries of an open pending call with this deadline and kind.
pub(crate) fn pending_entries(
    key: &SessionKey,
    id: &PendingId,
    deadline: Option<Timestamp>,
    kind: &str,
) -> [(String, Vec<u8>); 2] {
    let place = place::pending_at(deadline, &key.id, id);
    let of_kind = place::of_kind(kind, &place);
    [(pending_index(&key.tenant), place), (kinds_index(&key.tenant), of_kind)]
}

/// Returns the index entries of a slot. Each is the name of an index and a member.
pub(crate) fn entries(slot: Option<&Slot>) -> Vec<(String, Vec<u8>)> {
    let Some(slot) = slot else { return Vec::new() };
    let Some(row) = &slot.row else {
        return slot
            .lives
            .last()
            .map(|last| ("dead".into(), place::of_all(last.at, &last.key)))
            .into_iter()
            .collect();
    };
    let mut entries = vec![
        (format!("sessions:{}", row.key.tenant), place::of_tenant(row.created_at, &row.key.id)),
        life_entry(&row.key, row.incarnation, row.created_at),
    ];
    if let Some(at) = row.alarm {
        entries.extend(due_entries(&DueGroup::of(row), &DuePlace::new(at, &row.key)));
    }
    if row.quiet() {
        entries.push(("resting".into(), place::of_all(row.updated_at, &row.key)));
    }
    entries
}

/// Returns the entry of a session in the index by incarnation.
pub(crate) fn life_entry(key: &SessionKey, life: Incarnation, created: Timestamp) -> (String, Vec<u8>) {
    (lives_index(&key.tenant), place::of_life(life, created, &key.id))
}

/// Returns the name of the index of a tenant's sessions by incarnation. A rebuild adds those of format 1 without alarm.
pub(crate) fn lives_index(tenant: &TenantId) -> String {
    format!("lives:{tenant}")
}

/// Returns the index entries of a session with an alarm, at a place of a group.
pub(crate) fn due_entries(group: &DueGroup, place: &DuePlace) -> [(String, Vec<u8>); 2] {
    [("due".into(), place::of_due(group, place)), ("turns".into(), place::of_turn(group, place))]
}
