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

/// The writes that wait for a statement. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Groups {
    caller: Caller,
    /// The time that a write must have left to go out with others. A statement has as little time as the write that has
    /// least, so one with less goes out alone.
    left_min: Duration,
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
    until: Instant,
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
        let left_min = caller.options.operation_timeout / 2;
        Self { caller, left_min, waiting: Arc::default() }
    }

    /// Starts to apply a write that [can share](super::many::can_share) a statement.
    pub(super) fn start(&self, write: Arc<Write>) -> Started {
        let (done, verdict) = oneshot::channel();
        let until = Instant::now() + write.within.unwrap_or(self.caller.options.operation_timeout);
        let begins = {
            let mut waiting = self.lock();
            waiting.jobs.push_back(Job { write, until, done });
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
    /// or was not sent: so one write harms no other, and each gets the verdict that it would have got alone.
    async fn together(&self, group: Vec<Job>) {
        let writes: Vec<_> = group.iter().map(|job| Arc::clone(&job.write)).collect();
        let left = group.iter().map(Job::left).min().unwrap_or_default();
        let applied = match self.caller.make(&ApplyMany::new(writes, left)).await {
            Ok(applied) => applied,
            // It is not known what the server did with any of them.
            Err(error) if error.retry == Retry::OutcomeUnknown => {
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
    fn next(&mut self, left_min: Duration) -> Vec<Job> {
        let (mut group, mut left, mut places) = (Vec::new(), VecDeque::new(), HashSet::new());
        let mut bytes = 0;
        while group.len() < WRITES_MAX
            && let Some(job) = self.jobs.pop_front()
        {
            let place = job.write.before.as_ref().map(|before| before.place);
            let size = job.write.bytes();
            let is_late = job.left() < left_min;
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
        let group = waiting.next(self.groups.left_min);
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
        let verdict = caller.make(&Apply::within(Arc::clone(&self.write), self.left())).await;
        self.ends(verdict);
    }

    /// Returns the time that the write has left.
    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
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

    /// The time that a write of these tests has, and the least that it needs to share.
    const WITHIN: Duration = Duration::from_secs(10);
    const LEFT_MIN: Duration = Duration::from_secs(5);

    /// Returns a write, with its caller.
    fn job(place: u64, bytes: usize) -> (Job, oneshot::Receiver<Result<Verdict, StoreError>>) {
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
        let (done, caller) = oneshot::channel();
        (Job { write: Arc::new(write), until: Instant::now() + WITHIN, done }, caller)
    }

    /// Returns the sessions of the statements that are made of these writes.
    fn groups(jobs: Vec<Job>) -> Vec<Vec<u64>> {
        let mut waiting = Waiting { jobs: jobs.into(), out: 0 };
        let groups = std::iter::from_fn(|| Some(waiting.next(LEFT_MIN)).filter(|group| !group.is_empty()));
        groups.map(|group| places(&group)).collect()
    }

    fn places(group: &[Job]) -> Vec<u64> {
        group.iter().map(|job| job.write.before.as_ref().unwrap().place).collect()
    }

    #[test]
    fn a_group_has_one_write_of_each_session_and_keeps_the_order_of_the_others() {
        let (jobs, _callers): (Vec<_>, Vec<_>) =
            [1, 2, 1, 3, 2, 1].map(|place| job(place, 1)).into_iter().unzip();
        assert_eq!(groups(jobs), [vec![1, 2, 3], vec![1, 2], vec![1]]);
    }

    #[test]
    fn a_group_is_bounded_in_writes_and_bytes_and_a_large_write_goes_alone() {
        let (jobs, _callers): (Vec<_>, Vec<_>) = (0..100).map(|place| job(place, 1)).unzip();
        let sizes: Vec<_> = groups(jobs).iter().map(Vec::len).collect();
        assert_eq!(sizes, [WRITES_MAX, WRITES_MAX, WRITES_MAX, 100 - 3 * WRITES_MAX]);
        let sizes = [(1, BYTES_MAX + 1), (2, BYTES_MAX), (3, 1), (4, 1)];
        let (jobs, _callers): (Vec<_>, Vec<_>) =
            sizes.map(|(place, bytes)| job(place, bytes)).into_iter().unzip();
        assert_eq!(groups(jobs), [vec![1], vec![2], vec![3, 4]]);
    }

    /// A backlog must not make all writes go alone, or it would never be caught up.
    #[test]
    fn only_a_write_that_has_little_time_left_goes_alone() {
        let (mut jobs, _callers): (Vec<_>, Vec<_>) = (1..=5).map(|place| job(place, 1)).unzip();
        for (job, left) in jobs.iter_mut().zip([6, 1, 1, 6, 6]) {
            job.until = Instant::now() + Duration::from_secs(left);
        }
        assert_eq!(groups(jobs), [vec![1, 4, 5], vec![2], vec![3]]);
    }
}
