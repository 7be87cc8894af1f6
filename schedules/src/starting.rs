//! Starts the target of one instant.

use holdover_core::ids::{Incarnation, InterruptId, ItemKey, MessageSeq, SessionId, SessionKey, TenantId};
use holdover_core::message::{Message, MessagePolicy};
use holdover_core::store::{Labels, SessionStatus};
use holdover_core::time::Timestamp;
use holdover_core::tool::ToolError;
use holdover_flow::StepCx;
use holdover_runtime_local::{AgentRecord, Deliver, Runtime, RuntimeError, StartRecorded};
use serde::{Deserialize, Serialize};

use crate::flow::{lost, unfit};
use crate::name::ScheduleName;
use crate::rules::{Input, Overlap, Target, check_labels};
use crate::schedules::SCHEDULE_LABEL;
use crate::sessions::Working;

/// The first messages of a schedule's session, among which is the one with its target.
const FIRST_MESSAGES: u32 = 8;

/// The argument of the step that starts a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StartTick {
    pub(crate) instant: Timestamp,
    pub(crate) life: Incarnation,
    pub(crate) overlap: Overlap,
    /// True if the earlier sessions are to be interrupted, unless they were for this instant before.
    pub(crate) stops: bool,
    /// The instant since which earlier sessions may work. `None`: any may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
}

/// The result of the step that starts a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StartedTick {
    pub(crate) outcome: Outcome,
    /// The instant since which earlier sessions may work, if the rule of overlap looked at them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
}

/// What became of an instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum Outcome {
    /// The target was started, or the message was sent.
    Started {
        /// The session.
        session: SessionId,
    },
    /// The earlier session still worked, so the instant was left out, or waits.
    Busy,
    /// The target could not be started.
    Failed {
        /// The reason.
        why: String,
    },
}

impl Outcome {
    /// Returns the result of a step that did not look at earlier sessions.
    pub(crate) fn alone(self) -> StartedTick {
        StartedTick { outcome: self, since: None }
    }
}

/// Starts the target of an instant of the schedule that runs in this session.
pub(crate) async fn start(cx: &StepCx, tick: &StartTick) -> Result<StartedTick, ToolError> {
    let runtime = cx.get::<Runtime>()?;
    let key = cx.session();
    let name = ScheduleName::of_session(&key.id);
    let name = name.ok_or_else(|| ToolError::failed("this session is not that of a schedule"))?;
    let target = target_of(&runtime, key).await.map_err(|error| lost(&error))?;
    // The target is read first: if the life is the same after that, it is the target of this life.
    let session = runtime.session(key).await.map_err(|error| lost(&error))?;
    if session.is_none_or(|session| session.incarnation != tick.life) {
        return Err(ToolError::failed("the schedule of this instant was removed"));
    }
    let target = target.ok_or_else(|| ToolError::failed("the first message has no target"))?;
    let starting = Starting { runtime: &runtime, tenant: &key.tenant, name: &name };
    let once = once(tick.life, &tick.instant.as_ms().to_string()).map_err(|error| unfit(&error))?;
    match starting.at(target, tick, once).await {
        Ok(started) => Ok(started),
        Err(error @ (RuntimeError::Store(_) | RuntimeError::Contended { .. })) => Err(lost(&error)),
        Err(error) => Ok(Outcome::Failed { why: error.to_string() }.alone()),
    }
}

/// Returns the key under which a target is started: of the life of the schedule, and an instant or a name.
fn once(life: Incarnation, of: &str) -> Result<ItemKey, holdover_core::ids::InvalidId> {
    ItemKey::new(format!("schedule:{life}:{of}"))
}

/// Returns the target of the schedule in a session, from its first message.
pub(crate) async fn target_of(runtime: &Runtime, key: &SessionKey) -> Result<Option<Target>, RuntimeError> {
    let first = runtime.messages_after(key, MessageSeq(0), FIRST_MESSAGES).await?;
    Ok(first.into_iter().find_map(|entry| match entry.message {
        Message::User(said) => serde_json::from_str::<Input>(&said.text).ok()?.target,
        Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    }))
}

/// Starts targets of one schedule.
pub(crate) struct Starting<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) tenant: &'a TenantId,
    pub(crate) name: &'a ScheduleName,
}

