//! Names of tools in a form that servers accept.

use std::borrow::Cow;

/// The longest name of a tool that OpenAI and Anthropic accept, in bytes.
const BYTES_MAX: usize = 64;

/// Returns the tool's name as the model wrote it, with `_` in place of characters that servers refuse. Models may write
/// such characters, but servers refuse every request that repeats them. A name that is too long is cut, and an empty
/// name becomes `_`.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= BYTES_MAX && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let made: String = name.chars().take(BYTES_MAX).map(|c| if fits(c) { c } else { '_' }).collect();
    if made.is_empty() { Cow::Borrowed("_") } else { Cow::Owned(made) }
}
