//! Output for programs: one JSON object on each line.

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{InboxSeq, MessageSeq, SessionId};
use holdover_core::machine::Glance;
use holdover_core::message::Message;
use holdover_core::store::{PendingCall, PendingKind, RunRecord, SessionSummary, StreamId};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{
    Answered, DeltaEntry, EventEntry, MessageEntry, Move, Response, RunReport, TreeShown, agent_label,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::owed::{By, Debt};

/// Returns an event with its position, and with the message that it announces, if any.
pub(crate) fn event(entry: &EventEntry, message: Option<&Message>) -> Value {
    let mut object = json!({
        "seq": entry.seq, "cursor": entry.cursor, "at": entry.at, "event": value(&entry.event),
    });
    if let Some(message) = message {
        object["message"] = value(message);
    }
    object
}

/// Returns an event of a tree with its position. An event of a child also names the child, its parent, and the call
/// that began it. The cursor is that of the tree.
pub(crate) fn tree_event(item: &TreeShown, entry: &EventEntry, message: Option<&Message>) -> Value {
    of_member(item, event(entry, message))
}

/// Returns a delta of a session in a tree, with its position. A delta of a child also names the child.
pub(crate) fn tree_delta(item: &TreeShown, entry: &DeltaEntry) -> Value {
    of_member(item, delta(entry))
}

/// Returns the notice that a stream of deltas in a tree is void.
pub(crate) fn tree_dropped(item: &TreeShown, stream: StreamId) -> Value {
    of_member(item, json!({ "dropped": stream }))
}

fn of_member(item: &TreeShown, mut object: Value) -> Value {
    object["cursor"] = json!(item.cursor);
    if let Some(place) = &item.member.place {
        object["child"] = json!({
            "session": item.member.session, "agent": item.member.tool, "depth": item.member.depth,
            "parent": place.parent, "call": place.call, "index": place.index,
        });
    }
    object
}

/// Returns a delta with its position.
pub(crate) fn delta(entry: &DeltaEntry) -> Value {
    json!({
        "cursor": entry.cursor, "stream": entry.stream, "place": entry.place, "delta": value(&entry.delta),
    })
}

/// Returns a message with its position.
pub(crate) fn message(entry: &MessageEntry) -> Value {
    place(entry.seq, entry.at, &entry.message)
}

fn place(seq: MessageSeq, at: Timestamp, message: &Message) -> Value {
    json!({ "seq": seq, "at": at, "message": value(message) })
}

/// Returns the last line of a command that drives a session: the state of the session, or null if it was left, and the
/// result of its turn, if the turn has ended. Names the message that was delivered, and says if the same request was
/// made before.
pub(crate) fn last(
    session: &SessionId,
    outcome: Value,
    response: Option<&Response>,
    (duplicate, item): (bool, Option<InboxSeq>),
) -> Value {
    let mut object = json!({ "session": session, "outcome": outcome });
    if let Some(item) = item {
        object["item"] = json!(item);
    }
    if let Some(response) = response {
        object["response"] = value(response);
    }
    if duplicate {
        object["duplicate"] = json!(true);
    }
    object
}

/// Returns the state of a session, with the `output` of its turn, if the turn had to return one.
pub(crate) fn outcome(outcome: &RunOutcome, output: Option<&Value>, debts: &[Debt]) -> Value {
    let mut object = json!({ "kind": outcome.kind().as_str() });
    match outcome {
        RunOutcome::Ended(ending) => {
            object["reason"] = json!(ending.reason.as_str());
            if let Some(error) = &ending.error {
                object["error"] = value(error);
            }
            if let Some(output) = output {
                object["output"] = output.clone();
            }
        }
        RunOutcome::Suspended(suspension) => {
            object["until"] = json!(suspension.until);
            object["owed"] = debts.iter().map(debt).collect();
        }
        RunOutcome::BackingOff { until, error } => {
            object["until"] = json!(until);
            object["error"] = value(error);
        }
        RunOutcome::Released | RunOutcome::Lost => {}
    }
    object
}

/// Returns a debt, with the commands that answer it, if there are any.
pub(crate) fn debt(debt: &Debt) -> Value {
    let arguments =
        debt.arguments.as_ref().map(|text| serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
    let mut object = json!({
        "session": debt.session, "call": debt.call, "tool": debt.tool, "kind": debt.by.as_str(), "arguments": arguments,
        "prompt": debt.prompt, "deadline": debt.until,
    });
    match &debt.by {
        By::Answer(PendingKind::Approval) => {
            object["answer"] = json!(debt.in_json("approve"));
            object["deny"] = json!(debt.in_json("deny"));
        }
        By::Answer(PendingKind::ClientTool) => object["answer"] = json!(debt.in_json("answer")),
        By::Answer(PendingKind::InDoubt) => {
            object["done"] = json!(debt.in_json("done"));
            object["not_done"] = json!(debt.in_json("not done"));
        }
        By::Answer(PendingKind::DeadLetter) => object["answer"] = json!(debt.in_json("replay")),
        By::Answer(PendingKind::Child | PendingKind::Other(_)) | By::Time => {}
        By::Signal(name) => {
            object["signal"] = json!(name);
            object["answer"] = json!(debt.in_json("signal"));
        }
    }
    object
}

/// Returns a pending call for a list, with its debt.
pub(crate) fn pending(pending: &PendingCall, owed: &Debt, answered: Option<&Answered>) -> Value {
    let mut object = debt(owed);
    object["pending"] = json!(pending.id);
    object["opened_at"] = json!(pending.opened_at);
    object["answered"] = json!(answered.is_some());
    if let Some(answered) = answered {
        object["answered_by"] = json!(answered.by);
        object["answered_at"] = json!(answered.at);
    }
    if let Some(deciders) = &owed.deciders {
        object["deciders"] = json!(deciders);
    }
    object
}

/// Returns a run for a list.
pub(crate) fn run(run: &RunRecord, report: &RunReport) -> Value {
    json!({
        "run": run.epoch,
        "kind": report.kind.as_str(),
        "worker": run.worker,
        "found": run.found,
        "parent": run.parent,
        "started_at": run.started_at,
        "ended_at": run.end.as_ref().map(|end| end.at),
        "outcome": run.end.as_ref().map(|end| end.outcome.as_str()),
        "usage": report.usage,
        "usage_is_whole": report.is_whole,
    })
}

/// Returns a move of a session's machine, with the event that holds it.
pub(crate) fn history(of: &Move) -> Value {
    value(of)
}

/// Returns a short view of a session, with the inputs that its machine accepts now.
pub(crate) fn glance(of: &Glance) -> Value {
    let mut shown = value(of);
    if let Value::Object(fields) = &mut shown {
        fields.insert("takes".into(), of.takes().iter().map(|input| json!(input.as_str())).collect());
    }
    shown
}

/// Returns a session for a list.
pub(crate) fn session(summary: &SessionSummary) -> Value {
    json!({
        "session": summary.key.id,
        "status": summary.status,
        "agent": agent_label(&summary.queue, &summary.labels),
        "queue": summary.queue,
        "labels": summary.labels,
        "runs": summary.epoch,
        "messages": summary.last_message,
        "unread": summary.unread,
        "alarm": summary.alarm,
        "created_at": summary.created_at,
        "updated_at": summary.updated_at,
    })
}

fn value<T: Serialize>(of: &T) -> Value {
    // All maps in core's types have text keys, so this does not fail.
    serde_json::to_value(of).unwrap_or(Value::Null)
}
