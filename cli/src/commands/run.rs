//! `run`, `send`, `resume`, `retry`, `compact`: the commands that start or continue a session.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover_core::ending::Ending;
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{InboxSeq, SessionId, SessionKey};
use holdover_core::machine::StateKind;
use holdover_core::message::{MessagePolicy, SignalBody};
use holdover_core::mode::Briefing;
use holdover_core::store::{Labels, Session, SessionStatus, Wake};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{Agent, Deliver, Execute, RunHandle, RuntimeError, agent_label};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agent_file::{self, Instead};
use crate::args::{self, Again, Common, Compact, Drive, Run, Send};
use crate::exit::{Exit, Failure};
use crate::follow::{Following, Known, follow, report};
use crate::front::{Front, check_decoded};
use crate::input::{images_of, message_of};
use crate::mentions;
use crate::owed::check_new_name;
use crate::print::{in_time, instant, json, note};
use crate::source::Maker;
use crate::store::IfMissing;

/// The minimum free disk space, in bytes. With less, the next commit of a session may not fit.
const ROOM_BYTES_MIN: u64 = 64 * 1024;

/// Starts a turn of an agent, and runs it here or leaves it to a worker.
pub(crate) async fn run(common: &Common, args: &Run) -> Result<Exit, Failure> {
    let Run { agent: file, message, session, label, key, policy, at, root, briefing, leave: left, drive } =
        args;
    let agent = agent_of(file, instead_of(drive, root.clone())).await?;
    let message = message_of(message.as_deref())?;
    let images = images_of(&briefing.images)?;
    let mut mentions = mentions::of(agent.definition(), &message, &briefing.mentions).await;
    if session.is_none() && key.is_none() {
        mentions = Ok(mentions?);
    }
    let mut front = Front::open(common, Some(drive), IfMissing::Create).await?;
    let mut request =
        Execute::new(common.tenant.clone(), agent, message).labelled(Labels::from_iter(label.clone()));
    let session = match (session, key) {
        (Some(session), _) => Some(session.clone()),
        // The runtime derives the id from the key, so that every process finds the same session.
        (None, Some(_)) => None,
        (None, None) => Some(new_id()?),
    };
    request.briefing = briefing_of(briefing);
    request.images = images;
    request.session.clone_from(&session);
    request.policy = *policy;
    request.idempotency_key.clone_from(key);
    let found = match request.session_key()? {
        Some(key) => front.runtime.session(&key).await?,
        None => None,
    };
    found.as_ref().map_or(Ok(()), check_decoded)?;
    found.as_ref().map_or(Ok(()), |found| front.takes_effect(drive, found))?;
    // A session keeps its agent, and so the folder in which its files lie.
    if let Some(found) = found.as_ref().filter(|found| found.definition != *request.agent.definition()) {
        mentions = mentions::of(&found.definition, &request.message, &briefing.mentions).await;
    }
    request.mentions = mentions?;
    // A session that is found by the key is followed from its beginning.
    let before = found.filter(|_| session.is_some());
    match (&before, &session) {
        (Some(before), _) => tell_of_changes(before, &request.agent, args),
        (None, Some(session)) => check_new_name(session)?,
        (None, None) => {}
    }
    let before = match before {
        Some(session) => Some(Known::of(&front, session).await?),
        None => None,
    };
    if let Some(at) = at {
        let not_before = at.instant(front.runtime.now());
        let started = front.runtime.start(request.at(not_before)).await?;
        return left_for_later(front, &started.key, started.item, started.duplicate, not_before).await;
    }
    if left.is_asked() {
        let started = front.runtime.start(request).await?;
        let word = if started.duplicate { "duplicate" } else { "accepted" };
        let left_as = LeftAs { word, item: Some(started.item) };
        return leave(front, &started.key, left_as, left.wait).await;
    }
    let handle = front.runtime.execute(request).await?;
    let key = handle.key().clone();
    front.out.passing(front.out.dim(&format!("session {}", key.id)));
    if handle.is_duplicate() {
        front.out.passing("this key was used before: its turn is not started again");
    }
    let (duplicate, item) = (handle.is_duplicate(), handle.item());
    let following = Following { key: &key, known: before.as_ref(), duplicate, item };
    let exit = follow(&mut front, following, handle.outcome()).await;
    front.close().await;
    exit
}

