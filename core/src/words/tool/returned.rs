//! The result of a successful call: an output, now or later, or a wait for a signal.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::time::Timestamp;
use crate::words::custom::StateChange;
use crate::words::image::Images;
use crate::words::signal::SignalName;
use crate::words::tool::ToolError;

/// The value that a successful call returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReturn {
    /// A result that is available at once.
    Output(ToolOutput),
    /// A result that becomes available after `delay`. The wait is durable, and no task runs during it.
    After {
        /// The delay, counted from now.
        delay: Duration,
        /// The output that the model sees after the delay. An output that is too large for the session's state
        /// becomes an error: see [`DEFERRED_OUTPUT_BYTES_MAX`](crate::engine::DEFERRED_OUTPUT_BYTES_MAX).
        output: ToolOutput,
    },
    /// A result that becomes available at an instant on the store's clock, which may be in the past. The wait is durable,
    /// and no task runs during it. Unlike with [`After`](Self::After), a call that is run again waits no longer.
    At {
        /// The instant.
        instant: Timestamp,
        /// The output, as for [`After`](Self::After).
        output: ToolOutput,
    },
    /// The call waits durably for a signal, and its body becomes the result. A signal that came earlier is taken at once, the
    /// oldest first. Hooks are not shown the result, so the call fails if a closed hook is about the results of its tool.
    Signal {
        /// The name of the signal.
        name: SignalName,
        /// The time after which the call stops waiting and fails, counted from now. `None`: it waits for ever.
        within: Option<Duration>,
    },
}

impl ToolReturn {
    /// Returns the output. `None`: the call waits for a signal.
    pub fn output(&self) -> Option<&ToolOutput> {
        match self {
            Self::Output(output) | Self::After { output, .. } | Self::At { output, .. } => Some(output),
            Self::Signal { .. } => None,
        }
    }

    /// Returns the same result with the output that `change` makes of its output.
    #[must_use]
    pub fn map(self, change: impl FnOnce(ToolOutput) -> ToolOutput) -> Self {
        match self {
            Self::Output(output) => Self::Output(change(output)),
            Self::After { delay, output } => Self::After { delay, output: change(output) },
            Self::At { instant, output } => Self::At { instant, output: change(output) },
            Self::Signal { .. } => self,
        }
    }
}

/// The output of a call for the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text that the model sees.
    pub content: String,
    /// True if the turn should end after this step (`tool_stop`).
    pub stop: bool,
    /// The changes to the session's [custom state](crate::words::custom), applied in order when the step is
    /// over. If one of them cannot be applied, none is, and the call becomes an error that says why.
    pub changes: Vec<StateChange>,
    /// The pictures that the model sees beside the text. A delayed result has no pictures.
    pub images: Images,
}

impl ToolOutput {
    /// Returns an output with this text.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), stop: false, changes: Vec::new(), images: Images::none() }
    }

    /// Sets the pictures that the model sees beside the text, and replaces earlier ones.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        Self { images, ..self }
    }

    /// Replaces the pictures of a delayed result with a note about their number.
    pub(crate) fn told_later(mut self) -> Self {
        let many = std::mem::take(&mut self.images).iter().count();
        if many > 0 {
            // Writing to a String does not fail.
            let _ = write!(self.content, "\n[not shown: {many} pictures; what is given later has none]");
        }
        self
    }

    /// Sets the value under `key` of the custom state. Calls see it from the next step on.
    #[must_use]
    pub fn set(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.change(StateChange::Set { key: key.into(), value: value.into() })
    }

    /// Appends `value` to the list under `key` of the custom state. If the key does not exist, creates a list
    /// with this value only.
    #[must_use]
    pub fn append(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.change(StateChange::Append { key: key.into(), value: value.into() })
    }

    /// Removes `key` from the custom state.
    #[must_use]
    pub fn delete(self, key: impl Into<String>) -> Self {
        self.change(StateChange::Delete { key: key.into() })
    }

    fn change(mut self, change: StateChange) -> Self {
        self.changes.push(change);
        self
    }

    /// Returns an output with this value as JSON text.
    ///
    /// # Errors
    /// Fails if the value cannot be written as JSON, for example a map whose keys are not strings. The tool
    /// has already acted in this case.
    pub fn json(value: &impl Serialize) -> Result<Self, ToolError> {
        let written = serde_json::to_string(value);
        written.map(Self::text).map_err(|error| ToolError::Failed(format!("its result is no JSON: {error}")))
    }
}

impl From<ToolOutput> for ToolReturn {
    fn from(output: ToolOutput) -> Self {
        Self::Output(output)
    }
}
