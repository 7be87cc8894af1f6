//! Writes of different sessions that are made at the same time share statements: a group commit.
//!
//! A write begins at once if few statements are under way. Otherwise, it waits for the end of one of them, and goes out
//! together with all others that wait. So groups grow with the load, and a session alone has none.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdover_store::rows::{Verdict, Write};
use holdover_store::{Retry, StoreError, StoreErrorKind};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::many::ApplyMany;
use super::write::Apply;
use crate::call::Caller;

/// The number of statements of a handle that are under way at once. While one is synced, another is made ready.
const AT_ONCE: usize = 2;
/// The most writes of one statement.
const WRITES_MAX: usize = 32;
/// The most bytes of payloads in one statement, unless it has only one write.
const BYTES_MAX: usize = 1024 * 1024;
/// The time after which a statement, which may wait for a lock, no longer keeps others from beginning.
const SLOW: Duration = Duration::from_millis(50);
/// The time that a write may have waited to go out with others. One that has waited longer has less time left than they, so
/// it goes out alone.
const WAITED_MAX: Duration = Duration::from_millis(500);

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
    asked: Instant,
    done: oneshot::Sender<Result<Verdict, StoreError>>,
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

impl Groups {
    pub(crate) fn new(caller: Caller) -> Self {
        Self { caller, waiting: Arc::default() }
    }

    /// Starts to apply a write that [can share](super::many::can_share) a statement.
    pub(super) fn start(&self, write: Arc<Write>) -> Started {
        let (done, verdict) = oneshot::channel();
        let begins = {
            let mut waiting = self.lock();
            waiting.jobs.push_back(Job { write, asked: Instant::now(), done });
            let begins = waiting.out < AT_ONCE;
            waiting.out += usize::from(begins);
            begins
        };
        if begins {
            Slot { groups: self.clone(), held: true }.begin();
        }
        Started(verdict)
    }

    /// Makes one statement, or one for each write that goes out alone.
    async fn make(&self, group: Vec<Job>) {
        match <[Job; 1]>::try_from(group) {
            Ok([job]) => job.alone(&self.caller).await,
            Err(group) => self.together(group).await,
        }
    }

