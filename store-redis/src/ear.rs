//! The listening connection: at most one at a time, opened by the first caller that waits.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A listening connection, or an attempt to open one. Attempts are numbered: the end of an older one does not
/// affect a newer one.
pub(crate) struct Ear<L> {
    state: Mutex<State<L>>,
}

struct State<L> {
    /// The number of the newest attempt.
    newest: u64,
    now: Now<L>,
}

enum Now<L> {
    Closed,
    Opening,
    /// Listens until the value is dropped.
    Open(L),
}

impl<L> Ear<L> {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State { newest: 0, now: Now::Closed }) }
    }

    /// Begins to open the connection if it is closed. Returns the number of the attempt. The caller must end the
    /// attempt by [`open`](Self::open) or [`give_up`](Self::give_up).
    pub(crate) fn begin(&self) -> Option<u64> {
        let mut state = self.state();
        if !matches!(state.now, Now::Closed) {
            return None;
        }
        state.newest += 1;
        state.now = Now::Opening;
        Some(state.newest)
    }

    /// Ends an attempt with the listener that it opened. Returns false and drops the listener if it was lost
    /// before, or if the attempt is not the newest.
    pub(crate) fn open(&self, number: u64, listener: L) -> bool {
        let mut state = self.state();
        let awaited = state.newest == number && matches!(state.now, Now::Opening);
        if awaited {
            state.now = Now::Open(listener);
        }
        awaited
    }

    /// Ends an attempt that opened nothing.
    pub(crate) fn give_up(&self, number: u64) {
        let mut state = self.state();
        if state.newest == number && matches!(state.now, Now::Opening) {
            state.now = Now::Closed;
        }
    }

    /// Closes the listener that an attempt has opened, or the attempt itself.
    pub(crate) fn close(&self, number: u64) {
        let mut state = self.state();
        if state.newest != number {
            return;
        }
        let lost = std::mem::replace(&mut state.now, Now::Closed);
        // The listener's end may call this same function, so the lock is released first.
        drop(state);
        drop(lost);
    }

    fn state(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Returns a listener, and a function that tells whether it still exists.
    fn listener() -> (Arc<()>, impl Fn() -> bool) {
        let listener = Arc::new(());
        let held = Arc::downgrade(&listener);
        (listener, move || held.upgrade().is_some())
    }

    #[test]
    fn it_is_opened_once() {
        let ear = Ear::new();
        let first = ear.begin().unwrap();
        assert_eq!(ear.begin(), None);
        assert!(ear.open(first, ()));
        assert_eq!(ear.begin(), None);
        ear.close(first);
        assert!(ear.begin().is_some());
    }

    #[test]
    fn an_opening_that_ends_late_changes_nothing_for_a_newer_one() {
        let ear = Ear::new();
        let late = ear.begin().unwrap();
        ear.close(late);
        let newer = ear.begin().unwrap();
        let (old, _) = listener();
        assert!(!ear.open(late, old), "the newer is still on its way");
        let (new, listens) = listener();
        assert!(ear.open(newer, new));
        ear.close(late);
        assert!(listens(), "the end of the older is not that of the newer");
        let (old, listens_too) = listener();
        assert!(!ear.open(late, old));
        assert!(listens() && !listens_too());
    }

    #[test]
    fn an_opening_that_is_given_up_closes_nothing_that_is_open() {
        let ear = Ear::new();
        let number = ear.begin().unwrap();
        let (open, listens) = listener();
        assert!(ear.open(number, open));
        ear.give_up(number);
        assert!(listens());
        ear.close(number);
        let next = ear.begin().unwrap();
        ear.give_up(number);
        assert_eq!(ear.begin(), None);
        ear.give_up(next);
        assert!(ear.begin().is_some());
    }

    #[test]
    fn what_was_lost_while_it_was_opened_is_not_open() {
        let ear = Ear::new();
        let number = ear.begin().unwrap();
        ear.close(number);
        assert!(!ear.open(number, ()));
        assert!(ear.begin().is_some());
    }
}
