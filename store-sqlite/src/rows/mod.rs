//! Rows as the contract knows them, read from and written to tables.

mod append;
mod checkpoint;
mod event;
mod extras;
mod page;
mod session;
mod tombstone;

pub(crate) use append::{
    Single, append_deltas, append_items, append_labels, append_marks, append_messages, append_pending,
    append_run, append_staged, put_payload,
};
pub(crate) use checkpoint::{append_checkpoint, checkpoint, read_checkpoint};
pub(crate) use event::{append_events, read_events};
pub(crate) use extras::{
    Extras, KnownItems, known_items, read_definition, read_inbox, read_labels, read_opened, read_pending_ids,
    read_staged, read_staged_of, read_state,
};
pub(crate) use page::{fit, one_too_many};
pub(crate) use session::{find, find_life, find_sid, insert, read_by_sid, save};
pub(crate) use tombstone::{clear_tombstones, set_tombstone, tombstone_names};

use crate::error::Fault;

/// The row id of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sid(pub(crate) i64);

/// A list of bound values as one JSON text, for `json_each`: one constant statement serves any number.
pub(crate) fn json_list<T: serde::Serialize>(values: impl IntoIterator<Item = T>) -> Result<String, Fault> {
    let values: Vec<T> = values.into_iter().collect();
    serde_json::to_string(&values).map_err(|error| Fault::Invalid(error.to_string()))
}
