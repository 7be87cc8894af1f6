//! Follows a session and its children until an outcome is known. Events are printed as they become durable. For a
//! person at a terminal, the text of the session's own model is shown earlier if the session runs in this process.

mod reader;

use std::pin::pin;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use holdover_core::ending::Ending;
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::ids::{InboxSeq, SessionKey};
use holdover_core::store::{EventCursor, OutcomeKind, Session};
use holdover_runtime_local::{Follow, RuntimeError, TreeCursor, machine_of};
use serde_json::{Value, json as object};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::MissedTickBehavior;

use self::reader::Reader;
use crate::exit::{Exit, Failure};
use crate::front::{Front, Live};
use crate::owed;
use crate::print::{debts, human, json, note, screen};
use crate::signals::{Signals, Told};

/// The interval between two redraws of the progress.
pub(crate) const REDRAW_EVERY: Duration = Duration::from_millis(100);

/// A session that is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Following<'a> {
    pub(crate) key: &'a SessionKey,
    /// The session as it was before. Only newer events are printed. `None` prints all events.
    pub(crate) known: Option<&'a Known>,
    /// True if the same request was made before, under the same key.
    pub(crate) duplicate: bool,
    /// The number of the message that was delivered, if one was.
    pub(crate) item: Option<InboxSeq>,
}

impl<'a> Following<'a> {
    /// Returns true if the request was made before, with the number of the message that was delivered.
    pub(crate) fn request(&self) -> (bool, Option<InboxSeq>) {
        (self.duplicate, self.item)
    }

    /// Follows all events after `known`.
    pub(crate) fn since(known: &'a Known) -> Self {
        Self { key: &known.session.key, known: Some(known), duplicate: false, item: None }
    }
}

/// The state of a session before a command changes it, with the cursor after the newest events of its tree.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) session: Session,
    after: TreeCursor,
}

impl Known {
    /// Returns a fork as it was created: only the events that were copied from its source are known, and the event of
    /// the fork itself.
    async fn as_made(front: &Front, session: Session) -> Result<Self, Failure> {
        let events = front.runtime.events(&session.key, EventCursor::START, Follow::Available);
        let last = events.try_fold(EventCursor::START, |before, entry| async move {
            Ok(if matches!(entry.event, Event::Forked { .. }) { entry.cursor } else { before })
        });
        let after = last.await?.into();
        Ok(Self { session, after })
    }

    /// Reads the current cursor of the session's tree.
    pub(crate) async fn of(front: &Front, session: Session) -> Result<Self, Failure> {
        let after = front.runtime.tree_cursor(&session).await?;
        Ok(Self { session, after })
    }
}

/// Prints the events of the session and its children until `outcome` is known, then the state of the session and the
/// answers that it waits for. If the session is handed over, follows the session that takes over. Ctrl-C interrupts the
/// session. A second Ctrl-C, or SIGTERM or SIGHUP, leaves the session as it is.
///
/// With JSON output, the last line always gives the state of the session, or null if the session was left or an error
/// occurred.
pub(crate) async fn follow(
    front: &mut Front,
    following: Following<'_>,
    outcome: impl Future<Output = Result<RunOutcome, RuntimeError>>,
) -> Result<Exit, Failure> {
    let mut live = front.live.take();
    let mut ended = read_along(front, &mut live, following, outcome).await;
    let mut key = following.key.clone();
    // If the session was handed over, the session that took over is followed.
    while let Ok(Read { outcome: RunOutcome::Ended(Ending { handed_to: Some(to), .. }), .. }) = &ended {
        key.id = to.session.clone();
        front.out.passing(front.out.dim(&format!("session {}: {} takes over", key.id, to.agent)));
        front.out.object(&object!({ "session": key.id, "takes_over_as": to.agent }));
        let known = Known::as_made(front, front.session(&key.id).await?).await?;
        let following = Following { duplicate: following.duplicate, ..Following::since(&known) };
        ended = read_along(front, &mut live, following, front.runtime.wait(&key)).await;
    }
    front.live = live;
    screen::clear();
    // The number of a message belongs to the session that got it.
    let item = following.item.filter(|_| key == *following.key);
    let following = Following { key: &key, item, ..following };
    let reported = match ended {
        Ok(read) => report(front, following, &read.outcome, read.answer.as_deref()).await,
        Err(failure) => Err(failure),
    };
    if reported.is_err() {
        front.out.object(&json::last(&following.key.id, Value::Null, None, following.request()));
    }
    reported
}

/// The result of following a session.
struct Read {
    outcome: RunOutcome,
    /// The last text of the model, if only that was requested.
    answer: Option<String>,
}

