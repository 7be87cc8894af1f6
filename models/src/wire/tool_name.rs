//! Names of tools, in a form that servers accept.

use std::borrow::Cow;

/// The longest name of a tool that OpenAI and Anthropic take.
const BYTES_MAX: usize = 64;

/// The tool as the model named it, in letters that servers take: they refuse others, though their own models may
/// write them, and would refuse them again with every request of the session.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= BYTES_MAX && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let made: String = name.chars().take(BYTES_MAX).map(|c| if fits(c) { c } else { '_' }).collect();
    if made.is_empty() { Cow::Borrowed("_") } else { Cow::Owned(made) }
}
