//! Writes of different sessions that are made at the same time share statements: a group commit.
//!
//! A write begins at once if few statements are under way. Otherwise, it waits for the end of one of them, and goes out
//! together with all others that wait. So groups grow with the load, and a session alone has none.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdover_store::rows::{Verdict, Write};
use holdover_store::{Retry, StoreError, StoreErrorKind};
use tokio::sync::oneshot;

use super::many::ApplyMany;
use super::write::Apply;
use crate::call::Caller;

/// The number of statements of a handle that are under way at once. While one is synced, another is made ready.
const AT_ONCE: usize = 2;
/// The most writes of one statement.
const WRITES_MAX: usize = 32;
/// The most bytes of payloads in one statement, unless it has only one write.
const BYTES_MAX: usize = 1024 * 1024;

/// The writes that wait for a statement. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Groups {
    caller: Caller,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// The number of statements that are under way.
    out: usize,
}

/// A write, and where its verdict goes.
struct Job {
    write: Arc<Write>,
    done: oneshot::Sender<Result<Verdict, StoreError>>,
}

impl Groups {
    pub(crate) fn new(caller: Caller) -> Self {
        Self { caller, waiting: Arc::default() }
    }

    /// Starts to apply a write that [can share](super::many::can_share) a statement.
    pub(super) fn start(&self, write: Arc<Write>) -> Started {
        let (done, verdict) = oneshot::channel();
        let begins = {
            let mut waiting = self.lock();
            waiting.jobs.push_back(Job { write, done });
            let begins = waiting.out < AT_ONCE;
            waiting.out += usize::from(begins);
            begins
        };
        if begins {
            tokio::spawn(self.clone().work());
        }
        Started(verdict)
    }

    /// Makes statements until no write waits.
    async fn work(self) {
        while let Some(group) = self.next() {
            self.make(group).await;
        }
    }

    /// Returns the writes of the next statement. If none waits, returns none, and counts one statement less.
    fn next(&self) -> Option<Vec<Job>> {
        let mut waiting = self.lock();
        let mut group: Vec<Job> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = waiting.jobs.front() {
            bytes += next.write.bytes();
            if !group.is_empty() && (group.len() >= WRITES_MAX || bytes > BYTES_MAX) {
                break;
            }
            group.extend(waiting.jobs.pop_front());
        }
        if group.is_empty() {
            waiting.out -= 1;
            return None;
        }
        Some(group)
    }

    /// Makes one statement. Writes that it did not apply, and those of a statement that failed, are made alone: so one
    /// write harms no other, and each gets the verdict that it would have got alone.
    async fn make(&self, group: Vec<Job>) {
        if let [_] = group.as_slice() {
            for job in group {
                job.alone(&self.caller).await;
            }
            return;
        }
        let writes: Vec<_> = group.iter().map(|job| Arc::clone(&job.write)).collect();
        let applied = match self.caller.call(ApplyMany::new(writes)).await {
            Ok(applied) => applied,
            // What was applied is not known, so nothing is repeated here.
            Err(error) if error.retry == Retry::OutcomeUnknown => {
                for job in group {
                    let error = StoreError::new(error.kind, error.operation, error.detail.clone());
                    job.ends(Err(error.retry(Retry::OutcomeUnknown)));
                }
                return;
            }
            Err(_) => vec![None; group.len()],
        };
        for (job, applied) in group.into_iter().zip(applied) {
            match (applied, job.write.before.as_ref().map(|before| before.place)) {
                (Some(now), Some(place)) => job.ends(Ok(Verdict::Applied { now, place })),
                (Some(_) | None, _) => {
                    let caller = self.caller.clone();
                    tokio::spawn(async move { job.alone(&caller).await });
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // No code under this lock can panic halfway through a change.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write that goes on, also if its verdict is not awaited.
pub(super) struct Started(oneshot::Receiver<Result<Verdict, StoreError>>);

impl Started {
    /// Waits for the verdict.
    pub(super) async fn ended(self) -> Result<Verdict, StoreError> {
        self.0.await.unwrap_or_else(|_| {
            let detail = "the runtime ended before the answer came";
            let error = StoreError::new(StoreErrorKind::Unavailable, "apply", detail);
            Err(error.retry(Retry::OutcomeUnknown))
        })
    }
}

impl Job {
    async fn alone(self, caller: &Caller) {
        let verdict = caller.call(Apply::new(Arc::clone(&self.write))).await;
        self.ends(verdict);
    }

    fn ends(self, verdict: Result<Verdict, StoreError>) {
        // The caller may have given up.
        let _ = self.done.send(verdict);
    }
}
