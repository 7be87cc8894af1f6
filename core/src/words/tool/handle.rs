//! The handle of a running call. A tool uses it to report progress and to learn that the call should stop.
//!
//! Requirements: A50, B33.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::store::{StoreError, StoreErrorKind};
use crate::words::cancel::CancelReason;
use crate::words::tool::CallTransaction;

/// The maximum number of bytes of a progress text that readers see. Of a longer text, they see the end.
const MESSAGE_BYTES_MAX: usize = 4_096;

/// A report of a running call about its progress. Reports are provisional: they are shown, not kept.
///
/// ```
/// use holdover_core::tool::Progress;
///
/// let progress = Progress::text("copied a.txt").of(3, Some(9));
/// assert_eq!((progress.done, progress.total), (Some(3), Some(9)));
/// assert_eq!(Progress::from("copied a.txt").message, progress.message);
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// A text for people, of one or more lines. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The amount of work that is done, in a unit of the tool. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// The whole amount of work, in the same unit. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

impl Progress {
    /// Returns a report with this text.
    pub fn text(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Sets the amount of work that is done, and the whole amount if it is known.
    #[must_use]
    pub fn of(self, done: u64, total: Option<u64>) -> Self {
        Self { done: Some(done), total, ..self }
    }

    /// Adds a later report: its text becomes the last line, and its amounts replace earlier ones. If the text becomes
    /// longer than 4,096 bytes, its beginning is cut off.
    pub fn add(&mut self, later: Self) {
        if !self.message.is_empty() && !later.message.is_empty() {
            self.message.push('\n');
        }
        self.message.push_str(&later.message);
        let over = self.message.len().saturating_sub(MESSAGE_BYTES_MAX);
        if over > 0 {
            let from = (over..=self.message.len()).find(|at| self.message.is_char_boundary(*at));
            self.message.drain(..from.unwrap_or_default());
        }
        if later.done.is_some() {
            (self.done, self.total) = (later.done, later.total);
        }
    }
}

impl From<&str> for Progress {
    fn from(message: &str) -> Self {
        Self::text(message)
    }
}

impl From<String> for Progress {
    fn from(message: String) -> Self {
        Self::text(message)
    }
}

/// A request to stop a running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRequest {
    /// The reason.
    pub reason: CancelReason,
    /// The time that the call had to return when the request was made. After it, the future of the call is dropped.
    pub grace: Duration,
}

impl StopRequest {
    /// The request to a call whose run is over or does not wait for it any more.
    pub const GONE: Self = Self { reason: CancelReason::SystemDisposed, grace: Duration::ZERO };
}

/// The connection of a call to the run that performs it. A runtime implements it.
pub trait CallLink: Send + Sync + 'static {
    /// Shows progress to readers that follow the session. Never waits.
    fn report(&self, progress: Progress);

    /// Returns the request to stop the call, or `None` if the call may go on.
    fn stop_request(&self) -> Option<StopRequest>;

    /// Waits until the call is asked to stop.
    fn stopped(&self) -> BoxFuture<'static, StopRequest>;

    /// Begins the transaction of the call. The default refuses.
    fn begin(&self) -> BoxFuture<'static, Result<CallTransaction, StoreError>> {
        Box::pin(async { Err(without_run()) })
    }
}

fn without_run() -> StoreError {
    StoreError::new(StoreErrorKind::Unsupported, "begin", "the call has no run that begins transactions")
}

/// The handle of a running call. A clone belongs to the same call. A tool may give it to a task of its own.
///
/// The default handle shows no progress and is never asked to stop. It serves callers without a run, such as tests.
#[derive(Clone, Default)]
pub struct CallHandle(Option<Arc<dyn CallLink>>);

impl CallHandle {
    /// Creates the handle of the call that `link` connects to its run.
    pub fn new(link: impl CallLink) -> Self {
        Self(Some(Arc::new(link)))
    }

    /// Shows progress to readers that follow the session, unless the call ends first. Never waits and never fails.
    ///
    /// Progress is provisional and throttled: the reports within one interval of the runtime's `delta_interval` are
    /// shown as [one](Progress::add). The result of the call does not include it, and the model does not see it.
    pub fn report(&self, progress: impl Into<Progress>) {
        if let Some(link) = &self.0 {
            link.report(progress.into());
        }
    }

    /// Returns the request to stop the call, or `None` if the call may go on.
    pub fn stop_request(&self) -> Option<StopRequest> {
        self.0.as_ref().and_then(|link| link.stop_request())
    }

    /// Waits until the call is asked to stop. Also returns, with [`StopRequest::GONE`], when the call has ended or its
    /// run is over.
    ///
    /// A tool that heeds the request returns before the grace is over, and its result or error counts. The engine
    /// drops the future of a call that does not, and the call may end in doubt.
    pub async fn stopped(&self) -> StopRequest {
        match &self.0 {
            Some(link) => link.stopped().await,
            None => pending().await,
        }
    }

    /// Begins a transaction of the run's store, in which the call writes tables of the program. Waits until the run has
    /// no write on its way and no other transaction. See [`CallTransaction`].
    ///
    /// # Errors
    /// [`Unsupported`](StoreErrorKind::Unsupported) if the store has no such transactions, or the call is no idempotent
    /// call of a flow. [`InvalidArgument`](StoreErrorKind::InvalidArgument) if the call has an open transaction, has
    /// ended or was asked to stop. Otherwise the error of the store.
    pub async fn begin(&self) -> Result<CallTransaction, StoreError> {
        match &self.0 {
            Some(link) => link.begin().await,
            None => Err(without_run()),
        }
    }
}

/// All handles are equal, so that calls compare by their content.
impl PartialEq for CallHandle {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHandle").field("stop", &self.stop_request()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_become_lines_and_newer_amounts_replace_older_ones() {
        let mut shown = Progress::text("a").of(1, Some(3));
        shown.add(Progress::default().of(2, Some(3)));
        shown.add(Progress::text("b"));
        assert_eq!(shown, Progress::text("a\nb").of(2, Some(3)));
        let mut first = Progress::default();
        first.add(Progress::text("c"));
        assert_eq!(first, Progress::text("c"));
    }

    #[test]
    fn of_a_long_text_the_end_is_kept_and_no_character_is_split() {
        let mut shown = Progress::text("ü".repeat(MESSAGE_BYTES_MAX));
        shown.add(Progress::text("end"));
        assert!(shown.message.len() <= MESSAGE_BYTES_MAX && shown.message.len() > MESSAGE_BYTES_MAX - 2);
        assert!(shown.message.starts_with('ü') && shown.message.ends_with("ü\nend"));
    }
}
