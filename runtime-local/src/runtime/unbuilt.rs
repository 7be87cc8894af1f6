//! Sessions that a worker claimed and could not run: for how long each is given back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdover_core::ids::{EventSeq, SessionKey};

use super::claim::GIVE_BACK_FOR;

/// For so long a session is given back the first time: a worker that can run it gets it soon.
const FIRST: Duration = Duration::from_millis(250);

/// So many sessions are remembered; then all are forgotten, and each is given back for a short time again.
const SESSIONS_MAX: usize = 1024;

/// For how long each session was given back here the last time, and its newest event then. The time doubles with every claim in a row
/// that came to nothing, up to [`GIVE_BACK_FOR`]: one worker that cannot run a session does not keep it from the others, and
/// where nobody can run it, it costs a claim now and then. A run that got somewhere in between, wherever, ends the row.
#[derive(Debug, Default)]
pub(super) struct Unbuilt {
    sessions: Mutex<HashMap<SessionKey, (Duration, EventSeq)>>,
}

impl Unbuilt {
    /// It could not be run again, with `last_event` its newest: for how long it is given back.
    pub(super) fn again(&self, key: &SessionKey, last_event: EventSeq) -> Duration {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(key) {
            sessions.clear();
        }
        let time = match sessions.get(key) {
            Some((last, before)) if *before == last_event => last.saturating_mul(2).min(GIVE_BACK_FOR),
            Some(_) | None => FIRST,
        };
        sessions.insert(key.clone(), (time, last_event));
        time
    }

    /// It can be run.
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

    #[test]
    fn what_is_remembered_is_bounded() {
        let unbuilt = Unbuilt::default();
        for id in 0..=SESSIONS_MAX {
            unbuilt.again(&key(id), EventSeq(0));
        }
        assert!(unbuilt.sessions.lock().unwrap().len() <= SESSIONS_MAX);
    }
}
