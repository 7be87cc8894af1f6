//! What has arrived of an answer to a running model call: what is kept and counted of it if it never becomes
//! complete.

use std::sync::{Arc, Mutex, PoisonError};

use holdover_core::model::{ModelError, ModelEvent, PartialUse, TokenUsage};

/// What has come of an answer.
#[derive(Clone, Default)]
pub(super) struct Came(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// The text; none where it is not kept when the call is stopped.
    said: Option<String>,
    /// Whether the model was asked.
    asked: bool,
    /// Whether an answer began.
    begun: bool,
    counted: TokenUsage,
    /// Whether the answer came whole.
    whole: bool,
    /// Bytes of text and reasoning.
    shown: usize,
    /// Bytes of arguments, piece by piece, and of those that are whole: not every adapter says both.
    wrote: usize,
    written: usize,
}

impl Inner {
    fn used(&self) -> PartialUse {
        let bytes = self.shown.saturating_add(self.wrote.max(self.written));
        PartialUse { counted: self.counted, bytes, whole: self.whole }
    }
}

fn add(bytes: &mut usize, text: &str) {
    *bytes = bytes.saturating_add(text.len());
}

impl Came {
    /// Nothing yet. `keeps`: whether the text is kept when the call is stopped.
    pub(super) fn new(keeps: bool) -> Self {
        Self(Arc::new(Mutex::new(Inner { said: keeps.then(String::new), ..Inner::default() })))
    }

    /// The model is asked from here on.
    pub(super) fn asked(&self) {
        self.with(|came| came.asked = true);
    }

    /// Takes note of what came.
    pub(super) fn hear(&self, event: &ModelEvent) {
        self.with(|came| {
            came.begun = true;
            match event {
                ModelEvent::Text(text) => {
                    add(&mut came.shown, text);
                    if let Some(said) = &mut came.said {
                        said.push_str(text);
                    }
                }
                ModelEvent::Reasoning(text) => add(&mut came.shown, text),
                ModelEvent::Wrote(bytes) => came.wrote = came.wrote.saturating_add(*bytes),
                ModelEvent::CallWritten { arguments, .. } => add(&mut came.written, arguments),
                ModelEvent::Counted(usage) => came.counted = *usage,
                ModelEvent::Finished(answer) => {
                    came.counted = answer.usage;
                    came.whole = true;
                }
                ModelEvent::CallStarted { .. } | ModelEvent::Progress => {}
            }
        });
    }

    /// The error, with what the call had used if an answer had begun.
    pub(super) fn broke_off(&self, error: ModelError) -> ModelError {
        let used = self.with(|came| came.begun.then(|| came.used()));
        ModelError { used: error.used.or(used), ..error }
    }

    /// Returns the text that had come, and the usage if the model was asked. A model that is no longer
    /// listened to has still read the request.
    pub(super) fn take(&self) -> (String, Option<PartialUse>) {
        self.with(|came| (came.said.take().unwrap_or_default(), came.asked.then(|| came.used())))
    }

    fn with<T>(&self, does: impl FnOnce(&mut Inner) -> T) -> T {
        does(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
