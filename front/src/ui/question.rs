//! Finds the messages that answers are for, and delivers new ones.

use std::sync::Arc;

use futures::{TryStreamExt, future};
use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, ItemKey, MessageSeq, SessionKey};
use holdover_core::image::Images;
use holdover_core::message::Message;
use holdover_core::store::{EventCursor, Session, SessionStatus};
use holdover_runtime_local::{Deliver, Execute, Follow, Runtime, RuntimeError, Started};

use super::answer::From;
use crate::desk::Desk;
use crate::problem::Problem;

/// The number of events among which the last one that is no row of a history is looked for.
const LAST_EVENTS: u64 = 16;

/// The number of messages that are looked at together.
const MESSAGES_AT_ONCE: u32 = 200;

/// The beginning of the ids that pages get for messages of a transcript.
const OF_TRANSCRIPT: &str = "message-";

/// Returns the newest message that a user said, which is the one that the newest answer is for.
pub(crate) async fn newest_question(
    runtime: &Runtime,
    key: &SessionKey,
) -> Result<Option<MessageSeq>, RuntimeError> {
    let session = runtime.session(key).await?;
    let session = session.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
    let mut to = session.last_message.0;
    while to > 0 {
        let after = to.saturating_sub(MESSAGES_AT_ONCE.into());
        let count = u32::try_from(to - after).unwrap_or(MESSAGES_AT_ONCE);
        let read = runtime.messages_after(key, MessageSeq(after), count).await?;
        let is_asked = |message: &Message| matches!(message, Message::User(said) if !said.by_engine);
        if let Some(found) = read.iter().rev().find(|entry| is_asked(&entry.message)) {
            return Ok(Some(found.seq));
        }
        to = after;
    }
    Ok(None)
}

/// The newest answer of a session.
pub(crate) struct NewestAnswer {
    /// The cursor before the message that it is for.
    pub(crate) after: EventCursor,
    /// True if it is being made.
    pub(crate) runs: bool,
}

/// Finds the newest answer: the one that is being made or is to be made next, or else the last one. Returns none for a
/// session in which nobody has asked.
pub(crate) async fn newest_answer(desk: &Desk, session: &Session) -> Result<Option<NewestAnswer>, Problem> {
    let runtime = &desk.runtime;
    let due = session.alarm.is_some_and(|alarm| alarm <= runtime.now());
    let runs = due || session.status == SessionStatus::Active;
    if runs && is_between_turns(runtime, session).await? {
        // The message that is answered next has not been taken yet.
        let after = EventCursor::after(session.incarnation, session.last_event);
        return Ok(Some(NewestAnswer { after, runs }));
    }
    let Some(asked) = newest_question(runtime, &session.key).await? else { return Ok(None) };
    let after = runtime.cursor_before(&session.key, asked).await?;
    Ok(after.map(|after| NewestAnswer { after, runs }))
}

/// Returns true if no turn has begun yet, or if the newest one is over.
async fn is_between_turns(runtime: &Runtime, session: &Session) -> Result<bool, RuntimeError> {
    let before = EventSeq(session.last_event.0.saturating_sub(LAST_EVENTS));
    let after = EventCursor::after(session.incarnation, before);
    let events = runtime.events(&session.key, after, Follow::Available);
    let told = events.try_filter(|entry| future::ready(!matches!(entry.event, Event::History { .. })));
    let last = told.try_collect::<Vec<_>>().await?.pop();
    Ok(last.is_none_or(|entry| matches!(entry.event, Event::Done { .. })))
}

/// Returns the cursor after the newest event of a session.
pub(crate) async fn newest(desk: &Desk, key: &SessionKey) -> Result<EventCursor, RuntimeError> {
    let session = desk.runtime.session(key).await?;
    let session = session.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
    Ok(EventCursor::after(session.incarnation, session.last_event))
}

/// The content of a message.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) images: Images,
}

/// Sends a new message, at most once under its id, and returns the place of its answer. The session is created if there is
/// none. A repeat of a message that was taken before is answered from its start.
pub(crate) async fn deliver_new(
    desk: &Desk,
    key: &SessionKey,
    agent: Option<&str>,
    id: &str,
    said: Said,
) -> Result<(EventCursor, From), Problem> {
    let session = desk.runtime.session(key).await?;
    let before = session.map(|session| EventCursor::after(session.incarnation, session.last_event));
    let once = key_of(id, None)?;
    let (item, duplicate) = match before {
        // A session keeps its agent.
        Some(_) => {
            let deliver = Deliver::message(said.text).showing(said.images).once(once);
            let delivered = desk.runtime.deliver_item(key, deliver).await?;
            (delivered.item, delivered.is_duplicate())
        }
        None => {
            let started = start(desk, key, agent, once, said).await?;
            (started.item, started.duplicate)
        }
    };
    if duplicate
        && let Some(taken) = desk.runtime.taken(key, item).await?
        && let Some(after) = desk.runtime.cursor_before(key, taken.message).await?
    {
        return Ok((after, From::Message));
    }
    Ok((before.unwrap_or(EventCursor::START), From::Item(item)))
}

async fn start(
    desk: &Desk,
    key: &SessionKey,
    agent: Option<&str>,
    once: ItemKey,
    said: Said,
) -> Result<Started, Problem> {
    let agent = Arc::clone(desk.agent_or_only(agent)?);
    let mut request = Execute::new(key.tenant.clone(), agent, said.text)
        .in_session(key.id.clone())
        .once(once)
        .showing(said.images);
    if desk.served_elsewhere {
        request = request.served_elsewhere();
    }
    Ok(desk.runtime.start(request).await?)
}

/// Sends a message in place of the one with this id, or in place of the one that took its place, and returns the place of
/// its answer.
pub(crate) async fn deliver_edit(
    desk: &Desk,
    key: &SessionKey,
    id: &str,
    said: Said,
) -> Result<(EventCursor, From), Problem> {
    let before = newest(desk, key).await?;
    let mut seq = position(&desk.runtime, key, id).await?;
    // Each message in place of another is delivered under a key that names the position of the other.
    loop {
        let once = key_of(id, Some(seq))?;
        let Some(item) = desk.runtime.message_under(key, &once).await? else {
            let deliver = Deliver::instead_of(seq, said.text).showing(said.images).once(once);
            let delivered = desk.runtime.deliver_item(key, deliver).await?;
            return Ok((before, From::Item(delivered.item)));
        };
        match desk.runtime.taken(key, item).await? {
            Some(taken) => seq = taken.message,
            None => return Err(Problem::conflict("busy", "the message is being replaced already")),
        }
    }
}

/// Returns the position of the message with this id.
async fn position(runtime: &Runtime, key: &SessionKey, id: &str) -> Result<MessageSeq, Problem> {
    let unknown =
        || Problem::not_found("message_unknown", format!("message {id:?}: the session has no such message"));
    if let Some(seq) = id.strip_prefix(OF_TRANSCRIPT).and_then(|seq| seq.parse().ok()) {
        return Ok(MessageSeq(seq));
    }
    let item = runtime.message_under(key, &key_of(id, None)?).await?.ok_or_else(unknown)?;
    let taken = runtime.taken(key, item).await?;
    taken.map(|taken| taken.message).ok_or_else(unknown)
}

/// Returns the key under which the message with this id is delivered, or one in its place.
fn key_of(id: &str, instead_of: Option<MessageSeq>) -> Result<ItemKey, Problem> {
    let key = instead_of.map_or_else(|| id.to_owned(), |seq| format!("{id}~{seq}"));
    ItemKey::new(key).map_err(|why| Problem::invalid(format!("id: {why}")))
}
