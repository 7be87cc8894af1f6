//! The parts of an answer that have arrived while a model call runs. If the answer is never completed, they are
//! kept and counted. Also, the calls that began meanwhile, which are shown among the deltas of the answer.

use std::sync::{Arc, Mutex, PoisonError};

use holdover_core::delta::Delta;
use holdover_core::model::{ModelError, ModelEvent, PartialUse, TokenUsage};
use tokio::sync::Notify;

/// The parts of an answer that have arrived.
#[derive(Clone, Default)]
pub(super) struct Came(Arc<Shared>);

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    /// Notified when a call has begun.
    begins: Notify,
}

#[derive(Default)]
struct Inner {
    /// The text, or `None` if it is not kept when the call is stopped.
    said: Option<String>,
    /// True once the model was asked.
    asked: bool,
    /// True once an answer has begun.
    begun: bool,
    counted: TokenUsage,
    /// True once the answer is complete.
    whole: bool,
    /// Bytes of text and reasoning.
    shown: usize,
    /// Bytes of arguments, counted piece by piece. `written` has those of finished calls. Not every adapter reports
    /// both.
    wrote: usize,
    written: usize,
    /// The calls that began while the answer comes, and are not shown yet.
    begins: Vec<Delta>,
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
    /// Creates an empty record. `keeps` says whether the text is kept when the call is stopped.
    pub(super) fn new(keeps: bool) -> Self {
        let inner = Mutex::new(Inner { said: keeps.then(String::new), ..Inner::default() });
        Self(Arc::new(Shared { inner, begins: Notify::new() }))
    }

    /// Notes that the model is asked.
    pub(super) fn asked(&self) {
        self.with(|came| came.asked = true);
    }

    /// Records an event of the stream.
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

    /// Has the start of a call shown among the deltas of the answer, if the answer is still coming.
    pub(super) fn show(&self, begun: Delta) {
        self.with(|came| came.begins.push(begun));
        self.0.begins.notify_one();
    }

    /// Waits until calls have begun, and returns them. The future may be dropped and created again.
    pub(super) async fn begins(&self) -> Vec<Delta> {
        loop {
            let begun = self.with(|came| std::mem::take(&mut came.begins));
            if !begun.is_empty() {
                return begun;
            }
            self.0.begins.notified().await;
        }
    }

    /// Returns the error, with the usage of the call if an answer had begun.
    pub(super) fn broke_off(&self, error: ModelError) -> ModelError {
        let used = self.with(|came| came.begun.then(|| came.used()));
        ModelError { used: error.used.or(used), ..error }
    }

    /// Returns the text that had come, and the usage if the model was asked. The usage counts because the model has
    /// read the request, even if its answer is not awaited any more.
    pub(super) fn take(&self) -> (String, Option<PartialUse>) {
        self.with(|came| (came.said.take().unwrap_or_default(), came.asked.then(|| came.used())))
    }

    fn with<T>(&self, does: impl FnOnce(&mut Inner) -> T) -> T {
        does(&mut self.0.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
