//! The transcript as pages show it: redacted, and without what was taken back.

use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_runtime_local::{MessageEntry, Runtime, RuntimeError};

/// The most messages of a transcript that a page gets at once.
pub(crate) const MESSAGES_MAX: u32 = 200;

/// Returns messages as they are shown.
pub(crate) fn shown(entries: impl IntoIterator<Item = MessageEntry>) -> Vec<MessageEntry> {
    let mut shown: Vec<MessageEntry> = Vec::new();
    for mut entry in entries {
        entry.message = entry.message.redacted();
        if let Message::Notice(notice) = &entry.message
            && let Some(to) = notice.rewound
        {
            shown.retain(|earlier| earlier.seq <= to);
        }
        shown.push(entry);
    }
    shown
}

/// Returns the newest messages up to `last`, as they are shown.
pub(crate) async fn up_to(
    runtime: &Runtime,
    key: &SessionKey,
    last: MessageSeq,
) -> Result<Vec<MessageEntry>, RuntimeError> {
    let after = last.0.saturating_sub(MESSAGES_MAX.into());
    let count = u32::try_from(last.0 - after).unwrap_or(MESSAGES_MAX);
    if count == 0 {
        return Ok(Vec::new());
    }
    Ok(shown(runtime.messages_after(key, MessageSeq(after), count).await?))
}
