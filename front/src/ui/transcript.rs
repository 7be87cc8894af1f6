//! The transcript as pages show it: redacted, and without what was taken back.

use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::message::{AssistantPart, Message};
use holdover_runtime_local::{MessageEntry, Runtime, RuntimeError};

/// The most messages of a transcript that a page gets at once.
const MESSAGES_MAX: usize = 200;
/// The most bytes of messages that a page gets at once, unless a single message has more.
const BYTES_MAX: usize = 8 << 20;
/// The number of messages that are read together.
const AT_ONCE: u64 = 16;

/// A part of a transcript, as it is shown.
pub(crate) struct Shown {
    /// The messages, oldest first.
    pub(crate) messages: Vec<MessageEntry>,
    /// The position up to which earlier messages go. `None` if there are none.
    pub(crate) earlier: Option<MessageSeq>,
}

/// Returns the newest messages up to `last`, as they are shown. Reads back from `last`, and steps over what was taken back.
pub(crate) async fn shown_up_to(
    runtime: &Runtime,
    key: &SessionKey,
    last: MessageSeq,
) -> Result<Shown, RuntimeError> {
    let (mut messages, mut bytes, mut to) = (Vec::new(), 0, last);
    'reads: while to > MessageSeq(0) {
        let after = MessageSeq(to.0.saturating_sub(AT_ONCE));
        let count = u32::try_from(to.0 - after.0).unwrap_or(u32::MAX);
        for mut entry in runtime.messages_after(key, after, count).await?.into_iter().rev() {
            bytes += bytes_of(&entry.message);
            if !messages.is_empty() && (messages.len() >= MESSAGES_MAX || bytes > BYTES_MAX) {
                break 'reads;
            }
            to = MessageSeq(entry.seq.0 - 1);
            let rewound = if let Message::Notice(notice) = &entry.message { notice.rewound } else { None };
            entry.message = entry.message.redacted();
            messages.push(entry);
            if let Some(back_to) = rewound {
                to = back_to;
                continue 'reads;
            }
        }
    }
    messages.reverse();
    Ok(Shown { messages, earlier: Some(to).filter(|to| *to > MessageSeq(0)) })
}

/// Returns about how many bytes a message has.
fn bytes_of(message: &Message) -> usize {
    let text = match message {
        Message::User(said) => said.text.len(),
        Message::Assistant(said) => said
            .parts
            .iter()
            .map(|part| match part {
                AssistantPart::Text { text } | AssistantPart::Reasoning { text, .. } => text.len(),
                AssistantPart::Call(call) => call.arguments.len(),
            })
            .sum(),
        Message::Tool(result) => result.content.len(),
        Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => 0,
    };
    let pictures: usize = message.images().iter().map(|image| image.base64().len()).sum();
    text + pictures
}
