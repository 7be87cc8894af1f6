//! The texts and limits that client and router share.

use std::borrow::Cow;

use holdover_core::children::{OUTCOME_CHARS_MAX, in_part};
use holdover_core::ids::SessionId;
use holdover_core::remote::TaskOutcome;
use serde::{Deserialize, Serialize};

/// The maximum size of the body of a request or an answer, in bytes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The header with the id of a new task.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The maximum number of characters of an outcome's text that are sent. With the note about the omitted rest, the text
/// is no longer than a caller keeps, and its JSON always fits in [`BODY_BYTES_MAX`].
const TEXT_CHARS_MAX: usize = 8 * OUTCOME_CHARS_MAX - 100;

/// The outcome of a task, in the form that is sent to the address that came with the task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told<'a> {
    /// The id of the task.
    pub(crate) id: SessionId,
    /// The outcome of the task.
    pub(crate) outcome: Cow<'a, TaskOutcome>,
}

/// Returns the outcome with its text cut to the size that is sent.
pub(crate) fn fitting(outcome: &TaskOutcome) -> TaskOutcome {
    TaskOutcome { text: in_part(&outcome.text, TEXT_CHARS_MAX), ..*outcome }
}

#[cfg(test)]
mod tests {
    use holdover_core::machine::Usage;

    use super::*;

    #[test]
    fn the_longest_outcome_fits_in_a_body() {
        for one in ["\0", "é", "🦀"] {
            let text = one.repeat(BODY_BYTES_MAX);
            let outcome = fitting(&TaskOutcome { ok: true, text, usage: Usage::default() });
            assert!(serde_json::to_vec(&outcome).unwrap().len() < BODY_BYTES_MAX);
            assert!(outcome.text.ends_with("more characters]"));
            assert!(outcome.text.chars().count() <= 8 * OUTCOME_CHARS_MAX);
        }
    }
}
