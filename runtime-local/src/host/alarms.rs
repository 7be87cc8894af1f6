//! The alarms of sessions that this process left to workers. Its own workers look at the store at once when one of
//! them rings, so that a session which waits for an instant does not also wait for the next look.
//!
//! Nothing depends on an alarm here: the store has it too, and a worker that only polls finds the session.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use futures::future::pending;
use holdover_core::time::Timestamp;
use tokio::sync::watch;
use tokio::time::sleep;

/// The maximum number of instants that are remembered: the soonest ones.
const REMEMBERED_MAX: usize = 4096;
/// The time for which an instant that has come is remembered, for listeners that began before it.
const REMEMBERED_FOR_MS: i64 = 10_000;

/// The instants at which sessions want a worker. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Alarms(Arc<watch::Sender<BTreeSet<Timestamp>>>);

impl Alarms {
    /// Notes that a session wants a worker at `at`. It is `now`.
    pub(crate) fn note(&self, at: Timestamp, now: Timestamp) {
        self.0.send_if_modified(|alarms| {
            let forgotten = Timestamp::from_ms(now.as_ms().saturating_sub(REMEMBERED_FOR_MS));
            while alarms.first().is_some_and(|first| *first < forgotten) {
                alarms.pop_first();
            }
            let is_new = alarms.insert(at);
            if alarms.len() > REMEMBERED_MAX {
                alarms.pop_last();
            }
            is_new && alarms.range(now.min(at)..).next() == Some(&at)
        });
    }

    /// Starts to listen, `now`. The bell rings for each instant after that, also for one that is noted later.
    pub(crate) fn listen(&self, now: Timestamp) -> Bell {
        Bell { alarms: self.0.subscribe(), after: now }
    }
}

/// A wait for the next alarm.
pub(crate) struct Bell {
    alarms: watch::Receiver<BTreeSet<Timestamp>>,
    after: Timestamp,
}

impl Bell {
    /// Returns once an alarm has come by the clock `now`. The future may be dropped and created again.
    pub(crate) async fn rings(&mut self, now: impl Fn() -> Timestamp) {
        loop {
            let next = {
                let alarms = self.alarms.borrow_and_update();
                alarms.range((Excluded(self.after), Unbounded)).next().copied()
            };
            let rung = async {
                match next {
                    Some(at) => sleep(now().until(at)).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = rung => return,
                changed = self.alarms.changed() => {
                    if changed.is_err() {
                        return pending().await;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::time::Duration;

    use futures::poll;
    use tokio::time::Instant;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    /// Returns a clock that shows 0 now.
    fn clock() -> impl Fn() -> Timestamp {
        let began = Instant::now();
        move || at(0).after(began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn every_listener_hears_the_soonest_alarm_also_one_that_is_noted_while_it_waits() {
        let (alarms, now) = (Alarms::default(), clock());
        alarms.note(at(500), now());
        let (mut one, mut other) = (alarms.listen(now()), alarms.listen(now()));
        {
            let mut waits = Box::pin(one.rings(&now));
            assert!(poll!(waits.as_mut()).is_pending());
            alarms.note(at(200), now());
            alarms.note(at(300), now());
            waits.await;
        }
        assert_eq!(now(), at(200));
        other.rings(&now).await;
        assert_eq!(now(), at(200), "also one that did not wait meanwhile");
        for next in [300, 500] {
            alarms.listen(now()).rings(&now).await;
            assert_eq!(now(), at(next), "one that has come does not ring for new listeners");
        }
        let silent = tokio::time::timeout(Duration::from_secs(3600), async {
            alarms.listen(now()).rings(&now).await;
        });
        assert!(silent.await.is_err(), "no alarm is left");
    }

    #[tokio::test(start_paused = true)]
    async fn the_soonest_are_remembered_and_no_more_than_the_limit() {
        let (alarms, now) = (Alarms::default(), clock());
        for ms in (1..=10_000).rev() {
            alarms.note(at(ms), now());
        }
        assert_eq!(alarms.0.borrow().len(), REMEMBERED_MAX);
        alarms.listen(now()).rings(&now).await;
        assert_eq!(now(), at(1));
        tokio::time::sleep(Duration::from_secs(60)).await;
        alarms.note(at(100_000), now());
        assert_eq!(alarms.0.borrow().len(), 1, "those that came long ago are forgotten");
    }
}
