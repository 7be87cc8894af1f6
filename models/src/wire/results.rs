//! The results of a transcript's calls. They are sent directly after the message with their calls.

use std::collections::HashMap;
use std::sync::Arc;

use holdover_core::ids::CallId;
use holdover_core::list::SharedList;
use holdover_core::message::{Message, ToolResult};
use holdover_core::model::{ModelError, ModelErrorKind};

/// The results of a transcript, by call.
pub(crate) struct Results<'a>(HashMap<&'a CallId, &'a ToolResult>);

impl<'a> Results<'a> {
    pub(crate) fn in_transcript(messages: &'a SharedList<Arc<Message>>) -> Self {
        let result = |message: &'a Arc<Message>| match &**message {
            Message::Tool(result) => Some((&result.call, result)),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        };
        Self(messages.iter().filter_map(result).collect())
    }

    /// Returns the result of `call`. Fails with an error of kind `Configuration` if it is missing, because no server
    /// accepts such a transcript.
    pub(crate) fn of(&self, call: &CallId) -> Result<&'a ToolResult, ModelError> {
        self.0.get(call).copied().ok_or_else(|| {
            let why = format!("the transcript has no result of call {call}");
            ModelError::new(ModelErrorKind::Configuration, why)
        })
    }
}

/// Returns the text of a result for the model. A note replaces an empty text, because servers refuse empty texts.
pub(crate) fn told(result: &ToolResult) -> &str {
    if result.content.trim().is_empty() { "[no output]" } else { &result.content }
}
