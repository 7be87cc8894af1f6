//! Compaction: old messages are summarised so that the model can go on (requirements A33, A52, A67 to A71).
//!
//! Nothing stored is rewritten. The summary is a message of its own, and the session's
//! [`View`](crate::machine::View) says which messages it stands for.

mod clearing;
mod cutting;
mod extract;
mod pictures;
mod seen;
pub(crate) mod shortening;
pub(crate) mod summarising;

use std::fmt::Write as _;
use std::sync::Arc;

use crate::words::agent::Compaction;
use crate::words::ids::{MessageSeq, SessionKey};
use crate::words::image::{IMAGE_TOKENS, Images};
use crate::words::list::SharedList;
use crate::words::message::{Message, ToolResult, UserMessage};
use crate::words::model::{ModelRequest, ModelTool};

use clearing::worth_clearing;

pub use clearing::{
    CLEARED, CLEARED_BEGINNING, Cleared, IN_SHORT_AT_ONCE, IN_SHORT_MS_MAX, ResultSummariser, bounded,
    request_for, to_summarise,
};
pub(crate) use cutting::{PART_CHARS, dead_end, kept_long, not_summarised};
pub use cutting::{REFUSALS_MAX, cut, shorter};
pub use extract::{EXTRACT_MARKER, cut_for_handoff, request_for_handoff};
pub use seen::Seen;

/// The beginning of a summary as the model sees it.
pub const SUMMARY_MARKER: &str = "[Summary of the conversation so far]";

/// A tool result is cut to this many characters in the request for a summary.
pub(crate) const RESULT_CHARS_MAX: usize = 2_000;

/// The six parts of a summary, in order.
pub const SECTIONS: [&str; 6] =
    ["Current State", "Original Task", "Key Data", "Actions Taken", "Errors & Corrections", "Next Steps"];

/// The rough number of characters in a token, used where no provider has counted.
const CHARS_PER_TOKEN: usize = 4;

/// The rough number of tokens of a text: a quarter of its bytes as JSON.
pub fn estimate(bytes: usize) -> u64 {
    bytes.div_ceil(CHARS_PER_TOKEN) as u64
}

/// The number of requests for a summary if the provider refuses each as too long: each shows a quarter of the
/// one before.
pub const SUMMARY_TRIES: u32 = 6;

/// The fewest output tokens that a summary may be limited to.
const SUMMARY_TOKENS_MIN: u32 = 128;

/// The most output tokens of a summary: as many as the rules allow, but no more than a quarter of what the
/// model can read. Each request that was refused as too long divides this by four.
fn summary_cap(rules: &Compaction, refused: u32) -> u32 {
    let quarter = u32::try_from(rules.context_tokens / 4).unwrap_or(u32::MAX);
    let least = SUMMARY_TOKENS_MIN.min(rules.summary_tokens);
    (rules.summary_tokens.min(quarter) >> (2 * refused.min(SUMMARY_TRIES))).max(least)
}

/// The length limit that the model is told in words, for an answer with this limit on output tokens. Half of
/// the limit is a reserve: for words of more than one token, and for reasoning where it counts.
fn told_cap(tokens: u32) -> String {
    format!("Write at most {} words in all: what is longer is cut off, and lost.\n", (tokens / 2).max(1))
}

/// The rough number of tokens of a message.
pub fn tokens_of(message: &Message) -> u64 {
    match message {
        Message::Decision(_) => 0,
        Message::Notice(notice) if !notice.told => 0,
        Message::User(_)
        | Message::Assistant(_)
        | Message::Tool(_)
        | Message::Notice(_)
        | Message::Summary(_) => {
            message.to_payload().map_or(0, |payload| estimate(bytes_counted(message, payload.len())))
        }
    }
}

/// The number of bytes for which a message of `bytes` counts. Its pictures count by the tokens that they cost
/// a model.
pub(crate) fn bytes_counted(message: &Message, bytes: usize) -> usize {
    let images = message.images();
    let written: usize = images.iter().map(|image| image.base64().len()).sum();
    let as_tokens = usize::try_from(IMAGE_TOKENS).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
    let counted = images.iter().count().saturating_mul(as_tokens);
    bytes.saturating_sub(written).saturating_add(counted)
}

/// The number of characters that stay of the beginning of a result that is snipped, and of its end.
pub(crate) const SNIPPED_CHARS: usize = 2_000;

/// Returns a long result as the model sees it: its beginning, a note on how many characters are left out, and
/// its end. None: the result is shown whole, because it has at most `most` characters, or no more than would
/// stay.
pub(crate) fn snipped(content: &str, most: usize) -> Option<String> {
    // No text has more characters than bytes.
    let too_long = content.len() > most && content.chars().count() > most.max(2 * SNIPPED_CHARS);
    too_long.then(|| middle_out(content, 2 * SNIPPED_CHARS))
}

