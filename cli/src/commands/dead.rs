//! `dead`: lists the dead letters of a tenant, and replays them.

use holdover_core::ids::{PendingId, SessionKey};
use holdover_core::letter::{Letter, LetterCause};
use holdover_core::message::PendingBody;
use holdover_core::store::{Labels, PageRequest};
use holdover_runtime_local::{DeadLetter, DeadLetterPage, Delivered, RuntimeError, UnreadablePending};
use serde_json::json;

use crate::args::{Common, Dead, ReplayLetters};
use crate::commands::answer::session_of;
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::owed::command;
use crate::print::{counted, inline, instant, note, shell};
use crate::store::IfMissing;

/// Runs one of the `dead` commands.
pub(crate) async fn dead(common: &Common, what: &Dead) -> Result<Exit, Failure> {
    let if_missing = match what {
        Dead::List => IfMissing::AsItIs,
        Dead::Replay(_) => IfMissing::Refuse,
    };
    let front = Front::open(common, None, if_missing).await?;
    match what {
        Dead::List => list(&front).await?,
        Dead::Replay(args) => replay(&front, args).await?,
    }
    front.close().await;
    Ok(Exit::Completed)
}

/// Calls `each` with every page of the tenant's open letters.
async fn pages(
    front: &Front,
    mut each: impl AsyncFnMut(DeadLetterPage) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut page = PageRequest::default();
    loop {
        let mut letters = front.runtime.dead_letters(front.tenant(), page).await?;
        let next = letters.next.take();
        each(letters).await?;
        match next {
            Some(after) => page = PageRequest { after: Some(after), limit: None },
            None => return Ok(()),
        }
    }
}

/// Returns the number of the tenant's open letters.
pub(crate) async fn count(front: &Front) -> Result<u64, Failure> {
    let mut all = 0;
    pages(front, async |page| {
        all += (page.items.len() + page.unreadable.len()) as u64;
        Ok(())
    })
    .await?;
    Ok(all)
}

async fn list(front: &Front) -> Result<(), Failure> {
    let mut empty = true;
    pages(front, async |page| {
        for letter in &page.items {
            empty = false;
            show(front, letter);
        }
        for letter in &page.unreadable {
            empty = false;
            show_unreadable(front, letter);
        }
        Ok(())
    })
    .await?;
    if empty {
        front.out.line(front.out.dim("no dead letters"));
    }
    Ok(())
}

fn show(front: &Front, letter: &DeadLetter) {
    front.out.object(&json!(letter));
    head(front, letter.key(), letter.id());
    let Letter { cause, error, attempts, first_run, last_run, turn, at, .. } = &letter.letter;
    front.out.line(format!("  {}", inline(&error.to_string())));
    let attempts = u64::from(*attempts);
    let how = match cause {
        LetterCause::Poisoned => {
            format!("{} died (runs {first_run} to {last_run})", counted(attempts, "run"))
        }
        LetterCause::Retries => format!("{}, given up in run {last_run}", counted(attempts, "attempt")),
        LetterCause::Circuit => {
            format!("{} could not be run, given up in run {last_run}", counted(attempts, "call"))
        }
        LetterCause::Unreadable => {
            format!("run {last_run} could not read the session, and set it aside as it was")
        }
        // Every cause of this version is named above; the lint finds missing ones.
        _ => format!("{}, given up in run {last_run}", counted(attempts, "attempt")),
    };
    front.out.line(format!("  turn {turn}: {how}, at {}", instant(*at)));
    if letter.is_replayed() {
        front.out.line("  it is replayed; a run takes it up");
    } else {
        front.out.line(format!("  {}", shell(&command(front, &["dead", "replay", letter.id().as_str()]))));
    }
}

fn show_unreadable(front: &Front, letter: &UnreadablePending) {
    front.out.object(&json!(letter));
    head(front, &letter.call.key, &letter.call.id);
    front.out.line(format!("  this letter cannot be read: {}", inline(&letter.why)));
    if letter.call.body.parse::<PendingBody>().is_ok() {
        front.out.line(format!("  {}", shell(&command(front, &["dead", "replay", letter.call.id.as_str()]))));
    }
}

fn head(front: &Front, key: &SessionKey, letter: &PendingId) {
    front.out.line(front.out.bold(&inline(&format!("session {}: {letter}", key.id))));
}

async fn replay(front: &Front, args: &ReplayLetters) -> Result<(), Failure> {
    let mut replayed = 0;
    if args.all {
        let mut open = Vec::new();
        pages(front, async |page| {
            // The parent of a child that could not be read still waits for it.
            let read = page.items.into_iter().filter(|letter| !letter.is_replayed());
            open.extend(read.map(|DeadLetter { call, letter, .. }| {
                (call.key, call.id, letter.cause == LetterCause::Unreadable)
            }));
            open.extend(page.unreadable.into_iter().map(|letter| (letter.call.key, letter.call.id, false)));
            Ok(())
        })
        .await?;
        for (key, letter, is_aside) in open {
            let session = front.runtime.session(&key).await?.filter(|_| !is_aside);
            if session.is_some_and(|session| session.labels.0.contains_key(Labels::PARENT)) {
                note(&format!(
                    "session {}: left out: its parent has gone on; name the letter {letter}",
                    key.id
                ));
                continue;
            }
            match one(front, &key, &letter).await {
                Ok(()) => replayed += 1,
                Err(error @ RuntimeError::Unreadable { .. }) => note(&format!("left out: {error}")),
                // The session has gone on, or is gone, since the letter was listed.
                Err(
                    RuntimeError::NotPending { .. }
                    | RuntimeError::AlreadyAnswered { .. }
                    | RuntimeError::NotAsked { .. }
                    | RuntimeError::NotFound { .. },
                ) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if replayed == 0 {
            front.out.line(front.out.dim("no dead letters"));
        }
    } else {
        let mut named = Vec::new();
        for letter in &args.letters {
            let unknown = || Failure::failed(format!("letter {letter}: there is no such dead letter"));
            let (life, _) = letter.parts().ok_or_else(unknown)?;
            named.push((session_of(front, life).await?.ok_or_else(unknown)?.key, letter));
        }
        for (key, letter) in named {
            one(front, &key, letter).await?;
            replayed += 1;
        }
    }
    if replayed > 0 && !front.out.json() {
        note(&format!("a worker runs what was replayed: {}", shell(&command(front, &["work"]))));
    }
    Ok(())
}

async fn one(front: &Front, key: &SessionKey, letter: &PendingId) -> Result<(), RuntimeError> {
    let delivered = front.runtime.replay_letter(key, letter).await?;
    let what = match delivered {
        Delivered::Accepted => "tries again",
        Delivered::Duplicate => "was replayed before; nothing is changed",
    };
    front.out.line(format!("session {}: {what}", key.id));
    front.out.object(&json!({ "letter": letter, "session": key.id, "replay": delivered }));
    Ok(())
}
