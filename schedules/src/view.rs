//! Schedules as they stand: read from their sessions.

use holdover_core::ids::{InboxSeq, Incarnation, MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_core::store::{InterruptKind, Session, SessionStatus};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{MessageEntry, Runtime};
use serde::{Deserialize, Serialize};

use crate::error::ScheduleError;
use crate::name::ScheduleName;
use crate::place::{Born, Place};
use crate::rules::{CatchUp, Input, Overlap};
use crate::sessions;
use crate::starting::Outcome;
use crate::times::Times;

/// The number of messages in one read while searching from the newest back.
const MESSAGES_AT_ONCE: u32 = 32;

/// The standing of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standing {
    /// It starts its target at its instants, if a worker runs.
    On,
    /// It was paused. Its instants are left out.
    Paused,
    /// It has no more instants.
    Over,
    /// Its flow failed. Resume it once the reason is gone.
    Failed,
    /// It is being removed. Remove it again to finish that.
    Removing,
}

impl Standing {
    /// Returns the name of the standing.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Paused => "paused",
            Self::Over => "over",
            Self::Failed => "failed",
            Self::Removing => "removing",
        }
    }
}

/// How many instants had which outcome since the schedule was added or last resumed. Instants that were missed are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The target was started.
    pub started: u64,
    /// The earlier session still worked.
    pub left_out: u64,
    /// The target could not be started.
    pub failed: u64,
}

/// The newest instant that was decided on, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTick {
    /// The instant.
    pub instant: Timestamp,
    /// What became of it.
    pub outcome: Outcome,
}

/// The newest session of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LastStart {
    /// The session.
    pub session: holdover_core::ids::SessionId,
    /// The instant at which it was created.
    pub at: Timestamp,
    /// The status of the session now.
    pub status: SessionStatus,
}

/// A schedule as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// The name.
    pub name: ScheduleName,
    /// The session in which the schedule runs.
    pub session: SessionKey,
    /// The life of that session. Another schedule of the same name has another.
    pub life: Incarnation,
    /// The standing.
    pub standing: Standing,
    /// The times.
    pub times: Times,
    /// The jitter in milliseconds.
    pub jitter_ms: u64,
    /// The rule for instants at which the earlier session still works.
    pub overlap: Overlap,
    /// The rule for missed instants.
    pub catch_up: CatchUp,
    /// The next instant, unless the schedule is paused or has no more.
    pub next: Option<Timestamp>,
    /// The instant at which the next one is due: later by its part of the jitter.
    pub next_due: Option<Timestamp>,
    /// The instant that waits for the end of the earlier session, if one does.
    pub waits: Option<Timestamp>,
    /// The newest instant that was decided on.
    pub last: Option<LastTick>,
    /// The newest session that was started, also by a trigger. A schedule that sends messages to one session has none.
    pub last_start: Option<LastStart>,
    /// The number of instants by their outcome.
    pub counts: Counts,
}

/// A schedule with everything that a change of it needs.
pub(crate) struct Found {
    pub(crate) session: Session,
    pub(crate) standing: Standing,
    pub(crate) input: Input,
    /// The message that the flow has not begun with yet.
    pub(crate) queued: Option<InboxSeq>,
}

/// The most looks at a schedule whose session changes meanwhile.
const LOOKS_MAX: u32 = 5;

/// Reads a schedule. `None`: there is none of this name.
pub(crate) async fn find(
    runtime: &Runtime,
    name: &ScheduleName,
    key: &SessionKey,
) -> Result<Option<Found>, ScheduleError> {
    for _ in 0..LOOKS_MAX {
        let Some(session) = runtime.session(key).await? else { return Ok(None) };
        let queued = if session.unread == 0 { Vec::new() } else { runtime.queued(key).await? };
        // Other messages are no business of the schedule.
        let queued = queued.into_iter().rev().find_map(|message| {
            let input: Input = serde_json::from_str(&message.text).ok()?;
            Some((message.item, input))
        });
        let (queued, input) = match queued {
            Some((item, input)) => (Some(item), Some(input)),
            // A run may have taken the message up after the session was read. Then it is in the transcript now.
            None if session.unread > 0 && !is_unchanged(runtime, &session).await? => continue,
            None => (None, newest_input(runtime, key, session.last_message).await?),
        };
        let Some(input) = input else {
            if !is_unchanged(runtime, &session).await? {
                continue;
            }
            let why = "none of its messages is the input of a schedule".to_owned();
            return Err(ScheduleError::Unreadable { name: name.clone(), why });
        };
        let standing = standing_of(&session, &input, queued.is_some());
        return Ok(Some(Found { session, standing, input, queued }));
    }
    Err(ScheduleError::Contended { name: name.clone() })
}

