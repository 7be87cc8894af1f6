//! Serves a session once, for a durable engine.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::engine::STATE_FORMAT;
use holdover_core::ids::SessionKey;
use holdover_core::store::{Queues, Session};
use serde::{Deserialize, Serialize};

use super::Runtime;
use crate::drive::{Leaving, Plan};
use crate::engine::{Known, Ran};
use crate::error::RuntimeError;
use crate::host::Try;

/// The pause after the store did not answer or refused a request.
const NO_ANSWER: Duration = Duration::from_secs(1);
/// The pause after a claim that was refused because another run holds the session, although its lease has ended by the
/// clock of this process.
const HELD: Duration = Duration::from_millis(100);
/// The same pause while the store's clock is not known.
const HELD_UNKNOWN: Duration = Duration::from_secs(1);
/// The maximum wait while the store's clock is not known: the clock of this machine may be wrong.
const CLOCK_UNKNOWN: Duration = Duration::from_secs(30);

/// The result of [`Runtime::serve`]: the session as it is now, and what the engine does next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Served {
    /// The next step of the engine.
    pub next: Next,
    /// The session, or `None` if there is no such session.
    pub session: Option<Known>,
}

/// The next step of an engine that has served a session. In each case, the engine serves the session at once if a
/// [wake-up](crate::Engine::wake) comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// The session rests. The engine may forget it until the next wake-up.
    Rests,
    /// The turn waits for somebody, without a deadline. Nothing happens before a wake-up.
    Waits,
    /// Serve the session again after this time: a deadline, a timer, a back-off, or the end of another run's lease.
    At(Duration),
    /// This process cannot run the session: it lacks the agent, cannot read the session, or stops. Another process may run
    /// it.
    NotHere,
    /// There is no such session.
    Gone,
}

impl Runtime {
    /// Serves a session once, for an [engine](crate::Engine): if the session is due, claims and runs it here until the
    /// run exits. If this process already runs it for the engine, waits for that run. The answer says what comes next.
    ///
    /// The run is a task of this process. If the future is dropped, for example because the connection to the engine
    /// broke, the run goes on, and a second call waits for the same run. So the death of an engine puts no call in doubt.
    /// After the death of this process, the session is due when its lease ends, as always.
    ///
    /// Errors: the store cannot be read. A run that fails is no error; its session says why.
    pub async fn serve(&self, key: &SessionKey) -> Result<Served, RuntimeError> {
        let (runtime, named) = (self.clone(), key.clone());
        let ran = self.host.desk().attend(key, async move { runtime.serve_due(&named).await }).await;
        let Some(session) = self.host.store().load_session(key).await? else {
            return Ok(Served { next: Next::Gone, session: None });
        };
        let next = match (ran, self.next_of(&session)) {
            (_, rests @ (Next::Rests | Next::Waits)) => rests,
            (Ran::NotHere, Next::At(_)) => Next::NotHere,
            (_, Next::At(Duration::ZERO)) if self.host.is_draining() => Next::NotHere,
            (Ran::Later(pause), Next::At(after)) => Next::At(after.max(pause)),
            (Ran::Served | Ran::NotHere | Ran::Later(_), next) => next,
        };
        Ok(Served { next, session: Some(Known::from(&session)) })
    }

    /// Returns the queues that this process serves: those of the agents that are found here.
    pub fn queues(&self) -> Queues {
        self.agents().queues()
    }

    /// Waits until the engine was told of all writes of this runtime so far, at most `at_most`. Returns false if the time is
    /// over, or if a wake-up was given up since the last call. Use it before a short-lived program ends. Without an
    /// [engine](crate::RuntimeOptions::engine), returns true at once.
    pub async fn tell_engine(&self, at_most: Duration) -> bool {
        match self.host.nudges() {
            Some(nudges) => nudges.told(at_most).await,
            None => true,
        }
    }

    /// Claims and runs the session if it is due.
    async fn serve_due(&self, key: &SessionKey) -> Ran {
        match self.try_serve(key).await {
            Ok(ran) => ran,
            Err(error) => {
                tracing::warn!(session = %key, %error, "a session could not be served; it is tried again");
                Ran::Later(NO_ANSWER)
            }
        }
    }

    async fn try_serve(&self, key: &SessionKey) -> Result<Ran, RuntimeError> {
        let Some(session) = self.host.store().load_session(key).await? else { return Ok(Ran::Served) };
        if self.next_of(&session) != Next::At(Duration::ZERO) {
            return Ok(Ran::Served);
        }
        // A process claims only what it can read: a claim that is given back costs the session a run.
        let is_readable = session.format <= STATE_FORMAT && session.definition.encoding().is_none();
        if self.host.is_draining() || !is_readable {
            return Ok(Ran::NotHere);
        }
        let plan = match self.agent_to_run(key, &session.queue, &session.definition).await {
            Ok(agent) => Plan::Run(agent),
            // No agent is needed to end a session.
            Err(_) if session.interrupt.is_some() => Plan::End,
            Err(error) => {
                tracing::warn!(session = %key, queue = %session.queue, %error, "a session that is due cannot be run here");
                return Ok(Ran::NotHere);
            }
        };
        match self.host.try_claim(key, Vec::new(), Some(session.version)).await {
            Ok(Try::Ours(claimed)) => {
                match self.drive(*claimed, plan, Arc::default(), Leaving::never()).await {
                    Ok(_) => Ok(Ran::Served),
                    // The claim was given back. If an interrupt waits, the session is due again at once.
                    Err(RuntimeError::Start(_)) => Ok(Ran::NotHere),
                    Err(error) => Err(error),
                }
            }
            Err(RuntimeError::Held { .. }) => {
                Ok(Ran::Later(if self.host.knows_time() { HELD } else { HELD_UNKNOWN }))
            }
            // The session has changed since it was read.
            Ok(Try::Changed | Try::Duplicate(_))
            | Err(RuntimeError::Aborted { .. } | RuntimeError::NotFound { .. }) => Ok(Ran::Served),
            Err(error) => Err(error),
        }
    }

    /// Returns what a session needs next. Its alarm says when.
    fn next_of(&self, session: &Session) -> Next {
        match session.alarm {
            Some(alarm) => {
                let after = self.now().until(alarm);
                Next::At(if self.host.knows_time() { after } else { after.min(CLOCK_UNKNOWN) })
            }
            None if session.status.at_rest() => Next::Rests,
            None => Next::Waits,
        }
    }
}
