//! `interrupt` and `abort`: stop a session from any process, without its agent.

use std::time::{Duration, Instant};

use holdover_core::engine::RunOutcome;
use holdover_core::machine::Ending;
use holdover_core::store::{InterruptKind, InterruptOutcome, SessionStatus};
use holdover_runtime_local::outcome_of;
use serde_json::{Value, json};

use crate::args::{Common, Interrupt, Stop};
use crate::exit::{Exit, Failure};
use crate::follow::{Following, report};
use crate::front::Front;
use crate::print::{in_time, instant, note};
use crate::store::IfMissing;

/// The interval between two checks of a session that another process holds.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The time after which the command says why it is still waiting. A living run usually releases the session sooner,
/// even if a call uses the whole grace period.
const SILENCE: Duration = Duration::from_secs(5);

/// Stops the turn of a session, or one call of it.
pub(crate) async fn interrupt(common: &Common, args: &Interrupt) -> Result<Exit, Failure> {
    let Some(call) = &args.call else { return stop(common, &args.stop, InterruptKind::Soft).await };
    let (front, id) = (Front::open(common, None, IfMissing::Refuse).await?, &args.stop.session);
    front.session(id).await?;
    front.runtime.stop_call(&front.key(id), call).await?;
    front.out.line(format!("session {id}: call {call} is asked to stop"));
    front.out.object(&json!({ "session": id, "call": call, "stopping": true }));
    front.close().await;
    Ok(Exit::Completed)
}

/// Stops the turn of a session, or the session for ever, and waits until that has happened unless `--detach` is given.
pub(crate) async fn stop(common: &Common, args: &Stop, kind: InterruptKind) -> Result<Exit, Failure> {
    let front = Front::open(common, None, IfMissing::Refuse).await?;
    let key = front.session(&args.session).await?.key;
    let began = Instant::now();
    let (mut asked, mut told) = (false, false);
    loop {
        // Repeating the request is harmless, and ends the session here once no run holds it.
        let answer = match kind {
            InterruptKind::Soft => front.runtime.interrupt(&key, &args.reason).await?,
            InterruptKind::Abort => front.runtime.abort(&key, &args.reason).await?,
        };
        match answer {
            InterruptOutcome::NotFound => return Err(Failure::unknown(&args.session)),
            InterruptOutcome::AtRest if !asked => {
                front.out.line(format!("session {}: it is at rest, there is nothing to stop", args.session));
                break;
            }
            InterruptOutcome::AtRest | InterruptOutcome::Over | InterruptOutcome::Aborted => break,
            InterruptOutcome::Requested | InterruptOutcome::AlreadyWaiting { .. } => {}
        }
        asked = true;
        let session = front.session(&args.session).await?;
        if session.interrupt.is_none() && session.status != SessionStatus::Active {
            break;
        }
        if args.detach {
            front.out.line(format!("session {}: asked to stop", args.session));
            front.out.object(&json!({ "session": args.session, "outcome": Value::Null }));
            front.close().await;
            return Ok(Exit::Completed);
        }
        if let Some(lease) = session.lease.filter(|_| !told && began.elapsed() >= SILENCE) {
            told = true;
            let when = in_time(front.runtime.now(), lease.ends);
            let until = instant(lease.ends);
            note(&format!(
                "{} holds the session until {until} ({when}) and does not let go; waiting",
                lease.worker
            ));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let session = front.session(&args.session).await?;
    let stands = outcome_of(&session, front.runtime.now())?;
    let outcome = match (session.status, stands) {
        // A session that is stopped before its first turn has no state with an outcome.
        (SessionStatus::Aborted, _) => stopped(InterruptKind::Abort),
        (SessionStatus::Interrupted, _) => stopped(InterruptKind::Soft),
        (_, Some(outcome)) => outcome,
        (_, None) => RunOutcome::Released,
    };
    let stands = report(
        &front,
        Following { key: &session.key, known: None, duplicate: false, item: None },
        &outcome,
        None,
    )
    .await?;
    front.close().await;
    // If the turn ended before the stop, there is nothing left to stop, and the command succeeds.
    Ok(if stands == Exit::Stopped { stands } else { Exit::Completed })
}

fn stopped(kind: InterruptKind) -> RunOutcome {
    RunOutcome::Ended(Ending::stopped(kind))
}