/// Reads an agent file, asks its MCP servers for their tools, and builds the agent.
pub(crate) async fn agent_of(file: &Path, instead: Instead) -> Result<Arc<Agent>, Failure> {
    let mut blueprint = agent_file::read(file, &instead)?;
    let refuse = |why: String| Failure::wrong_use(format!("{}: {why}", file.display()));
    blueprint.discover().await.map_err(refuse)?;
    blueprint.build().map_err(refuse)
}

/// Tells the user that the session keeps its original agent, if the agent file has changed since.
fn tell_of_changes(before: &Session, agent: &Agent, args: &Run) {
    let instead = args.drive.model.is_some() || args.drive.base_url.is_some();
    if !instead
        && agent_label(&before.queue, &before.labels) == agent.label().as_str()
        && before.definition != *agent.definition()
    {
        let (id, file) = (&before.key.id, args.agent.display());
        note(&format!("session {id} keeps the agent it was created with; {file} has changed since then"));
    }
}

/// Delivers a message to a session, and runs it here or leaves it to a worker.
pub(crate) async fn send(common: &Common, args: &Send) -> Result<Exit, Failure> {
    let message = message_of(args.message.as_deref())?;
    let images = images_of(&args.briefing.images)?;
    let mut front = Front::open(common, Some(&args.drive), IfMissing::Refuse).await?;
    let session = front.session(&args.session).await?;
    front.can_run_with(&args.drive, &session)?;
    let mentions = mentions::of(&session.definition, &message, &args.briefing.mentions).await?;
    let known = Known::of(&front, session.clone()).await?;
    let mut deliver = match args.instead_of {
        Some(earlier) => Deliver::instead_of(earlier, message),
        None if args.note => Deliver::message_that(message, Wake::Quiet),
        None => match &args.correction_by {
            Some(by) => Deliver::correction(by, message).under(args.policy.or(Some(MessagePolicy::Steer))),
            None => Deliver::message(message).under(args.policy),
        },
    };
    let not_before = args.at.map(|at| at.instant(front.runtime.now()));
    deliver =
        deliver.briefed(briefing_of(&args.briefing)).showing(images).mentioning(mentions).at(not_before);
    if let Some(key) = &args.key {
        deliver = deliver.once(key.clone());
    }
    let delivered = match front.runtime.deliver_item(&session.key, deliver).await {
        Ok(delivered) => delivered,
        Err(RuntimeError::KeyConflict { .. }) => {
            return Err(refused(&args.session, "the key was used before for something else"));
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(not_before) = not_before {
        return left_for_later(front, &session.key, delivered.item, delivered.is_duplicate(), not_before)
            .await;
    }
    let word = if delivered.is_duplicate() { "duplicate" } else { "accepted" };
    if args.note {
        front.out.line(format!("session {}: noted", args.session));
        let object = json!({ "session": args.session, "delivered": word, "item": delivered.item });
        front.out.object(&object);
        front.close().await;
        return Ok(Exit::Completed);
    }
    if args.leave.is_asked() {
        let left_as = LeftAs { word, item: Some(delivered.item) };
        return leave(front, &session.key, left_as, args.leave.wait).await;
    }
    front.can_run(&session, "the message is delivered")?;
    let runtime = front.runtime.clone();
    let (duplicate, item) = (delivered.is_duplicate(), Some(delivered.item));
    let following = Following { duplicate, item, ..Following::since(&known) };
    let exit = follow(&mut front, following, runtime.wait(&session.key)).await;
    front.close().await;
    exit
}

/// Resumes or retries a session here, or leaves it to a worker.
pub(crate) async fn again(common: &Common, args: &Again, signal: SignalBody) -> Result<Exit, Failure> {
    let front = Front::open(common, Some(&args.drive), IfMissing::Refuse).await?;
    let session = front.session(&args.session).await?;
    front.takes_effect(&args.drive, &session)?;
    let key = session.key.clone();
    if args.leave.is_asked() {
        if !front.runtime.requeue(&key).await? {
            return Err(refused(
                &args.session,
                "it changed meanwhile, and nothing was done: look at it again (holdover sessions show)",
            ));
        }
        return leave(front, &key, "accepted".into(), args.leave.wait).await;
    }
    take_up(front, session, signal).await
}

/// Makes a summary of the old messages of a session, in this process.
pub(crate) async fn compact(common: &Common, args: &Compact) -> Result<Exit, Failure> {
    let front = Front::open(common, Some(&args.drive), IfMissing::Refuse).await?;
    let session = front.session(&args.session).await?;
    front.takes_effect(&args.drive, &session)?;
    take_up(front, session, SignalBody::Compact).await
}

/// Runs a session in this process after the given signal. If a run holds the session, waits for it instead.
async fn take_up(mut front: Front, session: Session, signal: SignalBody) -> Result<Exit, Failure> {
    let key = session.key.clone();
    front.can_run(&session, "nothing was done")?;
    let known = Known::of(&front, session).await?;
    let taken = match signal {
        // A mode alone starts no work.
        SignalBody::Resume | SignalBody::Mode { .. } => front.runtime.resume(&key).await,
        SignalBody::Retry => front.runtime.retry(&key).await,
        SignalBody::Compact => front.runtime.compact(&key).await,
    };
    let runtime = front.runtime.clone();
    let exit = match taken {
        Ok(handle) => follow(&mut front, Following::since(&known), RunHandle::outcome(handle)).await,
        Err(RuntimeError::Held { worker, lease_ends, .. }) => {
            let when = in_time(front.runtime.now(), lease_ends);
            note(&format!("{worker} holds the session until {} ({when}); waiting", instant(lease_ends)));
            follow(&mut front, Following::since(&known), runtime.wait(&key)).await
        }
        Err(error) => Err(error.into()),
    };
    front.close().await;
    exit
}

/// Returns the briefing of the message: the mode and the system prompt from this message on.
fn briefing_of(said: &args::Briefing) -> Briefing {
    Briefing { mode: said.mode, system_prompt: said.system_prompt.clone() }
}

/// Returns the settings of the command line that replace those of an agent file.
pub(crate) fn instead_of(drive: &Drive, root: Option<std::path::PathBuf>) -> Instead {
    Instead { model: drive.model.clone(), base_url: drive.base_url.clone(), root }
}

/// A delivery that is left to a worker: the word that says whether it was accepted now or before, and its number if it
/// is a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeftAs {
    word: &'static str,
    item: Option<InboxSeq>,
}

impl From<&'static str> for LeftAs {
    fn from(word: &'static str) -> Self {
        Self { word, item: None }
    }
}

