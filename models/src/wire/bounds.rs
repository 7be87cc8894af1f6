//! The limits on one answer.

use holdover_core::model::ModelError;

use super::malformed;

/// The maximum number of bytes of a stream.
pub(crate) const STREAM_BYTES_MAX: usize = 128 * 1024 * 1024;
/// The maximum number of bytes of text, reasoning and signatures in one answer.
const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The maximum number of calls in one answer.
const CALLS_MAX: usize = 128;
/// The maximum number of bytes of arguments in all calls of one answer.
const ARGUMENTS_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The amounts that an answer has used so far. Each method adds to one amount, and fails if the amount is then over its
/// limit.
#[derive(Default)]
pub(crate) struct Taken {
    text_bytes: usize,
    calls: usize,
    argument_bytes: usize,
}

impl Taken {
    pub(crate) fn text(&mut self, piece: &str) -> Result<(), ModelError> {
        self.text_bytes = self.text_bytes.saturating_add(piece.len());
        within(self.text_bytes, TEXT_BYTES_MAX, || format!("an answer of more than {TEXT_BYTES_MAX} bytes"))
    }

    pub(crate) fn call(&mut self) -> Result<(), ModelError> {
        self.calls = self.calls.saturating_add(1);
        within(self.calls, CALLS_MAX, || format!("more than {CALLS_MAX} tool calls in one answer"))
    }

    pub(crate) fn arguments(&mut self, piece: &str) -> Result<(), ModelError> {
        self.argument_bytes = self.argument_bytes.saturating_add(piece.len());
        within(self.argument_bytes, ARGUMENTS_BYTES_MAX, || {
            format!("tool calls with more than {ARGUMENTS_BYTES_MAX} bytes of arguments")
        })
    }
}

fn within(count: usize, most: usize, why: impl FnOnce() -> String) -> Result<(), ModelError> {
    if count > most { Err(malformed(why())) } else { Ok(()) }
}
