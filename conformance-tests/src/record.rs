//! Records the requests to a store, its answers, and the duration of each operation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdover_store::{Answer, Layer, Layered, Request, StateStore, StoreError};

use crate::latency::Latencies;
use crate::shown::shown;

/// The maximum number of operations that are kept.
const OPERATIONS_MAX: usize = 30;

/// The newest operations on a store, over all its handles, in the order in which they were requested. When the list is
/// full, the oldest read is dropped first, since reads change nothing. A read that repeats an earlier one with the same
/// answer is only counted.
#[derive(Clone, Default)]
pub(crate) struct History {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    operations: VecDeque<Operation>,
    asked: u64,
    latencies: Latencies,
    closed: bool,
}

struct Operation {
    number: u64,
    handle: u32,
    request: Request,
    end: Option<End>,
    began: Instant,
    times: u32,
}

/// The end of an operation.
#[derive(PartialEq)]
enum End {
    Answered(Box<Answer>),
    Failed(String),
    /// The operation was cancelled, or it panicked.
    Dropped,
}

impl Operation {
    fn reads(&self) -> bool {
        !self.request.writes() && !matches!(self.request, Request::Wait(..))
    }

    /// Returns true if this is the same request of the same handle, with the same answer.
    fn repeats(&self, earlier: &Self, end: &End) -> bool {
        earlier.handle == self.handle && earlier.request == self.request && earlier.end.as_ref() == Some(end)
    }

    fn text(&self) -> String {
        let arguments: Vec<String> = self.request.arguments().iter().map(shown).collect();
        let times = if self.times > 1 { format!(" ({} times)", self.times) } else { String::new() };
        let answer = match &self.end {
            None => "no answer yet".into(),
            Some(End::Answered(answer)) => shown(&answer.outcome()),
            Some(End::Failed(error)) => format!("the error {error}"),
            Some(End::Dropped) => "dropped before it answered".into(),
        };
        let (handle, operation) = (self.handle, self.request.operation());
        format!("#{handle} {operation} {}{times}\n   → {answer}", arguments.join(", "))
    }
}

impl History {
    fn asked(&self, handle: u32, request: Request) -> u64 {
        let mut kept = self.lock();
        kept.asked += 1;
        let number = kept.asked;
        if kept.operations.len() == OPERATIONS_MAX {
            let oldest_read = kept.operations.iter().position(Operation::reads);
            kept.operations.remove(oldest_read.unwrap_or_default());
        }
        let began = Instant::now();
        kept.operations.push_back(Operation { number, handle, request, end: None, began, times: 1 });
        number
    }

    fn ended(&self, number: u64, end: End) {
        let mut kept = self.lock();
        if kept.closed {
            return;
        }
        let Some(at) = kept.operations.iter().position(|operation| operation.number == number) else {
            return;
        };
        let same = kept.same_read_before(at, &end);
        match same.and_then(|same| kept.operations.get_mut(same)) {
            Some(same) => {
                same.times += 1;
                kept.operations.remove(at);
            }
            None => {
                if let Some(operation) = kept.operations.get_mut(at) {
                    operation.end = Some(end);
                }
            }
        }
    }

    /// Removes all operations from the list, for a case that repeats its steps.
    pub(crate) fn forget(&self) {
        self.lock().operations.clear();
    }

    /// Returns one text for each operation, oldest first.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.lock().operations.iter().map(Operation::text).collect()
    }

    /// Freezes the history: open operations stay unanswered. Returns why the case ran out of time: either operations
    /// had no answer for `hangs_after`, or there were too many operations.
    pub(crate) fn close(&self, hangs_after: Duration) -> String {
        let mut kept = self.lock();
        kept.closed = true;
        let hangs = |one: &&Operation| one.end.is_none() && one.began.elapsed() >= hangs_after;
        match kept.operations.iter().filter(hangs).count() {
            0 => {
                format!("none: too slow, though {} operations were answered one after the other", kept.asked)
            }
            hang => format!("none: {hang} of the operations below had no answer for {hangs_after:?}"),
        }
    }

    /// Returns the durations of the operations.
    pub(crate) fn latencies(&self) -> Latencies {
        self.lock().latencies.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Returns the index of an earlier read by the same handle with the same request and answer, if only reads came
    /// since.
    fn same_read_before(&self, at: usize, end: &End) -> Option<usize> {
        let this = self.operations.get(at)?;
        let before = self.operations.iter().enumerate().take(at).rev();
        let mut reads = before.take_while(|(_, operation)| this.reads() && operation.reads());
        reads.find(|(_, operation)| this.repeats(operation, end)).map(|(index, _)| index)
    }
}

/// A store that records requests and answers for the text of a failure.
pub(crate) type Recorded = Layered<Arc<dyn StateStore>, Recording>;

/// Wraps a store so that its operations go into `history` with the handle number `handle`.
pub(crate) fn recorded(store: Arc<dyn StateStore>, handle: u32, history: History) -> Recorded {
    Layered::new(store, Recording { handle, history })
}

/// A layer that records requests and answers.
pub(crate) struct Recording {
    handle: u32,
    history: History,
}

#[async_trait]
impl Layer for Recording {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let operation = request.operation();
        let number = self.history.asked(self.handle, request.clone());
        let asked = Asked { history: &self.history, number };
        let began = Instant::now();
        let answer = request.perform(&store).await;
        self.history.lock().latencies.add(operation, began.elapsed());
        self.history.ended(
            number,
            match &answer {
                Ok(answer) => End::Answered(answer.clone().into()),
                Err(error) => End::Failed(error.to_string()),
            },
        );
        drop(asked);
        answer
    }
}

/// A guard for an operation in progress. If it is dropped before the answer, the operation is recorded as dropped.
struct Asked<'a> {
    history: &'a History,
    number: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut kept = self.history.lock();
        if kept.closed {
            return;
        }
        let mut operations = kept.operations.iter_mut();
        if let Some(open) = operations.find(|one| one.number == self.number && one.end.is_none()) {
            open.end = Some(End::Dropped);
        }
    }
}