async fn read_along(
    front: &Front,
    live: &mut Option<UnboundedReceiver<(SessionKey, Live)>>,
    following: Following<'_>,
    outcome: impl Future<Output = Result<RunOutcome, RuntimeError>>,
) -> Result<Read, Failure> {
    let key = following.key;
    let mut signals = Signals::listen()?;
    let after = following.known.map_or(TreeCursor::START, |known| known.after.clone());
    let session = following.known.map(|known| &known.session);
    let mut reader = Reader::new(front, key, session, after.clone());
    let mut events = front.runtime.tree_events(key, after, Follow::Forever);
    let mut outcome = pin!(outcome);
    let mut asked_to_stop = false;
    let mut redraw = tokio::time::interval(REDRAW_EVERY);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = loop {
        tokio::select! {
            biased;
            item = events.next() => match item {
                Some(item) => reader.item(&item?).await?,
                None => break outcome.await,
            },
            Some((of, said)) = hear(live) => if of == *key { reader.hear(said) },
            _ = redraw.tick(), if live.is_some() => reader.draw(),
            ended = &mut outcome => break ended,
            told = signals.next() => {
                if asked_to_stop || told == Told::Terminate {
                    let next = if asked_to_stop { "the next run ends the turn" } else { "holdover resume takes it up again" };
                    let line = format!("session {}: left where it is; {next}", key.id);
                    return Err(Failure { exit: told.exit(), line });
                }
                asked_to_stop = true;
                note("interrupting the session; Ctrl-C again leaves it as it is");
                if let Err(error) = front.runtime.interrupt(key, "Ctrl-C").await {
                    note(&format!("the session could not be interrupted: {error}"));
                }
            }
        }
    };
    let outcome = ended?;
    drop(events);
    let mut rest = front.runtime.tree_events(key, reader.cursor.clone(), Follow::Available);
    while let Some(item) = rest.next().await {
        match item {
            Ok(item) => reader.item(&item).await?,
            Err(error) => {
                note(&format!("session {}: not all of its events are shown: {error}", key.id));
                break;
            }
        }
    }
    reader.end_line();
    Ok(Read { outcome, answer: reader.answer })
}

/// Prints the state of a session and the answers that it waits for, and returns the exit of the process. With
/// `--quiet`, if the turn is completed, prints only the value that the turn had to return, or else `answer`, if any.
pub(crate) async fn report(
    front: &Front,
    following: Following<'_>,
    outcome: &RunOutcome,
    answer: Option<&str>,
) -> Result<Exit, Failure> {
    let key = following.key;
    let exit = Exit::of(outcome);
    let output = front.runtime.output_of(key, outcome).await?;
    let output_text = output.as_ref().map(Value::to_string);
    if let Some(answer) = output_text.as_deref().or(answer)
        && front.out.quiet()
        && outcome.kind() == OutcomeKind::Completed
    {
        front.out.line(answer.trim_end());
        return Ok(exit);
    }
    let debts = match outcome {
        RunOutcome::Suspended(suspension) => owed::debts(front, key, suspension).await?,
        RunOutcome::Ended(_) | RunOutcome::BackingOff { .. } | RunOutcome::Released | RunOutcome::Lost => {
            Vec::new()
        }
    };
    let line = format!("session {}: {}", key.id, human::outcome(outcome));
    front.out.line(front.out.bold(&line));
    if let Some(output) = &output_text {
        front.out.line(format!("output: {output}"));
    }
    debts::all(&front.out, &key.id, &debts, front.runtime.now());
    note_background(front, key).await?;
    if front.out.json() {
        let response = match outcome {
            RunOutcome::Ended(_) => front.runtime.response(key).await?,
            RunOutcome::Suspended(_)
            | RunOutcome::BackingOff { .. }
            | RunOutcome::Released
            | RunOutcome::Lost => None,
        };
        let outcome = json::outcome(outcome, output.as_ref(), &debts);
        front.out.object(&json::last(&key.id, outcome, response.as_ref(), following.request()));
    }
    Ok(exit)
}

/// Reports children that continue in the background and are not run here.
async fn note_background(front: &Front, key: &SessionKey) -> Result<(), Failure> {
    let session = front.runtime.session(key).await?;
    let machine = session.as_ref().map(machine_of).transpose()?.flatten();
    let running = machine.map_or(0, |machine| machine.running_children().count());
    if running > 0 {
        let (many, id) = (
            if running == 1 { "1 child goes".to_owned() } else { format!("{running} children go") },
            &key.id,
        );
        front.out.passing(format!("  {many} on in the background: holdover work runs them, holdover sessions children {id} lists them"));
    }
    Ok(())
}

async fn hear(live: &mut Option<UnboundedReceiver<(SessionKey, Live)>>) -> Option<(SessionKey, Live)> {
    match live {
        Some(live) => live.recv().await,
        None => std::future::pending().await,
    }
}
