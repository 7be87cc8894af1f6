//! Output for programs: one JSON object on each line.

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{MessageSeq, SessionId};
use holdover_core::machine::Glance;
use holdover_core::message::Message;
use holdover_core::store::{PendingCall, PendingKind, RunRecord, SessionSummary};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{
    Answered, DeltaEntry, EventEntry, MessageEntry, Move, Response, RunReport, agent_label,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::owed::{By, Debt};

/// An event with its place; with the message, if it announces one.
pub(crate) fn event(entry: &EventEntry, message: Option<&Message>) -> Value {
    let mut object = Map::new();
    object.insert("seq".into(), json!(entry.seq));
    object.insert("cursor".into(), json!(entry.cursor));
    object.insert("at".into(), json!(entry.at));
    object.insert("event".into(), value(&entry.event));
    if let Some(message) = message {
        object.insert("message".into(), value(message));
    }
    Value::Object(object)
}

/// A piece of an answer with its place.
pub(crate) fn delta(entry: &DeltaEntry) -> Value {
    json!({
        "cursor": entry.cursor, "stream": entry.stream, "place": entry.place, "delta": value(&entry.delta),
    })
}

/// A message with its place.
pub(crate) fn message(entry: &MessageEntry) -> Value {
    place(entry.seq, entry.at, &entry.message)
}

fn place(seq: MessageSeq, at: Timestamp, message: &Message) -> Value {
    json!({ "seq": seq, "at": at, "message": value(message) })
}

/// The last line of a command that drives a session: the state of the session, null if it was left, and the
/// result of its turn, if the turn has ended. `duplicate`: the same request had been made before.
pub(crate) fn last(
    session: &SessionId,
    outcome: Value,
    response: Option<&Response>,
    duplicate: bool,
) -> Value {
    let mut object = Map::new();
    object.insert("session".into(), json!(session));
    object.insert("outcome".into(), outcome);
    if let Some(response) = response {
        object.insert("response".into(), value(response));
    }
    if duplicate {
        object.insert("duplicate".into(), json!(true));
    }
    Value::Object(object)
}

/// The state of a session, with the `output` of its turn, if the turn had to return one.
pub(crate) fn outcome(outcome: &RunOutcome, output: Option<&Value>, debts: &[Debt]) -> Value {
    let mut object = Map::new();
    object.insert("kind".into(), json!(outcome.kind().as_str()));
    match outcome {
        RunOutcome::Ended(ending) => {
            object.insert("reason".into(), json!(ending.reason.as_str()));
            if let Some(error) = &ending.error {
                object.insert("error".into(), value(error));
            }
            if let Some(output) = output {
                object.insert("output".into(), output.clone());
            }
        }
        RunOutcome::Suspended(suspension) => {
            object.insert("until".into(), json!(suspension.until));
            object.insert("owed".into(), debts.iter().map(debt).collect());
        }
        RunOutcome::BackingOff { until, error } => {
            object.insert("until".into(), json!(until));
            object.insert("error".into(), value(error));
        }
        RunOutcome::Released | RunOutcome::Lost => {}
    }
    Value::Object(object)
}

/// A debt, with the command that answers it.
pub(crate) fn debt(debt: &Debt) -> Value {
    let arguments =
        debt.arguments.as_ref().map(|text| serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
    let mut object = Map::new();
    object.insert("call".into(), json!(debt.call));
    object.insert("tool".into(), json!(debt.tool));
    object.insert("kind".into(), json!(debt.by.as_str()));
    object.insert("arguments".into(), json!(arguments));
    object.insert("prompt".into(), json!(debt.prompt));
    object.insert("deadline".into(), json!(debt.until));
    match &debt.by {
        By::Answer(PendingKind::Approval) => {
            object.insert("answer".into(), json!(debt.in_json("approve")));
            object.insert("deny".into(), json!(debt.in_json("deny")));
        }
        By::Answer(PendingKind::ClientTool) => {
            object.insert("answer".into(), json!(debt.in_json("answer")));
        }
        By::Answer(PendingKind::Child | PendingKind::Other(_)) | By::Time => {}
    }
    Value::Object(object)
}

/// A pending call in a list, with its debt.
pub(crate) fn pending(pending: &PendingCall, owed: &Debt, answered: Option<&Answered>) -> Value {
    let mut object = debt(owed);
    if let Value::Object(fields) = &mut object {
        fields.insert("session".into(), json!(pending.key.id));
        fields.insert("pending".into(), json!(pending.id));
        fields.insert("opened_at".into(), json!(pending.opened_at));
        fields.insert("answered".into(), json!(answered.is_some()));
        if let Some(answered) = answered {
            fields.insert("answered_by".into(), json!(answered.by));
            fields.insert("answered_at".into(), json!(answered.at));
        }
        if let Some(deciders) = &owed.deciders {
            fields.insert("deciders".into(), json!(deciders));
        }
    }
    object
}

/// A run in a list.
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

/// A move of a session's machine, with the event that holds it.
pub(crate) fn history(of: &Move) -> Value {
    value(of)
}

/// A short view of a session, with the inputs that its machine takes now.
pub(crate) fn glance(of: &Glance) -> Value {
    let mut shown = value(of);
    if let Value::Object(fields) = &mut shown {
        fields.insert("takes".into(), of.takes().iter().map(|input| json!(input.as_str())).collect());
    }
    shown
}

/// A session in a list.
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
    // Core's types have no keys but text, so this does not fail.
    serde_json::to_value(of).unwrap_or(Value::Null)
}
