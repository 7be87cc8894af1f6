//! A layer that records each request to a store and its answer.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdover_store::{Answer, Layer, Layered, Request, Retry, StateStore, StoreError, StoreErrorKind};

/// A store whose [`Recorder`] records all calls.
pub type Recording<S> = Layered<S, Recorder>;

/// A layer that records calls in the order in which they began. Clones share one record.
#[derive(Clone)]
pub struct Recorder {
    record: Arc<Mutex<Record>>,
    calls_max: usize,
}

#[derive(Default)]
struct Record {
    entries: VecDeque<Entry>,
    asked: u64,
}

/// One recorded call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The number of the call among all calls, from 1.
    pub number: u64,
    /// The request.
    pub request: Request,
    /// The end of the call; none while it runs.
    pub said: Option<Said>,
    /// The time from the request to the end of the call; zero while it runs.
    pub took: Duration,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// The call returned this answer.
    Answer(Box<Answer>),
    /// The call failed with this error.
    Error {
        /// The kind of the error.
        kind: StoreErrorKind,
        /// The advice on whether to retry.
        retry: Retry,
        /// The error as text.
        text: String,
    },
    /// The caller dropped the future of the call before it completed.
    GivenUp,
}

impl Recorder {
    /// Makes a recorder that keeps the newest `calls_max` calls (at least one), including their payloads. The
    /// recorded payloads share memory with those of the callers.
    pub fn new(calls_max: usize) -> Self {
        Self { record: Arc::default(), calls_max: calls_max.max(1) }
    }

    /// Wraps `store` so that this recorder records its calls.
    pub fn around<S: StateStore>(&self, store: impl Into<Arc<S>>) -> Recording<S> {
        Layered::new(store, self.clone())
    }

    /// Returns the recorded calls, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.iter().cloned().collect()
    }

    /// Removes and returns the recorded calls, oldest first. This includes running calls, whose ends are then
    /// not recorded.
    pub fn take(&self) -> Vec<Entry> {
        self.lock().entries.drain(..).collect()
    }

    /// Returns the number of all calls so far, including those that are no longer recorded.
    pub fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// Returns the number of recorded calls of `operation`, the name of a method of [`StateStore`].
    pub fn count(&self, operation: &str) -> usize {
        self.lock().entries.iter().filter(|entry| entry.request.operation() == operation).count()
    }

    fn ask(&self, request: Request) -> Out {
        let mut record = self.lock();
        record.asked += 1;
        let number = record.asked;
        if record.entries.len() == self.calls_max {
            record.entries.pop_front();
        }
        record.entries.push_back(Entry { number, request, said: None, took: Duration::ZERO });
        Out { recorder: self.clone(), number, began: Instant::now(), ended: false }
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running call. If it is dropped before it ends, the caller gave up.
struct Out {
    recorder: Recorder,
    number: u64,
    began: Instant,
    ended: bool,
}

impl Out {
    fn end(&mut self, said: Said) {
        self.ended = true;
        let mut record = self.recorder.lock();
        let newest_first = record.entries.iter_mut().rev();
        for entry in newest_first.take_while(|entry| entry.number >= self.number) {
            if entry.number == self.number {
                entry.said = Some(said);
                entry.took = self.began.elapsed();
                return;
            }
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Said::GivenUp);
        }
    }
}

#[async_trait]
impl Layer for Recorder {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let mut out = self.ask(request.clone());
        let answer = request.perform(&store).await;
        out.end(match &answer {
            Ok(answer) => Said::Answer(Box::new(answer.clone())),
            Err(error) => Said::Error { kind: error.kind, retry: error.retry, text: error.to_string() },
        });
        answer
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("asked", &self.asked()).finish_non_exhaustive()
    }
}
