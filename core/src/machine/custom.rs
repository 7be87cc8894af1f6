//! Merges the changes that the calls of a step make to the custom state: selects and orders them, and finds how to
//! undo them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::{Batch, Call, CallState};
use crate::words::custom::{CustomState, STATE_DEPTH_MAX, StateChange, StateRules, Undo};
use crate::words::event::Event;
use crate::words::ids::{CallId, MessageSeq};
use crate::words::message::Notice;

/// The result of merging the changes of a step's calls into the custom state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The merged state.
    pub state: CustomState,
    /// The changes that undo the step, in the order in which they are applied.
    pub undo: Vec<Undo>,
    /// The keys that parallel calls changed in a way that depends on the order.
    pub conflicts: Vec<StateConflict>,
}

/// A conflict: parallel calls changed the same key, and the result depends on their order. The last of them won.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateConflict {
    /// The key.
    pub key: String,
    /// The calls, in call order.
    pub calls: Vec<CallId>,
}

impl StateConflict {
    /// Returns the conflict as an event.
    pub(crate) fn to_event(&self) -> Event {
        Event::StateConflict { key: self.key.clone(), calls: self.calls.clone() }
    }
}

/// Applies the changes of the calls of `batch` that succeeded to a copy of `state`, in call order. Returns `None` if
/// no such call has changes.
pub fn merge(state: &CustomState, batch: &Batch) -> Option<Merged> {
    let changing = |call: &Call| call.state == CallState::Done && !call.changes.is_empty();
    if !batch.calls.iter().any(changing) {
        return None;
    }
    let (mut state, mut undo) = (state.clone(), Vec::new());
    for change in batch.calls.iter().filter(|call| changing(call)).flat_map(|call| &call.changes) {
        // A change that cannot be applied was refused when its call returned.
        undo.extend(state.apply(change).ok().flatten());
    }
    undo.reverse();
    Some(Merged { state, undo, conflicts: conflicts(batch, changing) })
}

fn conflicts(batch: &Batch, changing: impl Fn(&Call) -> bool) -> Vec<StateConflict> {
    let groups = batch.groups();
    let mut by_key: BTreeMap<(usize, &str), Vec<&Call>> = BTreeMap::new();
    for (call, group) in batch.calls.iter().zip(groups).filter(|(call, _)| changing(call)) {
        let keys: BTreeSet<&str> = call.changes.iter().map(StateChange::key).collect();
        for key in keys {
            by_key.entry((group, key)).or_default().push(call);
        }
    }
    let clash = |(_, key): &(usize, &str), calls: &[&Call]| {
        let of_key = |call: &Call| -> Vec<StateChange> {
            call.changes.iter().filter(|change| change.key() == *key).cloned().collect()
        };
        let appends = |change: &StateChange| matches!(change, StateChange::Append { .. });
        let changes: Vec<Vec<StateChange>> = calls.iter().map(|call| of_key(call)).collect();
        let all_append = changes.iter().flatten().all(appends);
        let all_same = changes.iter().all(|of| *of == changes[0]) && !changes.iter().flatten().any(appends);
        calls.len() > 1 && !all_append && !all_same
    };
    let clashing = by_key.into_iter().filter(|(at, calls)| clash(at, calls));
    clashing
        .map(|((_, key), calls)| StateConflict {
            key: key.to_owned(),
            calls: calls.iter().map(|call| call.id.clone()).collect(),
        })
        .collect()
}

/// Returns the reason why `changes` of call `id` are refused. They are applied in call order, together with the
/// changes of the other calls of the step that succeeded. Returns `None` if all can be applied and the state stays
/// within `rules`.
pub fn refusal(
    state: &CustomState,
    batch: &Batch,
    id: &CallId,
    changes: &[StateChange],
    rules: &StateRules,
) -> Option<String> {
    if changes.iter().filter_map(value_of).any(|value| depth(value) > STATE_DEPTH_MAX) {
        return Some(format!("a value is nested deeper than {STATE_DEPTH_MAX} levels"));
    }
    let most = rules.bytes_max;
    let bytes = bytes_of(changes);
    if bytes > most {
        return Some(format!("its changes have {bytes} bytes, at most {most} are allowed"));
    }
    let mut after = state.clone();
    for call in &batch.calls {
        let of_call = match call.id == *id {
            true => changes,
            false if call.state == CallState::Done => call.changes.as_slice(),
            false => &[],
        };
        for change in of_call {
            if let Err(why) = after.apply(change) {
                return Some(why.to_string());
            }
        }
    }
    let bytes = bytes_of(&after);
    if bytes > most {
        return Some(format!("the state would have {bytes} bytes, at most {most} are allowed"));
    }
    rules.fits(&after.to_value()).err().map(|why| format!("the state would not fit its schema: {why}"))
}

fn value_of(change: &StateChange) -> Option<&Value> {
    match change {
        StateChange::Set { value, .. } | StateChange::Append { value, .. } => Some(value),
        StateChange::Delete { .. } => None,
    }
}

/// Returns the number of lists and objects around the innermost value.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(of) => 1 + of.iter().map(depth).max().unwrap_or_default(),
        Value::Object(of) => 1 + of.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

pub(crate) fn bytes_of(value: &(impl Serialize + ?Sized)) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

/// Returns the changes that restore the state as of message `to`. `notices` are the notices of the session, newest
/// first; those after `to` are used.
pub(crate) fn way_back<'a>(
    to: MessageSeq,
    notices: impl Iterator<Item = (MessageSeq, &'a Notice)>,
) -> Vec<Undo> {
    standing(to, notices).flat_map(|notice| notice.state.iter().cloned()).collect()
}

/// Returns the notices after message `to` that were not taken back before. `notices` are those of the session, newest
/// first.
pub(crate) fn standing<'a>(
    to: MessageSeq,
    notices: impl Iterator<Item = (MessageSeq, &'a Notice)>,
) -> impl Iterator<Item = &'a Notice> {
    let mut from = MessageSeq(u64::MAX);
    notices.filter(move |(place, _)| *place > to).filter_map(move |(place, notice)| {
        if place > from {
            return None;
        }
        from = notice.rewound.unwrap_or(from);
        Some(notice)
    })
}

/// Returns the notice of a step's changes, for followers of the session and for undoing the changes.
pub(crate) fn notice(merged: &Merged) -> Notice {
    let keys: BTreeSet<&str> = merged.undo.iter().map(Undo::key).collect();
    let mut words = format!("custom state changed: {}", keys.into_iter().collect::<Vec<_>>().join(", "));
    for StateConflict { key, calls } in &merged.conflicts {
        let calls = calls.iter().map(CallId::as_str).collect::<Vec<_>>().join(", ");
        words.push_str(&format!("; {calls} changed {key} side by side, and the last of them won"));
    }
    Notice { state: merged.undo.clone(), ..Notice::new(words) }
}
