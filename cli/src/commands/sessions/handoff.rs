//! `sessions handoff`: creates a session that works on a goal.

use futures::TryStreamExt;
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::machine::StopCause;
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Follow, HandOff, outcome_of};
use serde_json::json;

use crate::args::Handoff;
use crate::commands::run::{agent_of, instead_of, left_to_workers, wait_for_worker};
use crate::exit::{Exit, Failure};
use crate::follow::{Following, Known, follow};
use crate::front::Front;
use crate::input::text_of;
use crate::owed::check_new_name;

/// Creates a session that works on a goal, with an extract of another session, and runs it here or leaves it to a
/// worker.
pub(super) async fn handoff(mut front: Front, args: &Handoff) -> Result<Exit, Failure> {
    let source = front.session(&args.session).await?;
    let agent = match &args.agent {
        Some(file) => Some(agent_of(file, instead_of(&args.drive, args.root.clone())).await?),
        None => {
            front.can_run_with(&args.drive, &source)?;
            None
        }
    };
    let mut how = HandOff::for_goal(text_of(&args.goal)?).once(args.key.clone());
    if let Some(agent) = agent {
        how = how.by(agent);
    }
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
    let goal = goal_of(&front, &key).await?;
    front.out.passing(front.out.dim(&format!("session {}: handed over from {}", key.id, args.session)));
    front.out.object(&json!({ "session": key.id, "handed_over_from": args.session, "goal": goal }));
    if args.leave.detach {
        left_to_workers(&front, &key, "accepted").await?;
        front.close().await;
        return Ok(Exit::Completed);
    }
    let ended = match args.leave.wait {
        Some(at_most) => wait_for_worker(&front, &key, "accepted", at_most).await,
        None => {
            let session = front.session(&key.id).await?;
            front.can_run(&session, "it is made")?;
            let known = Known::of(&front, session).await?;
            let runtime = front.runtime.clone();
            follow(&mut front, Following::since(&known), runtime.wait(&key)).await
        }
    };
    let exit = match ended {
        Ok(Exit::Stopped) if is_ready(&front, &key).await? => {
            say_what_next(&front, &key, goal);
            Ok(Exit::Completed)
        }
        other => other,
    };
    front.close().await;
    exit
}

/// Returns the sequence number of the session's goal, even if the session has continued since. The last `Forked` event
/// is the session's own; earlier ones were copied from its source.
async fn goal_of(front: &Front, key: &SessionKey) -> Result<Option<MessageSeq>, Failure> {
    let events = front.runtime.events(key, EventCursor::START, Follow::Available);
    let last = events.try_fold(None, |before, entry| async move {
        Ok(if let Event::Forked { goal, .. } = entry.event { goal } else { before })
    });
    Ok(last.await?)
}

/// Returns true if the session waits as a prepared draft.
async fn is_ready(front: &Front, key: &SessionKey) -> Result<bool, Failure> {
    let outcome = outcome_of(&front.session(&key.id).await?, front.runtime.now())?;
    Ok(matches!(outcome, Some(RunOutcome::Ended(ending)) if ending.cause == StopCause::HandedOff))
}

/// Prints the commands that continue a draft.
fn say_what_next(front: &Front, key: &SessionKey, goal: Option<MessageSeq>) {
    let id = &key.id;
    front.out.passing(format!("  holdover resume {id}"));
    if let Some(goal) = goal {
        front.out.passing(format!("  holdover send {id} --instead-of {goal} \"…\""));
    }
}
