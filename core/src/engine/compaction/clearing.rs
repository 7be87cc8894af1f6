//! Clears old results. The model sees a marker in place of each, or a summary of the result if one was made in time
//! (requirements A33, A34).

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use super::{PART_CHARS, RESULT_CHARS_MAX, middle_out};
use crate::words::agent::Compaction;
use crate::words::error::ErrorInfo;
use crate::words::ids::{MessageSeq, SessionKey};
use crate::words::list::SharedList;
use crate::words::message::{InShort, Message, ToolResult, UserMessage};
use crate::words::model::{ModelRequest, ModelTool};

/// The text that replaces a cleared result without a summary.
pub const CLEARED: &str = "[an old result, cleared to save room; call the tool again if it is needed]";

/// The beginning of every text that replaces a cleared result.
pub const CLEARED_BEGINNING: &str = "[an old result, cleared to save room; ";

/// The longest text that replaces a cleared result, in characters.
pub(crate) const CLEARED_CHARS_MAX: usize = 500;

/// The time limit of a summary of one result, in milliseconds. After that, the marker is shown.
pub const IN_SHORT_MS_MAX: u64 = 5_000;

/// The most results that are summarised at once.
pub const IN_SHORT_AT_ONCE: usize = 4;

/// The most tokens of a summary of one result.
const IN_SHORT_TOKENS: u32 = 200;

/// Summarises one old result before it is cleared.
///
/// The summariser runs beside the run, which does not wait for it: at most [`IN_SHORT_MS_MAX`] for one result, and
/// at most [`IN_SHORT_AT_ONCE`] results at once. After a crash it may be called again for the same result, so it
/// must have no effect outside.
#[async_trait]
pub trait ResultSummariser: Send + Sync + 'static {
    /// Returns the facts that the model should still know from this result, in a sentence or two. A text that is
    /// too long for `CLEARED_CHARS_MAX` is cut. After an error, a panic, a timeout or an empty text, the marker is
    /// shown.
    async fn summarise(&self, session: &SessionKey, result: &ToolResult) -> Result<String, ErrorInfo>;
}

/// The results that are shown as cleared, the texts that replace them, and the results that are shown in part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleared {
    up_to: MessageSeq,
    in_part: MessageSeq,
    in_short: BTreeMap<MessageSeq, String>,
}

impl Cleared {
    /// Clears the results up to `up_to`. Takes the summaries of results from the notices among `shown`.
    pub fn of(shown: &[(MessageSeq, Arc<Message>)], up_to: MessageSeq) -> Self {
        let mut cleared = Self::default();
        cleared.change(up_to, MessageSeq(0), shown.iter().map(|(_, message)| &**message));
        cleared
    }

    /// Sets the place up to which results are cut to `PART_CHARS` characters.
    #[must_use]
    pub fn in_part(self, in_part: MessageSeq) -> Self {
        Self { in_part, ..self }
    }

    /// Sets the places up to which results are cleared and shown in part, and takes summaries from `more`. Returns
    /// the first place that may look different now, or `None` if nothing changes.
    pub(super) fn change<'a>(
        &mut self,
        up_to: MessageSeq,
        in_part: MessageSeq,
        more: impl Iterator<Item = &'a Message>,
    ) -> Option<MessageSeq> {
        let cleared = (up_to != self.up_to).then(|| up_to.min(self.up_to).next());
        let partly = (in_part != self.in_part).then(|| in_part.min(self.in_part).next());
        (self.up_to, self.in_part) = (up_to, in_part);
        let put_in_short = more.flat_map(in_short).filter_map(|short| {
            let before = self.in_short.insert(short.of, short.text.clone());
            (before.as_ref() != Some(&short.text)).then_some(short.of)
        });
        put_in_short.chain(cleared).chain(partly).min()
    }

    /// Returns true if a result at this place is cleared.
    pub(super) fn is_cleared(&self, seq: MessageSeq) -> bool {
        seq <= self.up_to
    }

    /// Returns the text that replaces this result, or `None` if the result is shown as it is.
    pub(super) fn word_for(&self, seq: MessageSeq, result: &ToolResult) -> Option<String> {
        if self.is_cleared(seq) {
            let word = || self.in_short.get(&seq).map_or_else(|| CLEARED.to_owned(), |text| marker(text));
            return worth_clearing(result).then(word);
        }
        let too_long = seq <= self.in_part && result.content.len() > PART_CHARS;
        too_long.then(|| middle_out(&result.content, PART_CHARS))
    }
}

/// Returns the summaries of results in this message.
fn in_short(message: &Message) -> &[InShort] {
    match message {
        Message::Notice(notice) => &notice.in_short,
        Message::User(_)
        | Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Summary(_) => &[],
    }
}

/// Returns true if clearing the result saves any room.
pub(super) fn worth_clearing(result: &ToolResult) -> bool {
    result.content.len() > CLEARED.len() || !result.images.is_empty()
}

fn marker(text: &str) -> String {
    format!("{CLEARED_BEGINNING}in short: {text} (call the tool again if all of it is needed)]")
}

/// Returns a summary in its stored form: one line, cut so that the text that replaces the result has at most
/// `CLEARED_CHARS_MAX` characters. Returns `None` if the summary is empty.
pub fn bounded(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let room = CLEARED_CHARS_MAX - marker("").chars().count();
    if line.chars().count() <= room {
        return (!line.is_empty()).then_some(line);
    }
    Some(line.chars().take(room - 1).chain(['…']).collect())
}

/// Returns the results at `places` that are worth a summary, as they are stored.
pub fn to_summarise(
    shown: &[(MessageSeq, Arc<Message>)],
    places: &[MessageSeq],
) -> Vec<(MessageSeq, ToolResult)> {
    let of = |(seq, message): &(MessageSeq, Arc<Message>)| match &**message {
        Message::Tool(result) if places.contains(seq) && worth_clearing(result) => {
            Some((*seq, result.clone()))
        }
        Message::Tool(_)
        | Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    };
    shown.iter().filter_map(of).collect()
}

/// Returns the request to a model for a summary of one result.
pub fn request_for(session: &SessionKey, result: &ToolResult, rules: &Compaction, step: u64) -> ModelRequest {
    let system = "You keep the notes of an agent. An old result of one of its tools is about to be put away. Say in one \
                  or two sentences, in at most 300 characters, what the agent must still know of it. Keep names, paths, \
                  numbers and errors exactly. Ask for no tool.";
    let content = middle_out(&result.content, 4 * RESULT_CHARS_MAX);
    let text = format!("RESULT OF {} ({}):\n{content}", result.tool, result.call);
    ModelRequest {
        session: session.clone(),
        system: Arc::from(system),
        messages: SharedList::from([Arc::new(Message::User(UserMessage::new(text)))]),
        tools: Arc::<[ModelTool]>::from([]),
        max_output_tokens: rules.summary_tokens.min(IN_SHORT_TOKENS),
        step,
        attempt: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a34_a_summary_is_one_bounded_line_behind_the_beginning_of_the_marker() {
        assert!(CLEARED.starts_with(CLEARED_BEGINNING));
        assert_eq!(bounded(" \n "), None);
        assert_eq!(bounded(" two\nlines ").as_deref(), Some("two lines"));
        for text in ["é".repeat(400), "é".repeat(401), "é ".repeat(10_000)] {
            let word = marker(&bounded(&text).unwrap());
            assert!(word.starts_with(CLEARED_BEGINNING));
            assert!(word.chars().count() <= CLEARED_CHARS_MAX, "{}", word.chars().count());
        }
    }
}
