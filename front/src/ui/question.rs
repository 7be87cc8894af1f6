//! Finds the messages that answers are for, and delivers new ones.

use std::sync::Arc;

use futures::{TryStreamExt, future};
use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, ItemKey, MessageSeq, SessionKey};
use holdover_core::image::Images;
use holdover_core::message::Message;
use holdover_core::store::{EventCursor, Session};
use holdover_runtime_local::{Deliver, Execute, Follow, Runtime, RuntimeError, Started};

use super::answer::{From, Place};
use super::ends::runs;
use crate::desk::Desk;
use crate::problem::Problem;

/// The number of events that are looked at together.
const EVENTS_AT_ONCE: u64 = 16;

/// The number of messages that are looked at together.
const MESSAGES_AT_ONCE: u32 = 200;

/// The beginning of the ids that pages get for messages of a transcript.
const OF_TRANSCRIPT: &str = "message-";

/// Returns the newest message up to `last` that a user said: the one that the newest answer up to there is for.
pub(crate) async fn question_up_to(
    runtime: &Runtime,
    key: &SessionKey,
    last: MessageSeq,
) -> Result<Option<MessageSeq>, RuntimeError> {
    let mut to = last.0;
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
    /// The place before it.
    pub(crate) place: Place,
    /// Its beginning.
    pub(crate) from: From,
    /// True if it is being made.
    pub(crate) runs: bool,
}

/// Finds the newest answer: the one that is being made or is to be made next, or else the last one. Returns none for a
/// session in which nobody has asked.
pub(crate) async fn newest_answer(desk: &Desk, session: &Session) -> Result<Option<NewestAnswer>, Problem> {
    let runtime = &desk.runtime;
    let runs = runs(runtime, session);
    let asked = question_up_to(runtime, &session.key, session.last_message).await?;
    if runs && is_between_turns(runtime, session).await? {
        // The next turn has not begun. It answers the next message, or tries the last one again.
        return Ok(Some(NewestAnswer { place: here(session), from: From::Message(asked), runs }));
    }
    let Some(asked) = asked else { return Ok(None) };
    let place = place_before(runtime, &session.key, asked).await?;
    Ok(place.map(|place| NewestAnswer { place, from: From::Message(None), runs }))
}

/// Returns the place before a message.
async fn place_before(
    runtime: &Runtime,
    key: &SessionKey,
    message: MessageSeq,
) -> Result<Option<Place>, RuntimeError> {
    let cursor = runtime.cursor_before(key, message).await?;
    Ok(cursor.map(|cursor| Place { cursor, message: MessageSeq(message.0.saturating_sub(1)) }))
}

/// Returns the place after all that a session has.
pub(crate) fn here(session: &Session) -> Place {
    let cursor = EventCursor::after(session.incarnation, session.last_event);
    Place { cursor, message: session.last_message }
}

/// Returns true if no turn has begun yet, or if the newest one is over.
async fn is_between_turns(runtime: &Runtime, session: &Session) -> Result<bool, RuntimeError> {
    let mut to = session.last_event.0;
    while to > 0 {
        let from = to.saturating_sub(EVENTS_AT_ONCE);
        let after = EventCursor::after(session.incarnation, EventSeq(from));
        let events = runtime.events(&session.key, after, Follow::Available);
        let told = events
            .try_take_while(|entry| future::ready(Ok(entry.seq.0 <= to)))
            .try_filter(|entry| future::ready(!matches!(entry.event, Event::History { .. })));
        if let Some(last) = told.try_collect::<Vec<_>>().await?.pop() {
            return Ok(matches!(last.event, Event::Done { .. }));
        }
        to = from;
    }
    Ok(true)
}

/// Returns the place after all that a session has now.
pub(crate) async fn now(desk: &Desk, key: &SessionKey) -> Result<Place, RuntimeError> {
    let session = desk.runtime.session(key).await?;
    let session = session.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
    Ok(here(&session))
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
) -> Result<(Place, From), Problem> {
    let before = desk.runtime.session(key).await?.as_ref().map(here);
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
        && let Some(place) = place_before(&desk.runtime, key, taken.message).await?
    {
        return Ok((place, From::Message(None)));
    }
    Ok((before.unwrap_or(Place::START), From::Item(item)))
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
/// its answer. A message that has never arrived is sent as a new one.
pub(crate) async fn deliver_edit(
    desk: &Desk,
    key: &SessionKey,
    agent: Option<&str>,
    id: &str,
    said: Said,
) -> Result<(Place, From), Problem> {
    let before = desk.runtime.session(key).await?.as_ref().map(here);
    let position = match before {
        Some(_) => position(&desk.runtime, key, id).await?,
        None => None,
    };
    let (Some(before), Some(mut seq)) = (before, position) else {
        if position_of(id).is_some() {
            let detail = format!("message {id:?}: the session has no such message");
            return Err(Problem::not_found("message_unknown", detail));
        }
        return deliver_new(desk, key, agent, id, said).await;
    };
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

/// Returns the position of the message with this id, if the session has taken one.
async fn position(runtime: &Runtime, key: &SessionKey, id: &str) -> Result<Option<MessageSeq>, Problem> {
    if let Some(seq) = position_of(id) {
        let session = runtime.session(key).await?;
        return Ok(session.filter(|session| seq <= session.last_message).map(|_| seq));
    }
    let Some(item) = runtime.message_under(key, &key_of(id, None)?).await? else { return Ok(None) };
    Ok(runtime.taken(key, item).await?.map(|taken| taken.message))
}

/// Returns the position that an id of the transcript names. Ids of a page are its own.
pub(crate) fn position_of(id: &str) -> Option<MessageSeq> {
    id.strip_prefix(OF_TRANSCRIPT)?.parse().ok().map(MessageSeq)
}

/// Returns the key under which the message with this id is delivered, or one in its place.
fn key_of(id: &str, instead_of: Option<MessageSeq>) -> Result<ItemKey, Problem> {
    let key = instead_of.map_or_else(|| id.to_owned(), |seq| format!("{id}~{seq}"));
    ItemKey::new(key).map_err(|why| Problem::invalid(format!("id: {why}")))
}
