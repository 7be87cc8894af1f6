//! The commands `sessions checkpoints`, `sessions fork` and `sessions purge`.

use holdover_core::phrases;
use holdover_runtime_local::{CheckpointEntry, Retention};
use serde_json::json;

use crate::args::{Fork, One, Purge};
use crate::exit::Failure;
use crate::front::Front;
use crate::owed::check_new_name;
use crate::pages::each_of;
use crate::print::{counted, instant};

/// Lists the checkpoints of a session, newest first.
pub(super) async fn checkpoints(front: &Front, args: &One) -> Result<(), Failure> {
    let key = front.key(&args.session);
    let mut first = true;
    let show = |entry| {
        if std::mem::take(&mut first) {
            front.out.line(front.out.dim("CHECKPOINT  MADE                  TURN  STEP  MESSAGES  STATE"));
        }
        show(front, &entry);
    };
    each_of(async |page| front.runtime.checkpoints(&key, page).await, show).await?;
    if first {
        front.out.line(front.out.dim("no checkpoints yet: the first comes with the first step"));
    }
    Ok(())
}

fn show(front: &Front, entry: &CheckpointEntry) {
    let CheckpointEntry { checkpoint, machine, .. } = entry;
    let (id, messages) = (checkpoint.id.0, checkpoint.last_message.0);
    let (turn, step, state) = (machine.turn.number.0, machine.step.0, machine.state.kind().as_str());
    let at = instant(checkpoint.at);
    front.out.line(format!("{id:>10}  {at:<20}  {turn:>4}  {step:>4}  {messages:>8}  {state}"));
    front.out.object(&json!({
        "checkpoint": id, "at": checkpoint.at, "run": checkpoint.epoch, "turn": turn, "step": step,
        "messages": messages, "events": checkpoint.last_event, "state": state,
    }));
}

/// Creates a session from a checkpoint of another one.
pub(super) async fn fork(front: &Front, args: &Fork) -> Result<(), Failure> {
    let mut how = args.at.map_or_else(holdover_runtime_local::Fork::newest, holdover_runtime_local::Fork::at);
    if let Some(to) = &args.to {
        check_new_name(to)?;
        how = how.to(to.clone());
    }
    for (name, value) in &args.label {
        how = how.label(name, value);
    }
    let forked = front.runtime.fork(&front.key(&args.session), how).await?;
    let (id, status) = (&forked.key.id, forked.status);
    front.out.line(format!(
        "session {id}: forked from {} at checkpoint {}: {}",
        args.session,
        forked.at,
        phrases::status(status)
    ));
    let of = json!({ "session": args.session, "checkpoint": forked.at });
    front.out.object(&json!({ "session": id, "status": status, "forked_from": of }));
    Ok(())
}

/// Removes old sessions, or old checkpoints.
pub(super) async fn purge(front: &Front, args: &Purge) -> Result<(), Failure> {
    let old = args.unchanged_for;
    let retention =
        args.checkpoints.map_or_else(|| Retention::sessions(old), |keep| Retention::checkpoints(keep, old));
    let retention = retention.of_tenant(front.tenant().clone()).with_status(args.status.iter().copied());
    let removed = front.runtime.purge(&retention).await?;
    let line = match args.checkpoints {
        Some(_) => format!("{} removed", counted(removed.checkpoints, "checkpoint")),
        None => format!("{} removed", counted(removed.sessions, "session")),
    };
    front.out.line(line);
    front.out.object(&json!({ "sessions": removed.sessions, "checkpoints": removed.checkpoints }));
    Ok(())
}