/// Reports a message for later, which a worker takes up.
async fn left_for_later(
    front: Front,
    key: &SessionKey,
    item: InboxSeq,
    duplicate: bool,
    not_before: Timestamp,
) -> Result<Exit, Failure> {
    let word = if duplicate { "duplicate" } else { "accepted" };
    let when = in_time(front.runtime.now(), not_before);
    let (id, at) = (&key.id, instant(not_before));
    front.out.line(format!("session {id}: {word}; message {item} is for {at} ({when}), left to a worker"));
    front.out.object(&json!({
        "session": id, "delivered": word, "outcome": Value::Null, "item": item, "not_before": not_before,
    }));
    front.close().await;
    Ok(Exit::Completed)
}

/// Leaves a session to a worker. If `at_most` is given, waits at most that long for the outcome. If the time runs out,
/// reports that and changes nothing.
async fn leave(
    front: Front,
    key: &SessionKey,
    delivered: LeftAs,
    at_most: Option<Duration>,
) -> Result<Exit, Failure> {
    let Some(at_most) = at_most else {
        left_to_workers(&front, key, delivered).await?;
        front.close().await;
        return Ok(Exit::Completed);
    };
    let exit = wait_for_worker(&front, key, delivered, at_most).await;
    front.close().await;
    exit
}

