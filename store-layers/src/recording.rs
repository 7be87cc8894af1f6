//! A store that records each request and its answer.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdover_store::{Answer, Layer, Layered, Request, Retry, StateStore, StoreError, StoreErrorKind};

/// A store whose [`Recorder`] keeps what passes.
pub type Recording<S> = Layered<S, Recorder>;

/// Keeps calls in the order in which they were asked. A clone keeps into the same record.
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

/// One call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Its place among all calls, from 1.
    pub number: u64,
    /// What was asked.
    pub request: Request,
    /// How it ended; none while it is out.
    pub said: Option<Said>,
    /// From the question to its end.
    pub took: Duration,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// With this answer.
    Answer(Box<Answer>),
    /// With this error.
    Error {
        /// What went wrong.
        kind: StoreErrorKind,
        /// Whether trying again makes sense.
        retry: Retry,
        /// As it is shown.
        text: String,
    },
    /// Whoever asked gave up before it was answered.
    GivenUp,
}

impl Recorder {
    /// Keeps the newest `calls_max` calls, with everything in them: their payloads share memory with those that
    /// passed.
    pub fn new(calls_max: usize) -> Self {
        Self { record: Arc::default(), calls_max: calls_max.max(1) }
    }

    /// A store whose calls are kept here.
    pub fn around<S: StateStore>(&self, store: impl Into<Arc<S>>) -> Recording<S> {
        Layered::new(store, self.clone())
    }

    /// What is kept, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.iter().cloned().collect()
    }

    /// Takes what is kept, oldest first. Calls that are out are taken too; how they end is not kept.
    pub fn take(&self) -> Vec<Entry> {
        self.lock().entries.drain(..).collect()
    }

    /// How many calls were ever asked.
    pub fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// How many of the kept calls are of `operation`, as the trait calls it.
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

/// A call that is out. Dropped before it was answered, it was given up.
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
