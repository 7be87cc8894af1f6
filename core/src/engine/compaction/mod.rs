//! Compaction: old messages are summarised so that the model can go on (requirements A33, A52, A67 to A71).
//!
//! No stored message is changed. The summary is a new message, and the session's [`View`](crate::machine::View)
//! says which messages it replaces.

mod clearing;
mod cutting;
mod extract;
mod outside;
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
pub use outside::{OutsideSummariser, SUMMARISE_RESULT};
pub use seen::Seen;

/// The beginning of a summary as the model sees it.
pub const SUMMARY_MARKER: &str = "[Summary of the conversation so far]";

/// The number of characters to which a tool result is cut in the request for a summary.
pub(crate) const RESULT_CHARS_MAX: usize = 2_000;

/// The six parts of a summary, in order.
pub const SECTIONS: [&str; 6] =
    ["Current State", "Original Task", "Key Data", "Actions Taken", "Errors & Corrections", "Next Steps"];

/// The rough number of characters per token, used where no provider has counted.
const CHARS_PER_TOKEN: usize = 4;

/// Returns the rough number of tokens of a text: a quarter of its bytes as JSON.
pub fn estimate(bytes: usize) -> u64 {
    bytes.div_ceil(CHARS_PER_TOKEN) as u64
}

/// The most requests for one summary. Each time the provider refuses the request as too long, the next one shows a
/// quarter of the text.
pub const SUMMARY_TRIES: u32 = 6;

/// The smallest limit on the output tokens of a summary.
const SUMMARY_TOKENS_MIN: u32 = 128;

/// Returns the limit on the output tokens of a summary: that of the rules, but at most a quarter of the model's
/// context. Each refusal of the request as too long divides it by four.
fn summary_cap(rules: &Compaction, refused: u32) -> u32 {
    let quarter = u32::try_from(rules.context_tokens / 4).unwrap_or(u32::MAX);
    let least = SUMMARY_TOKENS_MIN.min(rules.summary_tokens);
    (rules.summary_tokens.min(quarter) >> (2 * refused.min(SUMMARY_TRIES))).max(least)
}

/// Returns a sentence that tells the model to stay below this limit on output tokens. It asks for half as many
/// words, because words may have several tokens, and reasoning may count too.
fn told_cap(tokens: u32) -> String {
    format!("Write at most {} words in all: what is longer is cut off, and lost.\n", (tokens / 2).max(1))
}

/// Returns the rough number of tokens of a message.
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

/// Returns the number of bytes by which a message of `bytes` is counted. Its pictures count by the tokens that they
/// cost.
pub(crate) fn bytes_counted(message: &Message, bytes: usize) -> usize {
    let images = message.images();
    let written: usize = images.iter().map(|image| image.base64().len()).sum();
    let as_tokens = usize::try_from(IMAGE_TOKENS).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
    let counted = images.iter().count().saturating_mul(as_tokens);
    bytes.saturating_sub(written).saturating_add(counted)
}

/// The number of characters that stay at the beginning and at the end of a result that is snipped.
pub(crate) const SNIPPED_CHARS: usize = 2_000;

/// Returns a long result as the model sees it: its beginning, a note with the number of characters left out, and
/// its end. Returns `None` if the result is shown whole, because it has at most `most` characters or would not
/// become shorter.
pub(crate) fn snipped(content: &str, most: usize) -> Option<String> {
    // No text has more characters than bytes.
    let too_long = content.len() > most && content.chars().count() > most.max(2 * SNIPPED_CHARS);
    too_long.then(|| middle_out(content, 2 * SNIPPED_CHARS))
}

/// Returns a message as the model sees it, or `None` if the model does not see it. A summary is shown as a message
/// of a user. `cleared` says which results are replaced by the marker or a summary, and which are shown in part. Any
/// other result of more than `most` characters is snipped.
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

/// Returns the request to a model for a summary of `old`. `refused` is the number of times that the provider
/// refused the request as too long.
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

/// Returns the old messages as a text. Its middle is left out if it is longer than the model can read, or than the
/// part that is allowed after this number of refusals.
fn render(old: &[(MessageSeq, Arc<Message>)], rules: &Compaction, refused: u32) -> String {
    let mut text = String::new();
    for (_, message) in old {
        let _ = match &**message {
            Message::User(said) => {
                let told = said.mentions.told().map_or_else(String::new, |told| format!("\n{told}"));
                writeln!(text, "USER: {}{told}\n", worded(&said.text, &said.images))
            }
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

/// Returns the text, followed by a note for each of its pictures.
fn worded(text: &str, images: &Images) -> String {
    images.iter().fold(text.to_owned(), |text, image| format!("{text}\n[a picture: {image}]"))
}

/// Returns a text of about `most` characters. A note in the middle gives the number of characters left out.
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
