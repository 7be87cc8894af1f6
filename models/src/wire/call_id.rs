//! Call ids in a form that servers accept.

use std::borrow::Cow;

use holdover_core::ids::CallId;

/// The longest call id that OpenAI accepts, in bytes. Anthropic accepts longer ones.
const BYTES_MAX: usize = 40;

/// Returns the call id if servers accept it. Otherwise, returns an id made from it and from the number of calls before
/// it in the request.
pub(crate) fn call_id(id: &CallId, calls_before: usize) -> Cow<'_, str> {
    let id = id.as_str();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if id.len() <= BYTES_MAX && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    let mut made = format!("call_{calls_before}_");
    made.extend(id.chars().map(|c| if fits(c) { c } else { '_' }));
    made.truncate(BYTES_MAX);
    Cow::Owned(made)
}
