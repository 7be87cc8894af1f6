//! Sessions that a worker claimed and could not run. Each is given back for some time, and is not run here before
//! that time is over.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdover_core::ids::{EventSeq, SessionKey};
use tokio::time::Instant;

use super::claim::GIVE_BACK_FOR;

/// The time for which a session is given back at first. It is short, so that a worker that can run the session gets
/// it soon.
const FIRST: Duration = Duration::from_millis(250);

/// The maximum number of remembered sessions. If there are more, all are forgotten, and their times start again at
/// the minimum.
const SESSIONS_MAX: usize = 1024;

/// The time for which each session was last given back here. It doubles with each failed claim in a row, up to
/// [`GIVE_BACK_FOR`]. So a worker that cannot run a session does not keep it from the others, and a session that no
/// worker can run causes a claim only now and then. If a run anywhere makes progress in between, the time starts at
/// the minimum again.
#[derive(Debug, Default)]
pub(super) struct Unbuilt {
    sessions: Mutex<HashMap<SessionKey, Given>>,
}

/// The last time that a session was given back.
#[derive(Debug, Clone, Copy)]
struct Given {
    back_for: Duration,
    until: Instant,
    last_event: EventSeq,
}

impl Unbuilt {
    /// Notes that the session could not be run; `last_event` is its newest event. Returns the time for which it is
    /// given back.
    pub(super) fn again(&self, key: &SessionKey, last_event: EventSeq) -> Duration {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(key) {
            sessions.clear();
        }
        let back_for = match sessions.get(key) {
            Some(last) if last.last_event == last_event => last.back_for.saturating_mul(2).min(GIVE_BACK_FOR),
            Some(_) | None => FIRST,
        };
        sessions.insert(key.clone(), Given { back_for, until: Instant::now() + back_for, last_event });
        back_for
    }

    /// Returns true if the session is still given back: the time is not over, and no run has appended an event since.
    pub(super) fn is_left_alone(&self, key: &SessionKey, last_event: EventSeq) -> bool {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(key).is_some_and(|given| given.last_event == last_event && Instant::now() < given.until)
    }

    /// Returns the time that a worker with the interval `poll` waits before it looks again. After this wait, all
    /// other workers have looked at the sessions that became due again within the last `poll`.
    pub(super) fn others_first(&self, poll: Duration) -> Duration {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let due_again = sessions.values().map(|given| given.until).filter(|until| *until <= now);
        due_again.max().map_or(Duration::ZERO, |until| (until + poll).saturating_duration_since(now))
    }

    /// Notes that the session can be run.
    pub(super) fn forget(&self, key: &SessionKey) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use holdover_core::ids::{SessionId, TenantId};

    use super::*;

    fn key(id: usize) -> SessionKey {
        SessionKey::new(TenantId::new("t").unwrap(), SessionId::new(format!("s{id}")).unwrap())
    }

    #[test]
    fn a_session_is_given_back_for_longer_and_longer_and_at_first_for_a_moment() {
        let unbuilt = Unbuilt::default();
        let times: Vec<Duration> = (0..10).map(|_| unbuilt.again(&key(1), EventSeq(3))).collect();
        assert_eq!(times[0], FIRST);
        assert!(times.windows(2).all(|pair| pair[1] == (pair[0] * 2).min(GIVE_BACK_FOR)), "{times:?}");
        assert_eq!(times.last(), Some(&GIVE_BACK_FOR));
        assert_eq!(unbuilt.again(&key(2), EventSeq(3)), FIRST, "each by itself");
        assert_eq!(unbuilt.again(&key(1), EventSeq(4)), FIRST, "somebody ran it in between");
        unbuilt.forget(&key(1));
        assert_eq!(unbuilt.again(&key(1), EventSeq(4)), FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_left_alone_for_as_long_as_it_was_given_back_unless_somebody_ran_it() {
        let unbuilt = Unbuilt::default();
        assert!(!unbuilt.is_left_alone(&key(1), EventSeq(3)));
        unbuilt.again(&key(1), EventSeq(3));
        assert!(unbuilt.is_left_alone(&key(1), EventSeq(3)));
        assert!(!unbuilt.is_left_alone(&key(1), EventSeq(4)) && !unbuilt.is_left_alone(&key(2), EventSeq(3)));
        tokio::time::advance(FIRST).await;
        assert!(!unbuilt.is_left_alone(&key(1), EventSeq(3)));
    }

    #[tokio::test(start_paused = true)]
    async fn others_have_looked_once_before_it_is_taken_again() {
        let (unbuilt, poll) = (Unbuilt::default(), Duration::from_secs(1));
        unbuilt.again(&key(1), EventSeq(3));
        assert_eq!(unbuilt.others_first(poll), Duration::ZERO, "it is not due yet");
        tokio::time::advance(FIRST + poll / 4).await;
        assert_eq!(unbuilt.others_first(poll), poll * 3 / 4);
        tokio::time::advance(poll).await;
        assert_eq!(unbuilt.others_first(poll), Duration::ZERO, "all have looked");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let unbuilt = Unbuilt::default();
        for id in 0..=SESSIONS_MAX {
            unbuilt.again(&key(id), EventSeq(0));
        }
        assert!(unbuilt.sessions.lock().unwrap().len() <= SESSIONS_MAX);
    }
}