/// Returns true if no run has changed the session since it was read.
async fn is_unchanged(runtime: &Runtime, before: &Session) -> Result<bool, ScheduleError> {
    let now = runtime.session(&before.key).await?;
    Ok(now.is_some_and(|now| {
        (now.incarnation, now.version, now.last_message)
            == (before.incarnation, before.version, before.last_message)
    }))
}

fn standing_of(session: &Session, input: &Input, queued: bool) -> Standing {
    let stops = session.interrupt.as_ref().map(|interrupt| interrupt.kind);
    match session.status {
        SessionStatus::Aborted => Standing::Removing,
        _ if stops == Some(InterruptKind::Abort) => Standing::Removing,
        _ if input.paused => Standing::Paused,
        _ if queued => Standing::On,
        SessionStatus::Interrupted => Standing::Paused,
        SessionStatus::Active | SessionStatus::Suspended if stops.is_some() => Standing::Paused,
        SessionStatus::Active | SessionStatus::Suspended => Standing::On,
        SessionStatus::Failed => Standing::Failed,
        SessionStatus::Idle => Standing::Over,
    }
}

/// Returns the input with which the flow began or carried on last.
async fn newest_input(
    runtime: &Runtime,
    key: &SessionKey,
    newest: MessageSeq,
) -> Result<Option<Input>, ScheduleError> {
    let mut end = newest.0;
    while end > 0 {
        let begin = end.saturating_sub(u64::from(MESSAGES_AT_ONCE));
        let limit = u32::try_from(end - begin).unwrap_or(MESSAGES_AT_ONCE);
        let messages = runtime.messages_after(key, MessageSeq(begin), limit).await?;
        if let Some(input) = messages.iter().rev().find_map(input_of) {
            return Ok(Some(input));
        }
        end = begin;
    }
    Ok(None)
}

fn input_of(entry: &MessageEntry) -> Option<Input> {
    let text = match &entry.message {
        Message::User(said) => &said.text,
        Message::Assistant(said) => said.plan.as_ref()?.carries_on.as_ref()?,
        Message::Tool(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => return None,
    };
    serde_json::from_str(text).ok()
}

impl Found {
    /// Returns the schedule as it stands.
    pub(crate) async fn entry(self, runtime: &Runtime, name: ScheduleName) -> Result<Entry, ScheduleError> {
        let Self { session, standing, input, .. } = self;
        let born = Born { life: session.incarnation, at: session.created_at };
        let ticks = input.rules.ticks(born)?;
        let place = input.place.unwrap_or_else(|| Place::begin(&ticks, input.from.unwrap_or(born.at)));
        let is_on = standing == Standing::On;
        let next = place.next_due(&ticks).filter(|_| is_on);
        let newest = sessions::newest(runtime, &session.key.tenant, &name).await?;
        let last_start = newest.map(|session| LastStart {
            session: session.key.id,
            at: session.created_at,
            status: session.status,
        });
        let rules = input.rules;
        Ok(Entry {
            name,
            session: session.key,
            life: session.incarnation,
            standing,
            times: rules.times,
            jitter_ms: rules.jitter_ms,
            overlap: rules.overlap,
            catch_up: rules.catch_up,
            next: next.map(|next| next.instant),
            next_due: next.map(|next| next.at),
            waits: place.waits.map(|waits| waits.instant).filter(|_| is_on),
            last: place.last,
            last_start,
            counts: place.counts,
        })
    }
}
