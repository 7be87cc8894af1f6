//! How much of one answer is taken.

/// The most bytes of text and reasoning of one answer.
pub(crate) const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most calls of one answer.
pub(crate) const CALLS_MAX: usize = 128;
/// The most bytes of the arguments of one answer's calls.
pub(crate) const ARGUMENTS_BYTES_MAX: usize = 8 * 1024 * 1024;
