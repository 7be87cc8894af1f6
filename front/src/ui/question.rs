//! Finds the messages that answers begin with, and delivers new ones in their place.

use holdover_core::ids::{ItemKey, MessageSeq, SessionKey};
use holdover_core::image::Images;
use holdover_core::message::Message;
use holdover_runtime_local::{Deliver, DeliveredItem, Runtime, RuntimeError};

use crate::problem::Problem;

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

/// A message in place of an earlier one.
pub(crate) struct Edit {
    /// The id that the page has for the message: its own, or one of the transcript.
    pub(crate) id: String,
    /// The new text.
    pub(crate) text: String,
    /// The new pictures.
    pub(crate) images: Images,
}

/// Delivers a message in place of the one with this id, or in place of the one that took its place.
pub(crate) async fn deliver_edit(
    runtime: &Runtime,
    key: &SessionKey,
    edit: Edit,
) -> Result<DeliveredItem, Problem> {
    let mut seq = position(runtime, key, &edit.id).await?;
    // Each message in place of another is delivered under a key that names the position of the other.
    loop {
        let once = key_of(&edit.id, Some(seq))?;
        let Some(item) = runtime.message_under(key, &once).await? else {
            let deliver = Deliver::instead_of(seq, edit.text).showing(edit.images).once(once);
            return Ok(runtime.deliver_item(key, deliver).await?);
        };
        match runtime.taken(key, item).await? {
            Some(taken) => seq = taken.message,
            None => return Err(Problem::conflict("busy", "the message is being replaced already")),
        }
    }
}

/// Returns the position of the message with this id.
async fn position(runtime: &Runtime, key: &SessionKey, id: &str) -> Result<MessageSeq, Problem> {
    let unknown = || Problem::not_found("message_unknown", format!("message {id:?}: the session has no such message"));
    if let Some(seq) = id.strip_prefix(OF_TRANSCRIPT).and_then(|seq| seq.parse().ok()) {
        return Ok(MessageSeq(seq));
    }
    let item = runtime.message_under(key, &key_of(id, None)?).await?.ok_or_else(unknown)?;
    let taken = runtime.taken(key, item).await?;
    taken.map(|taken| taken.message).ok_or_else(unknown)
}

/// Returns the key under which the message with this id is delivered, or one in its place.
pub(crate) fn key_of(id: &str, instead_of: Option<MessageSeq>) -> Result<ItemKey, Problem> {
    let key = instead_of.map_or_else(|| id.to_owned(), |seq| format!("{id}~{seq}"));
    ItemKey::new(key).map_err(|why| Problem::invalid(format!("id: {why}")))
}
