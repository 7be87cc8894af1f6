//! `settle`: settlements of calls that ended in doubt.

use holdover_core::message::Settlement;
use holdover_core::phrases;
use holdover_core::store::PendingKind;
use holdover_runtime_local::{Delivered, RuntimeError, is_due};
use serde_json::{Value, json};

use super::refused;
use super::which::{Asked, asked};
use crate::args::{Common, Settle};
use crate::commands::run::left_to_workers;
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::input::text_of;
use crate::store::IfMissing;

/// Settles a call that ended in doubt. If its session rests, lets a run take the settlement here, unless `--detach` is
/// given or the agent cannot run here. A session in the middle of a turn takes it by itself.
pub(crate) async fn settle(common: &Common, args: &Settle) -> Result<Exit, Failure> {
    let settlement = settlement(args)?;
    let front = Front::open(common, None, IfMissing::Refuse).await?;
    let which: Vec<String> = [&args.which].into_iter().chain(&args.call).cloned().collect();
    let mut found = asked(&front, &which, PendingKind::InDoubt).await?;
    let Some(one) = found.pop() else { return Ok(Exit::Completed) };
    let delivered = deliver(&front, &one, settlement).await?;
    let (id, call) = (&one.asker.id, &one.call);
    let object = |delivered| json!({ "session": id, "call": call, "pending": one.pending, "delivered": delivered, "outcome": Value::Null });
    match delivered {
        Delivered::Duplicate => {
            front.out.line(format!("session {id}: call {call} was settled so already; nothing was changed"));
            front.out.object(&object("duplicate"));
        }
        Delivered::Accepted if args.detach => left_to_workers(&front, &one.asker, "accepted").await?,
        Delivered::Accepted => {
            let session = front.session(id).await?;
            let rests = session.status.at_rest() && is_due(&session, front.runtime.now());
            if rests && front.can_run(&session, "it is settled").is_err() {
                left_to_workers(&front, &one.asker, "accepted").await?;
            } else {
                if rests {
                    front.runtime.wait(&one.asker).await?;
                }
                front.out.line(format!("session {id}: call {call} settled"));
                front.out.object(&object("accepted"));
            }
        }
    }
    front.close().await;
    Ok(Exit::Completed)
}

fn settlement(args: &Settle) -> Result<Settlement, Failure> {
    let mut settlement = match &args.done {
        Some(result) => Settlement::done(text_of(result)?),
        None => Settlement::not_done(),
    };
    settlement.by.clone_from(&args.by);
    settlement.reason.clone_from(&args.reason);
    Ok(settlement)
}

async fn deliver(front: &Front, asked: &Asked, settlement: Settlement) -> Result<Delivered, Failure> {
    let Some(pending) = &asked.pending else {
        return Err(refused(
            asked,
            &format!("does not wait for {}", phrases::pending(&PendingKind::InDoubt)),
        ));
    };
    match front.runtime.settle(&asked.asker, pending, settlement).await {
        Ok(delivered) => Ok(delivered),
        Err(RuntimeError::AlreadyAnswered { .. } | RuntimeError::NotPending { .. }) => {
            Err(refused(asked, "is not pending: it is settled already, or its session was aborted"))
        }
        Err(RuntimeError::OtherAnswer { found, asked: given, .. }) => Err(refused(
            asked,
            &format!("waits for {}, not for {}", phrases::pending(&found), phrases::pending(&given)),
        )),
        Err(error) => Err(error.into()),
    }
}