/// Waits at most `at_most` for the outcome of a session that a worker runs, and reports it. If the session is handed
/// over, waits for the session that takes over.
pub(crate) async fn wait_for_worker(
    front: &Front,
    key: &SessionKey,
    delivered: impl Into<LeftAs>,
    at_most: Duration,
) -> Result<Exit, Failure> {
    let began = Instant::now();
    let mut key = key.clone();
    let mut waited = front.runtime.wait_at_most(&key, at_most).await?;
    while let Some(RunOutcome::Ended(Ending { handed_to: Some(to), .. })) = &waited {
        key.id = to.session.clone();
        let left = at_most.saturating_sub(began.elapsed());
        waited = front.runtime.wait_at_most(&key, left).await?;
    }
    let key = &key;
    let LeftAs { word, item } = delivered.into();
    let following = Following { key, known: None, duplicate: word == "duplicate", item };
    Ok(match waited {
        Some(outcome) => {
            let answer = front.runtime.response(key).await?.and_then(|response| response.text);
            if let Some(answer) = answer.as_deref().filter(|_| !front.out.quiet()) {
                front.out.line(answer.trim_end());
            }
            report(front, following, &outcome, answer.as_deref()).await?
        }
        None => {
            let glance = front.runtime.glance(key).await?;
            let at_work = glance.status == SessionStatus::Active;
            if at_work && let Some(why) = takes_no_writes(front).await {
                front.out.object(&json::last(&key.id, Value::Null, None, following.request()));
                return Err(Failure::failed(format!("session {}: still running, and {why}", key.id)));
            }
            let word = if at_work || glance.state == StateKind::Dispatching {
                "still running"
            } else {
                "not taken up yet"
            };
            front.out.line(format!("session {}: {word} ({})", key.id, glance.state.as_str()));
            let mut object = json::last(&key.id, Value::Null, None, following.request());
            object["state"] = json::glance(&glance);
            front.out.object(&object);
            Exit::StillRunning
        }
    })
}

/// Returns the reason why a running session may be waiting for the store, if there is one.
async fn takes_no_writes(front: &Front) -> Option<String> {
    let common = &front.common;
    // A small write may still succeed when a larger commit does not fit: SQLite's log reuses its space.
    if let Some(left) = front.store.room(&common.store).filter(|left| *left < ROOM_BYTES_MIN) {
        return Some(format!("the disk of {} is full: {left} bytes are left", common.store));
    }
    let refused = front.runtime.check_writes().await.err()?;
    Some(format!("the store takes no writes: {refused}"))
}

/// Reports that something was delivered and that a worker must do the rest. Names the program whose worker is needed.
pub(crate) async fn left_to_workers(
    front: &Front,
    key: &SessionKey,
    delivered: impl Into<LeftAs>,
) -> Result<(), Failure> {
    let LeftAs { word, item } = delivered.into();
    let maker = front.runtime.session(key).await?.as_ref().map_or(Maker::Own, Maker::of);
    let worker = match &maker {
        Maker::Own => "holdover work".to_owned(),
        Maker::Older(queue) => format!("holdover work --queue {queue}"),
        Maker::Other(Some(program)) => format!("of {program}"),
        Maker::Other(None) => "of another program".to_owned(),
    };
    front.out.line(format!("session {}: {word}; left to a worker ({worker})", key.id));
    let mut object = json!({ "session": key.id, "delivered": word, "outcome": Value::Null });
    if let Some(item) = item {
        object["item"] = json!(item);
    }
    front.out.object(&object);
    Ok(())
}

fn refused(session: &SessionId, why: &str) -> Failure {
    Failure::failed(format!("session {session}: {why}"))
}

/// Returns a new session id: short, unique and sorted by time. It consists of the clock and 32 random bits of a UUID
/// v7: 80 bits in 16 letters and digits.
pub(crate) fn new_id() -> Result<SessionId, Failure> {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let uuid = Uuid::now_v7();
    let bytes = uuid.as_bytes();
    let number = bytes[..6].iter().chain(&bytes[12..]).fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
    let text: String =
        (0..16).rev().map(|place| char::from(DIGITS[(number >> (5 * place)) as usize & 31])).collect();
    SessionId::new(text).map_err(|error| Failure::failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_short_and_differ() {
        let ids: std::collections::BTreeSet<String> =
            (0..100).map(|_| new_id().unwrap().to_string()).collect();
        assert_eq!(ids.len(), 100);
        assert!(ids.iter().all(|id| id.len() == 16), "{ids:?}");
    }
}