/// Returns a message as the model sees it; none if the model does not see it. A summary is shown like a
/// message of a user. A `cleared` result is replaced by a note or its summary, and a result of more than
/// `most` characters is snipped.
pub fn shown(
    seq: MessageSeq,
    message: &Arc<Message>,
    cleared: &Cleared,
    most: usize,
) -> Option<Arc<Message>> {
    match &**message {
        Message::Notice(notice) if notice.told => {
            Some(Arc::new(Message::User(UserMessage::new(notice.text.clone()))))
        }
        Message::Decision(_) | Message::Notice(_) => None,
        Message::Summary(summary) => {
            let marker = if summary.extract { EXTRACT_MARKER } else { SUMMARY_MARKER };
            let text = format!("{marker}\n\n{}", summary.text);
            Some(Arc::new(Message::User(UserMessage::new(text))))
        }
        Message::Tool(result) => {
            match cleared.word_for(seq, result).or_else(|| snipped(&result.content, most)) {
                Some(content) => {
                    let images = if cleared.is_cleared(seq) { Images::none() } else { result.images.clone() };
                    Some(Arc::new(Message::Tool(ToolResult { content, images, ..result.clone() })))
                }
                None => Some(Arc::clone(message)),
            }
        }
        Message::User(_) | Message::Assistant(_) => Some(Arc::clone(message)),
    }
}

/// Returns the request to a model for a summary of `old`. `refused`: how often the provider has refused the
/// request as too long.
pub fn request(
    session: &SessionKey,
    old: &[(MessageSeq, Arc<Message>)],
    rules: &Compaction,
    step: u64,
    refused: u32,
) -> ModelRequest {
    let mut system = String::from(
        "You keep the notes of an agent whose conversation has become too long. Write down what it needs to go on \
         without the old messages. Keep names, paths, numbers, identifiers and decisions exactly. Do not answer \
         the conversation, and ask for no tool. Use these six headings, in this order, each with what belongs \
         there, or \"none\":\n",
    );
    for section in SECTIONS {
        // Writing to a String does not fail.
        let _ = writeln!(system, "## {section}");
    }
    let cap = summary_cap(rules, refused);
    system.push_str(&told_cap(cap));
    let text = render(old, rules, refused);
    ModelRequest {
        session: session.clone(),
        system: Arc::from(system),
        messages: SharedList::from([Arc::new(Message::User(UserMessage::new(text)))]),
        tools: Arc::<[ModelTool]>::from([]),
        max_output_tokens: cap,
        step,
        attempt: 0,
    }
}

/// Returns the old messages as a text. If it is longer than the model can read, or than the part that is left
/// after so many refusals, its beginning, where the task stands, and its end stay.
fn render(old: &[(MessageSeq, Arc<Message>)], rules: &Compaction, refused: u32) -> String {
    let mut text = String::new();
    for (_, message) in old {
        let _ = match &**message {
            Message::User(said) => writeln!(text, "USER: {}\n", worded(&said.text, &said.images)),
            Message::Summary(summary) => writeln!(text, "SUMMARY OF WHAT CAME BEFORE: {}\n", summary.text),
            Message::Assistant(said) => {
                let mut wrote = Ok(());
                if !said.text().is_empty() {
                    wrote = writeln!(text, "AGENT: {}\n", said.text());
                }
                for call in said.calls() {
                    wrote = writeln!(text, "AGENT CALLS {} ({}): {}\n", call.tool, call.id, call.arguments);
                }
                wrote
            }
            Message::Tool(result) => {
                let content = worded(&middle_out(&result.content, RESULT_CHARS_MAX), &result.images);
                writeln!(text, "RESULT OF {} ({}): {content}\n", result.tool, result.call)
            }
            Message::Notice(notice) if notice.told => writeln!(text, "NOTE: {}\n", notice.text),
            Message::Decision(_) | Message::Notice(_) => Ok(()),
        };
    }
    let room = usize::try_from(rules.context_tokens).unwrap_or(usize::MAX).saturating_mul(2);
    if refused == 0 {
        return middle_out(&text, room);
    }
    let written = text.chars().count().min(room);
    middle_out(&text, written >> (2 * refused.min(SUMMARY_TRIES)))
}

/// Returns a text, with a note for each of its pictures.
fn worded(text: &str, images: &Images) -> String {
    images.iter().fold(text.to_owned(), |text, image| format!("{text}\n[a picture: {image}]"))
}

/// Returns a text of at most this many characters, with a note on how many are left out in its middle.
fn middle_out(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - (most - half)).collect();
    format!("{head}\n[{} characters left out]\n{tail}", count - most)
}

#[cfg(test)]
mod tests;
