//! The picture that an engine has of a session, and how it differs from the store.

use holdover_core::store::{Session, SessionStatus};

/// The picture that an engine shows of a session that it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// The status that the engine shows. `None` if it shows none.
    pub status: Option<SessionStatus>,
    /// True if the engine waits for a process that serves the session. What it shows is then about to change.
    pub at_work: bool,
}

impl Seen {
    /// Creates a picture.
    pub fn new(status: Option<SessionStatus>, at_work: bool) -> Self {
        Self { status, at_work }
    }

    /// Returns how an engine's picture of a session differs from the store, in words. Returns `None` if they agree, if the
    /// engine shows no status, or if its picture is about to change. The two are never read at the same instant, so a
    /// difference counts only if it lasts.
    pub fn difference(session: Option<&Session>, seen: Option<&Self>) -> Option<String> {
        match (session, seen) {
            (None, None) | (Some(_), Some(Self { at_work: true, .. })) => None,
            (None, Some(_)) => Some("the engine keeps it, and the store does not have it".to_owned()),
            (Some(session), None) => {
                let rests = session.status.at_rest() && session.alarm.is_none();
                let unknown = "the engine does not know it; a worker runs it when it looks at the store";
                (!rests).then(|| unknown.to_owned())
            }
            (Some(session), Some(Self { status, .. })) => {
                let (status, stored) = ((*status)?, session.status);
                (status != stored).then(|| format!("the engine shows {status}, and the store {stored}"))
            }
        }
    }
}
