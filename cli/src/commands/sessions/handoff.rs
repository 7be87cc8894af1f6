//! `sessions handoff`.

use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::machine::StopCause;
use holdover_core::message::Message;
use holdover_core::step::RunOutcome;
use holdover_runtime_local::{HandOff, outcome_of};
use serde_json::json;

use crate::args::Handoff;
use crate::commands::run::left_to_workers;
use crate::exit::{Exit, Failure};
use crate::follow::{Following, follow};
use crate::front::Front;
use crate::input::text_of;
use crate::owed::check_new_name;

/// Begins a session that works on a goal, with what of another one matters for it, and runs it here.
pub(super) async fn handoff(mut front: Front, args: &Handoff) -> Result<Exit, Failure> {
    let source = front.session(&args.session).await?;
    front.can_run_with(&args.drive, &source)?;
    let mut how = HandOff::for_goal(text_of(&args.goal)?).once(args.key.clone());
    if args.draft {
        how = how.draft();
    }
    if let Some(at) = args.at {
        how = how.at(at);
    }
    if let Some(to) = &args.to {
        check_new_name(to)?;
        how = how.to(to.clone());
    }
    for (name, value) in &args.label {
        how = how.label(name, value);
    }
    let key = front.runtime.hand_off(&source.key, how).await?.key;
    let messages = front.runtime.messages(&key).await?;
    let goal = messages.iter().rev().find(|entry| matches!(entry.message, Message::User(_)));
    let goal = goal.map(|entry| entry.seq);
    front.out.passing(front.out.dim(&format!("session {}: handed over from {}", key.id, args.session)));
    front.out.object(&json!({ "session": key.id, "handed_over_from": args.session, "goal": goal }));
    if args.detach {
        left_to_workers(&front, &key, "accepted");
        front.close().await;
        return Ok(Exit::Completed);
    }
    let session = front.session(&key.id).await?;
    front.can_run(&session, "it is made")?;
    let runtime = front.runtime.clone();
    let followed = follow(&mut front, Following::since(&session), runtime.wait(&key)).await;
    let exit = match followed {
        Ok(Exit::Stopped) if is_ready(&front, &key).await? => {
            say_what_next(&front, &key, goal);
            Ok(Exit::Completed)
        }
        other => other,
    };
    front.close().await;
    exit
}

/// Whether it waits as a draft that is prepared.
async fn is_ready(front: &Front, key: &SessionKey) -> Result<bool, Failure> {
    let outcome = outcome_of(&front.session(&key.id).await?, front.runtime.now())?;
    Ok(matches!(outcome, Some(RunOutcome::Ended(ending)) if ending.cause == StopCause::HandedOff))
}

/// What there is to do with a draft.
fn say_what_next(front: &Front, key: &SessionKey, goal: Option<MessageSeq>) {
    let id = &key.id;
    front.out.passing(format!("  holdover resume {id}"));
    if let Some(goal) = goal {
        front.out.passing(format!("  holdover send {id} --instead-of {goal} \"…\""));
    }
}