    /// Makes a statement of several writes. Those that it did not apply are made alone, and all of them if it failed
    /// because of one: so one write harms no other, and each gets the verdict that it would have got alone.
    async fn together(&self, group: Vec<Job>) {
        let writes: Vec<_> = group.iter().map(|job| Arc::clone(&job.write)).collect();
        let applied = match self.caller.make(&ApplyMany::new(writes)).await {
            Ok(applied) => applied,
            // The server does not answer, or what it did is not known. Alone, no write would fare better.
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                return group.into_iter().for_each(|job| job.ends(Err(copy_of(&error))));
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

impl Waiting {
    /// Takes the writes of the next statement, each of another session. A write of the same session stays: its caller
    /// gave up the one before, and began anew on what it found.
    fn next(&mut self) -> Vec<Job> {
        let (mut group, mut left, mut places) = (Vec::new(), VecDeque::new(), HashSet::new());
        let mut bytes = 0;
        while group.len() < WRITES_MAX
            && let Some(job) = self.jobs.pop_front()
        {
            let place = job.write.before.as_ref().map(|before| before.place);
            let size = job.write.bytes();
            let is_late = job.asked.elapsed() > WAITED_MAX;
            let fits = bytes + size <= BYTES_MAX && !places.contains(&place) && !is_late;
            if group.is_empty() || fits {
                bytes += size;
                places.insert(place);
                group.push(job);
                if is_late {
                    break;
                }
            } else {
                left.push_back(job);
            }
        }
        left.append(&mut self.jobs);
        self.jobs = left;
        group
    }
}

/// The right to have a statement under way. If it is dropped before all waiting writes went out, because the runtime ends,
/// and no other is left, they get no verdict.
struct Slot {
    groups: Groups,
    held: bool,
}

impl Slot {
    /// Starts a task that makes statements until no write waits.
    fn begin(self) {
        tokio::spawn(self.work());
    }

    async fn work(mut self) {
        let groups = self.groups.clone();
        while let Some(group) = self.next() {
            let mut made = pin!(groups.make(group));
            if timeout(SLOW, &mut made).await.is_err() {
                self.begin();
                return made.await;
            }
        }
    }

    /// Returns the writes of the next statement. If none waits, returns none, and gives the slot back.
    fn next(&mut self) -> Option<Vec<Job>> {
        let mut waiting = self.groups.lock();
        let group = waiting.next();
        if group.is_empty() {
            waiting.out -= 1;
            drop(waiting);
            self.held = false;
            return None;
        }
        Some(group)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.held {
            let mut waiting = self.groups.lock();
            waiting.out -= 1;
            if waiting.out == 0 {
                waiting.jobs.clear();
            }
        }
    }
}

impl Job {
    /// Makes the write alone, in the time that it has left.
    async fn alone(self, caller: &Caller) {
        let within = self.write.within.unwrap_or(caller.options.operation_timeout);
        let left = within.saturating_sub(self.asked.elapsed());
        let verdict = caller.make(&Apply::within(Arc::clone(&self.write), left)).await;
        self.ends(verdict);
    }

    fn ends(self, verdict: Result<Verdict, StoreError>) {
        // The caller may have given up.
        let _ = self.done.send(verdict);
    }
}

/// Returns the same error for another write of the statement.
fn copy_of(error: &StoreError) -> StoreError {
    let cause = error.source.as_ref().map(|source| source.to_string().replace('\n', " "));
    let detail = [Some(error.detail.clone()), cause].into_iter().flatten().filter(|text| !text.is_empty());
    let detail = detail.collect::<Vec<_>>().join(": ");
    StoreError::new(error.kind, error.operation, detail).retry(error.retry)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use holdover_store::ids::SessionKey;
    use holdover_store::payload::Payload;
    use holdover_store::rows::{Op, Row, Slot as Held, Token};
    use holdover_store::time::Timestamp;

    use super::*;

    fn job(place: u64, bytes: usize) -> Job {
        let write = Write {
            key: SessionKey::new("acme".parse().unwrap(), format!("s{place}").parse().unwrap()),
            before: Some(Arc::new(Held { token: Token(1), place, row: None, lives: Vec::new() })),
            after: None,
            ops: vec![Op::Put(Row::State(Payload::new(" ".repeat(bytes))))],
            copy: None,
            from: Timestamp::EPOCH,
            until: Timestamp::EPOCH,
            provisional: false,
            skip_held: false,
            within: None,
        };
        Job { write: Arc::new(write), asked: Instant::now(), done: oneshot::channel().0 }
    }

    fn places(group: &[Job]) -> Vec<u64> {
        group.iter().map(|job| job.write.before.as_ref().unwrap().place).collect()
    }

    #[test]
    fn a_group_has_one_write_of_each_session_and_keeps_the_order_of_the_others() {
        let jobs = [1, 2, 1, 3, 2, 1].map(|place| job(place, 1));
        let mut waiting = Waiting { jobs: jobs.into(), out: 0 };
        let groups: Vec<_> = (0..4).map(|_| places(&waiting.next())).collect();
        assert_eq!(groups, [vec![1, 2, 3], vec![1, 2], vec![1], vec![]]);
    }

    #[test]
    fn a_group_is_bounded_in_writes_and_bytes_and_a_large_write_goes_alone() {
        let jobs = (0..100).map(|place| job(place, 1)).collect();
        let mut waiting = Waiting { jobs, out: 0 };
        assert_eq!([waiting.next().len(), waiting.next().len()], [WRITES_MAX, WRITES_MAX]);
        let jobs = [job(1, BYTES_MAX + 1), job(2, BYTES_MAX), job(3, 1), job(4, 1)].into();
        let mut waiting = Waiting { jobs, out: 0 };
        let groups: Vec<_> = (0..3).map(|_| places(&waiting.next())).collect();
        assert_eq!(groups, [vec![1], vec![2], vec![3, 4]]);
    }

    #[test]
    fn a_write_that_has_waited_long_goes_alone() {
        let long_ago = Instant::now().checked_sub(2 * WAITED_MAX).unwrap();
        let late = |place| Job { asked: long_ago, ..job(place, 1) };
        let mut waiting = Waiting { jobs: [late(1), late(2), job(3, 1), job(4, 1)].into(), out: 0 };
        let groups: Vec<_> = (0..3).map(|_| places(&waiting.next())).collect();
        assert_eq!(groups, [vec![1], vec![2], vec![3, 4]]);
    }
}
