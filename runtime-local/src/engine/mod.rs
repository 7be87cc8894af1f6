//! Durable engines outside of this crate, such as Temporal and Restate. The engine decides when a session is served, and in
//! which process; the store remembers the session.
//!
//! The runtime [wakes](Engine::wake) the engine after every write that may give a session work. The engine then calls
//! [`Runtime::serve`](crate::Runtime::serve) in one of its processes, and follows the answer: it serves the session
//! again after some time or in another process, waits for the next wake-up, or forgets the session. A lost wake-up is
//! not lost work: a [worker](crate::WorkerOptions::net) that looks at the store now and then runs the session.

mod desk;
mod nudges;
mod seen;

use std::fmt;

use async_trait::async_trait;
use holdover_core::ids::{Incarnation, QueueLabel, SessionKey};
use holdover_core::store::{Session, SessionStatus};
use serde::{Deserialize, Serialize};

pub(crate) use desk::{Desk, Ran};
pub(crate) use nudges::Nudges;
pub use seen::Seen;

/// A durable engine that decides when sessions are served.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// Tells the engine that a session may need a run. This is a hint: it may come late, twice or without a reason, and
    /// the engine may lose it. Each runtime sends its wake-ups of one session one after the other. If this fails or takes
    /// longer than 10 seconds, the runtime retries for half a minute.
    async fn wake(&self, wake: &WakeUp) -> Result<(), EngineError>;

    /// Returns what the engine shows of a session, or `None` if it keeps nothing of it. For diagnosis.
    async fn look(&self, key: &SessionKey) -> Result<Option<Seen>, EngineError>;

    /// Returns the name of the engine in messages, such as `temporal://127.0.0.1:7233/default`.
    fn name(&self) -> String;
}

/// A hint to an engine that a session may need a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WakeUp {
    /// The session.
    pub key: SessionKey,
    /// The session as it is in the store now. `None` means that the session was deleted. If a session of the same key was
    /// created since, its wake-up follows.
    pub session: Option<Known>,
}

impl WakeUp {
    /// Creates a wake-up.
    pub fn new(key: SessionKey, session: Option<Known>) -> Self {
        Self { key, session }
    }
}

/// The parts of a session that an engine may keep. None of them contains a word of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Known {
    /// The queue of the session: the name and version of its agent. The processes that serve the queue have the agent.
    pub queue: QueueLabel,
    /// The life of the session.
    pub incarnation: Incarnation,
    /// The status of the session.
    pub status: SessionStatus,
}

impl Known {
    /// Creates a value from its parts.
    pub fn new(queue: QueueLabel, incarnation: Incarnation, status: SessionStatus) -> Self {
        Self { queue, incarnation, status }
    }
}

impl From<&Session> for Known {
    fn from(session: &Session) -> Self {
        Self::new(session.queue.clone(), session.incarnation, session.status)
    }
}

/// The reason why a request to an engine failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError(String);

impl EngineError {
    /// Creates an error with its reason, in one line.
    pub fn new(detail: impl Into<String>) -> Self {
        Self(detail.into())
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EngineError {}
