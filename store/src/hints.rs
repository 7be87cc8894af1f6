//! Change hints: notifications of changes, and the callers that wait for them.
//!
//! A hint carries no data. A caller that only polls misses nothing, and a notified caller must read the
//! store.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::ids::SessionKey;
use crate::payload::Digest;
use crate::read::Watch;

/// A hint that one session changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The short name of the session.
    pub session: Named,
    /// True if the run that holds the session may have news: an item, an interrupt, another owner, another status, or
    /// the creation or removal of the session.
    pub news: bool,
    /// True if the session may have become due.
    pub due: bool,
}

/// The short name of a session in a hint: the first eight bytes of a digest of its key. Two sessions may have
/// the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Named(pub u64);

impl Named {
    /// Returns the name of the session with this key.
    pub fn of(key: &SessionKey) -> Self {
        let Digest(digest) = Digest::of(format!("{}\0{}", key.tenant, key.id).as_bytes());
        Self(digest.iter().take(8).fold(0, |name, byte| name << 8 | u64::from(*byte)))
    }
}

impl Change {
    /// Returns true if a worker may wait for this change. Other changes matter only to observers of the
    /// session.
    pub fn is_urgent(&self) -> bool {
        self.news || self.due
    }

    /// Parses the text that [`Display`](fmt::Display) writes. Returns none if this version cannot read the
    /// text; the caller must then assume that any session changed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let session = Named(u64::from_str_radix(words.next()?, 16).ok()?);
        let mut change = Self { session, news: false, due: false };
        for word in words {
            match word {
                "news" => change.news = true,
                "due" => change.due = true,
                _ => return None,
            }
        }
        Some(change)
    }
}

/// Writes the text that is sent between processes, such as `00f1a2b3c4d5e6f7 news due`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |is: bool, word: &'static str| if is { word } else { "" };
        write!(f, "{:016x}{}{}", self.session.0, word(self.news, " news"), word(self.due, " due"))
    }
}

/// The callers in this process that wait for changes. The cost of a notification grows only with the number
/// of callers that wait for the changed session or for due sessions.
#[derive(Debug, Clone, Default)]
pub struct Waiters(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    by_session: HashMap<Named, Vec<Arc<Waiter>>>,
    due: Vec<Arc<Waiter>>,
}

/// One waiting caller.
#[derive(Debug, Default)]
struct Waiter {
    told: Notify,
    /// True if the caller waits only for news.
    news: bool,
}

/// A registered wait. It notices every change since [`Waiters::begin`], and ends when it is dropped.
#[derive(Debug)]
pub struct Wait {
    waiters: Waiters,
    /// The watched session. If none, the caller waits for any session that may have become due.
    session: Option<Named>,
    waiter: Arc<Waiter>,
}

impl Waiters {
    /// Notifies the callers that wait for this change.
    pub fn tell(&self, change: &Change) {
        let waiting = self.lock();
        let due = waiting.due.iter().filter(|_| change.due);
        let session = waiting.by_session.get(&change.session).into_iter().flatten();
        for waiter in due.chain(session.filter(|waiter| change.news || !waiter.news)) {
            waiter.told.notify_one();
        }
    }

    /// Notifies all waiting callers. Used when it is unknown which sessions changed.
    pub fn tell_all(&self) {
        let waiting = self.lock();
        for waiter in waiting.by_session.values().flatten().chain(&waiting.due) {
            waiter.told.notify_one();
        }
    }

    /// Registers a caller that waits for `watch`.
    pub fn begin(&self, watch: &Watch) -> Wait {
        let (session, news) = match watch {
            Watch::Session(key) => (Some(Named::of(key)), false),
            Watch::News(key) => (Some(Named::of(key)), true),
            Watch::Due => (None, false),
        };
        let waiter = Arc::new(Waiter { told: Notify::new(), news });
        self.lock().of(session).push(Arc::clone(&waiter));
        Wait { waiters: self.clone(), session, waiter }
    }

    /// Returns when the watched data may have changed, at the latest after `at_most`.
    pub async fn wait(&self, watch: &Watch, at_most: Duration) {
        self.begin(watch).heard(at_most).await;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // No code under this lock can panic halfway through a change, so the data is consistent even if
        // poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn of(&mut self, session: Option<Named>) -> &mut Vec<Arc<Waiter>> {
        match session {
            Some(session) => self.by_session.entry(session).or_default(),
            None => &mut self.due,
        }
    }
}

impl Wait {
    /// Returns when the watched data may have changed, at the latest after `at_most`.
    pub async fn heard(self, at_most: Duration) {
        // A time-out is not an error: the caller reads the store in either case.
        let _ = tokio::time::timeout(at_most, self.waiter.told.notified()).await;
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut waiting = self.waiters.lock();
        let others = waiting.of(self.session);
        others.retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
        if let (true, Some(session)) = (others.is_empty(), self.session) {
            waiting.by_session.remove(&session);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn key(id: &str) -> SessionKey {
        SessionKey::new("acme".parse().unwrap(), id.parse().unwrap())
    }

    #[test]
    fn what_goes_over_a_wire_comes_back() {
        for (news, due) in [(false, false), (true, false), (false, true), (true, true)] {
            let change = Change { session: Named::of(&key("s")), news, due };
            assert_eq!(Change::parse(&change.to_string()), Some(change));
        }
        for text in ["", "changed", "00f1a2b3c4d5e6f7 later", "x"] {
            assert_eq!(Change::parse(text), None, "{text}");
        }
        assert_ne!(Named::of(&key("s")), Named::of(&key("t")));
    }

    #[tokio::test(start_paused = true)]
    async fn each_is_told_of_what_it_waits_for_and_of_nothing_else() {
        let waiters = Waiters::default();
        let watches = [Watch::Session(key("s")), Watch::News(key("s")), Watch::Session(key("t")), Watch::Due];
        let told = async |tell: &dyn Fn()| {
            let mut told = Vec::new();
            let waits = watches.each_ref().map(|watch| waiters.begin(watch));
            tell();
            for wait in waits {
                // A notified caller returns at once. For the others, the paused clock advances until their
                // time is over.
                let began = tokio::time::Instant::now();
                wait.heard(Duration::from_secs(1)).await;
                told.push(began.elapsed().is_zero());
            }
            told
        };
        let change = |news, due| Change { session: Named::of(&key("s")), news, due };
        assert_eq!(told(&|| waiters.tell(&change(false, false))).await, [true, false, false, false]);
        assert_eq!(told(&|| waiters.tell(&change(true, false))).await, [true, true, false, false]);
        assert_eq!(told(&|| waiters.tell(&change(false, true))).await, [true, false, false, true]);
        assert_eq!(told(&|| waiters.tell_all()).await, [true; 4]);
        let waiting = waiters.lock();
        assert!(waiting.by_session.is_empty() && waiting.due.is_empty(), "nobody is left behind");
    }
}
