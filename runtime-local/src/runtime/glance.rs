//! A short description of a session, and a stream of its changes.

use std::collections::VecDeque;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use holdover_core::event::Event;
use holdover_core::ids::SessionKey;
use holdover_core::machine::history::Fold;
use holdover_core::machine::{Glance, Machine};
use holdover_core::store::{EventCursor, Session, SessionStatus, Watch};
use tokio::time::sleep;

use super::{Follow, Runtime, is_due, machine_of};
use crate::agent::Definition;
use crate::backoff::Backoff;
use crate::error::RuntimeError;
use crate::hint::Hint;

/// The interval at which a store without hints is read.
const POLL: Duration = Duration::from_secs(1);

/// The pause between a hint and the next read of the session. It grows from `GAP` to `GAP_MAX` while hints bring no
/// change.
const GAP: Duration = Duration::from_millis(1);
const GAP_MAX: Duration = Duration::from_millis(20);

impl Runtime {
    /// Describes the session as it is now: its machine as the last commit left it, and views of it. Works
    /// while a run holds the session, here or in another process. The views are computed from stored data and
    /// are not stored.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or its state cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn glance(&self, key: &SessionKey) -> Result<Glance, RuntimeError> {
        glance_of(&self.existing(key).await?)
    }

    /// Streams the glance of the session: now, and after each transition of its machine that changes it, in the order
    /// of the event log. No change is left out, even if several come between two reads of the store. Two glances in a
    /// row always differ. Ends when the session rests, or after the first error.
    ///
    /// The state, the counts and the errors of each glance are those after its transition. In a glance that newer ones
    /// follow at once, the status and the possible actions of a person are derived from the events of the log.
    pub fn glances(&self, key: &SessionKey) -> BoxStream<'static, Result<Glance, RuntimeError>> {
        let watched = Watched {
            runtime: self.clone(),
            key: key.clone(),
            known: None,
            ready: VecDeque::new(),
            shown: None,
            over: false,
        };
        stream::unfold(watched, |mut watched| async move {
            let next = watched.next().await.transpose()?;
            watched.over |= next.is_err();
            Some((next, watched))
        })
        .boxed()
    }
}

/// Returns the glance of `session`.
///
/// Errors: those of [`machine_of`].
pub fn glance_of(session: &Session) -> Result<Glance, RuntimeError> {
    Ok(glance_with(session, &machine_of(session)?.unwrap_or_default(), max_steps(session)))
}

/// Returns the agent's limit of steps, if the definition can be read.
fn max_steps(session: &Session) -> Option<u32> {
    Definition::read(&session.definition).ok().map(|definition| definition.spec.limits.max_steps)
}

/// Returns the glance of a session whose machine is `machine`.
fn glance_with(session: &Session, machine: &Machine, max_steps: Option<u32>) -> Glance {
    Glance::of(session, machine, max_steps.map(|most| most.saturating_add(machine.turn.granted)))
}

struct Watched {
    runtime: Runtime,
    key: SessionKey,
    /// The session as it was read last.
    known: Option<Session>,
    /// The glances that were not returned yet.
    ready: VecDeque<Glance>,
    /// The newest glance, returned or ready.
    shown: Option<Glance>,
    over: bool,
}

impl Watched {
    async fn next(&mut self) -> Result<Option<Glance>, RuntimeError> {
        let mut gap = Backoff::new(GAP, GAP_MAX);
        loop {
            if let Some(glance) = self.ready.pop_front() {
                return Ok(Some(glance));
            }
            if self.over {
                return Ok(None);
            }
            let store = self.runtime.store().clone();
            // Listens before it looks, so that no change in between is missed.
            let mut hint = Hint::listen(&store, Watch::Session(self.key.clone()), POLL).await;
            let session = self.runtime.existing(&self.key).await?;
            let due = is_due(&session, self.runtime.now());
            let over = session.status.at_rest() && session.status != SessionStatus::Active && !due;
            if let Some(known) = self.known.take() {
                self.show_moves(known, &session).await?;
            }
            self.show(glance_of(&session)?);
            self.known = Some(session);
            self.over = over;
            if self.ready.is_empty() && !self.over && hint.heard().await {
                sleep(gap.take()).await;
            }
        }
    }

    /// Adds the glances of the moves that the machine has made since `known`, up to those of `session`.
    async fn show_moves(&mut self, known: Session, session: &Session) -> Result<(), RuntimeError> {
        let is_same = known.incarnation == session.incarnation && known.last_event < session.last_event;
        if !is_same {
            return Ok(());
        }
        let cursor = EventCursor::after(known.incarnation, known.last_event);
        let mut events = self.runtime.stored_events(&self.key, cursor, Follow::Available);
        let mut fold = Fold::of(machine_of(&known)?.unwrap_or_default());
        let (most, mut then) = (max_steps(&known), known);
        while let Some(entry) = events.try_next().await?.filter(|entry| entry.seq <= session.last_event) {
            let Event::History { rows } = &entry.event else {
                note(&mut then, &entry.event);
                continue;
            };
            for row in rows {
                if let Err(error) = fold.take(row) {
                    // The stored state is shown next, whatever the rows say.
                    tracing::warn!(session = %self.key, %error, "moves of a session are not shown");
                    return Ok(());
                }
                self.show(glance_with(&then, fold.machine(), most));
            }
        }
        Ok(())
    }

    fn show(&mut self, glance: Glance) {
        if self.shown.as_ref() != Some(&glance) {
            self.shown = Some(glance.clone());
            self.ready.push_back(glance);
        }
    }
}

/// Applies to the record of a session what an event says about it.
fn note(session: &mut Session, event: &Event) {
    if let Event::RunStarted { .. } = event {
        session.status = SessionStatus::Active;
    } else if let Event::Suspended { .. } = event {
        session.status = SessionStatus::Suspended;
    } else if let Event::Done { ending, .. } = event {
        session.status = ending.status();
    } else if let Event::Message { seq, .. } = event {
        session.last_message = *seq;
    }
}