impl Starting<'_> {
    /// Starts the target of an instant, if the rule of overlap allows it.
    async fn at(&self, target: Target, tick: &StartTick, once: ItemKey) -> Result<StartedTick, RuntimeError> {
        match target {
            Target::New { agent, message, labels } => {
                let session = SessionId::new(format!("{}:{}", self.name, compact(tick.instant)))?;
                // A repeat after a crash finds the session of the first try.
                let key = SessionKey::new(self.tenant.clone(), session.clone());
                let is_started = self.runtime.session(&key).await?.is_some();
                let working =
                    if is_started { Working::default() } else { self.makes_room(tick, &once).await? };
                let outcome = match working.sessions.is_empty() {
                    true => self.start_new(*agent, message, labels, session, once).await?,
                    false => Outcome::Busy,
                };
                Ok(StartedTick { outcome, since: working.since })
            }
            Target::Session { session, message } => {
                let policy = match tick.overlap {
                    Overlap::Skip | Overlap::Queue => MessagePolicy::Reject,
                    Overlap::Allow => MessagePolicy::Enqueue,
                    Overlap::Replace => MessagePolicy::Interrupt,
                };
                self.send(session, message, policy, once).await.map(Outcome::alone)
            }
        }
    }

    /// Starts the target now, whatever the rule of overlap says. `of` names this start.
    pub(crate) async fn now(
        &self,
        target: Target,
        life: Incarnation,
        of: &ItemKey,
    ) -> Result<Outcome, RuntimeError> {
        let named = holdover_core::payload::Digest::of(format!("{life}\0{of}").as_bytes()).to_string();
        let short = named.get(..16).unwrap_or_default();
        let once = once(life, &format!("trigger:{short}"))?;
        match target {
            Target::New { agent, message, labels } => {
                let session = SessionId::new(format!("{}:trigger-{short}", self.name))?;
                self.start_new(*agent, message, labels, session, once).await
            }
            Target::Session { session, message } => {
                self.send(session, message, MessagePolicy::Enqueue, once).await
            }
        }
    }

    async fn start_new(
        &self,
        agent: AgentRecord,
        message: String,
        labels: Labels,
        session: SessionId,
        once: ItemKey,
    ) -> Result<Outcome, RuntimeError> {
        if let Err(error) = check_labels(&labels) {
            return Ok(Outcome::Failed { why: error.to_string() });
        }
        let labels = labels.with_if_room(SCHEDULE_LABEL, self.name.as_str());
        let request = StartRecorded::new(self.tenant.clone(), session, agent, message);
        let started = self.runtime.start_recorded(request.once(once).labelled(labels)).await?;
        Ok(Outcome::Started { session: started.key.id })
    }

    async fn send(
        &self,
        session: SessionId,
        message: String,
        policy: MessagePolicy,
        once: ItemKey,
    ) -> Result<Outcome, RuntimeError> {
        let key = SessionKey::new(self.tenant.clone(), session);
        let deliver = Deliver::message(message).under(policy).once(once);
        match self.runtime.deliver(&key, deliver).await {
            Ok(_) => Ok(Outcome::Started { session: key.id }),
            Err(RuntimeError::Busy { .. }) => Ok(Outcome::Busy),
            Err(error) => Err(error),
        }
    }

    /// Returns the earlier sessions that keep the target from starting. Interrupts them if the rule says so.
    async fn makes_room(&self, tick: &StartTick, once: &ItemKey) -> Result<Working, RuntimeError> {
        let look = || Working::look(self.runtime, self.tenant, self.name, tick.since);
        match tick.overlap {
            Overlap::Allow => Ok(Working::default()),
            Overlap::Skip | Overlap::Queue => look().await,
            Overlap::Replace => {
                let working = look().await?;
                if !tick.stops || working.sessions.is_empty() {
                    return Ok(working);
                }
                for session in working.sessions {
                    self.stop(&session.key, once).await?;
                }
                look().await
            }
        }
    }

    /// Stops a session for the instant with this key. A repeat for the same instant stops it no further.
    async fn stop(&self, key: &SessionKey, once: &ItemKey) -> Result<(), RuntimeError> {
        let why = format!("replaced by schedule {}", self.name);
        let Some(session) = self.runtime.session(key).await? else { return Ok(()) };
        let stopped = match session.status {
            SessionStatus::Active | SessionStatus::Suspended => {
                let id = InterruptId::new(once.as_str())?;
                self.runtime.interrupt_once(key, id, why).await
            }
            // A session that has not begun has no turn to interrupt.
            SessionStatus::Idle if session.unread > 0 => self.runtime.abort(key, why).await,
            SessionStatus::Idle
            | SessionStatus::Interrupted
            | SessionStatus::Failed
            | SessionStatus::Aborted => return Ok(()),
        };
        match stopped {
            Ok(_) | Err(RuntimeError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns the instant as it stands in the id of a session.
fn compact(instant: Timestamp) -> String {
    let form = if instant.as_ms().rem_euclid(1_000) == 0 { "%Y%m%dT%H%M%SZ" } else { "%Y%m%dT%H%M%S%.3fZ" };
    instant.to_utc().format(form).to_string()
}
