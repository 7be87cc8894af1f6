//! Adds, lists, changes and removes schedules.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::{ItemKey, QueueLabel, SessionKey, TenantId};
use holdover_core::message::MessagePolicy;
use holdover_core::store::{Deletion, Labels, SessionQuery, SessionStatus, StateStore};
use holdover_flow::{Flow, FlowError};
use holdover_runtime_local::{Agent, Agents, Deliver, Execute, Runtime, RuntimeError, RuntimeOptions};
use uuid::Uuid;

use crate::error::ScheduleError;
use crate::flow;
use crate::name::ScheduleName;
use crate::place::Born;
use crate::rules::{Input, Schedule};
use crate::starting::{Outcome, Starting, target_of};
use crate::view::{Entry, Found, Standing, find};

/// The name of the agent that runs schedules, and the value of the label `agent` of their sessions.
pub const AGENT: &str = "schedule";
/// The label of the sessions that a schedule starts. Its value is the name of the schedule.
pub const SCHEDULE_LABEL: &str = Labels::SCHEDULE;

/// The most attempts on a schedule that changes meanwhile.
const TRIES_MAX: u32 = 40;
/// The time that a run of a schedule has to end before it is removed, and the pause between two looks at it.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The schedules of a store. Cheap to clone.
///
/// Add its [agent](Self::agent) to the agents of the program; then its workers run the schedules of the store. A worker needs no
/// code of the targets: it creates their sessions, and the workers that have their agents run them.
#[derive(Clone)]
pub struct Schedules {
    runtime: Runtime,
    flow: Arc<Flow<Input, ()>>,
}

/// The result of [`Schedules::add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The schedule was added.
    Created,
    /// The same schedule was added before. Nothing was changed.
    Duplicate,
}

impl Schedules {
    /// Returns the schedules of a store. Give it the options of the runtime that has its agent.
    ///
    /// # Errors
    /// Never: the flow of schedules is sound.
    pub fn new(store: impl StateStore, options: RuntimeOptions) -> Result<Self, FlowError> {
        Self::built(store, options, None)
    }

    /// Returns the schedules of a store, whose sessions wait under `queue`, for a program that keeps all its agents in one.
    ///
    /// # Errors
    /// Never: the flow of schedules is sound.
    pub fn in_queue(
        store: impl StateStore,
        options: RuntimeOptions,
        queue: QueueLabel,
    ) -> Result<Self, FlowError> {
        Self::built(store, options, Some(queue))
    }

    fn built(
        store: impl StateStore,
        options: RuntimeOptions,
        queue: Option<QueueLabel>,
    ) -> Result<Self, FlowError> {
        // It starts sessions and stops them, and runs none.
        let runtime = Runtime::new(store, Agents::new(), options.run_here(false));
        let flow = Arc::new(flow::build(runtime.clone(), queue)?);
        Ok(Self { runtime, flow })
    }

    /// Returns the agent that runs schedules.
    pub fn agent(&self) -> &Arc<Agent> {
        self.flow.agent()
    }

    /// Adds a schedule. Its first instant is later than the instant of this call, on the store's clock. A repeat changes
    /// nothing.
    ///
    /// # Errors
    /// The schedule is [invalid](ScheduleError::Invalid), or [another one](ScheduleError::Exists) has the name.
    pub async fn add(
        &self,
        tenant: &TenantId,
        name: &ScheduleName,
        schedule: &Schedule,
    ) -> Result<Added, ScheduleError> {
        let born = Born { life: holdover_core::ids::Incarnation(Uuid::nil()), at: self.runtime.now() };
        schedule.check(born)?;
        let key = name.session(tenant)?;
        let input = Input::begin(schedule.rules.clone(), Some(schedule.target.clone()), None);
        for _ in 0..TRIES_MAX {
            if let Some(found) = find(&self.runtime, name, &key).await?
                && found.standing == Standing::Removing
            {
                self.end_and_delete(name, found).await?;
            }
            let request = self
                .flow
                .execute(tenant.clone(), &input)
                .map_err(|error| ScheduleError::Unreadable { name: name.clone(), why: error.to_string() })?;
            let request: Execute = request.in_session(key.id.clone()).first().served_elsewhere();
            return match self.runtime.start(request).await {
                Ok(started) if started.duplicate => Ok(Added::Duplicate),
                Ok(_) => Ok(Added::Created),
                Err(RuntimeError::NotFirst { .. } | RuntimeError::OtherAgent { .. }) => {
                    Err(ScheduleError::Exists { name: name.clone() })
                }
                Err(RuntimeError::Aborted { .. } | RuntimeError::NotFound { .. }) => continue,
                Err(error) => Err(error.into()),
            };
        }
        Err(ScheduleError::Contended { name: name.clone() })
    }

    /// Returns a schedule as it stands, or `None` if there is none of this name.
    ///
    /// # Errors
    /// The session of this name cannot be [read](ScheduleError::Unreadable) as a schedule, or changes at
    /// [each look](ScheduleError::Contended).
    pub async fn get(&self, tenant: &TenantId, name: &ScheduleName) -> Result<Option<Entry>, ScheduleError> {
        match find(&self.runtime, name, &name.session(tenant)?).await? {
            Some(found) => found.entry(&self.runtime, name.clone()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Lists the schedules of a tenant, the newest first. A schedule that cannot be read is an error in its place.
    ///
    /// # Errors
    /// The store fails.
    pub async fn list(&self, tenant: &TenantId) -> Result<Vec<Result<Entry, ScheduleError>>, ScheduleError> {
        let mut query = SessionQuery::all(tenant.clone());
        query.labels = Labels::from_iter([(Labels::AGENT, AGENT)]);
        let mut entries = Vec::new();
        loop {
            let page = self.runtime.list(&query).await?;
            for session in &page.items {
                let Some(name) = ScheduleName::of_session(&session.key.id) else { continue };
                // `None`: it was removed since.
                entries.extend(self.get(tenant, &name).await.transpose());
            }
            match page.next {
                Some(next) => query.page.after = Some(next),
                None => return Ok(entries),
            }
        }
    }

    /// Pauses a schedule: from the return of this call on, no instant starts its target, unless a run is starting it at this
    /// moment. Sessions that were started go on. Returns false if the schedule was paused before, or has no more instants.
    ///
    /// # Errors
    /// There is [no such schedule](ScheduleError::NotFound), or it [kept changing](ScheduleError::Contended).
    pub async fn pause(&self, tenant: &TenantId, name: &ScheduleName) -> Result<bool, ScheduleError> {
        let mut changed = false;
        for _ in 0..TRIES_MAX {
            let found = self.found(tenant, name).await?;
            let key = &found.session.key;
            match found.standing {
                Standing::Paused | Standing::Over | Standing::Failed => return Ok(changed),
                Standing::Removing => return Err(ScheduleError::NotFound { name: name.clone() }),
                Standing::On => changed = true,
            }
            if let Some(item) = found.queued {
                let text = text_of(name, &Input { paused: true, ..found.input })?;
                match self.runtime.replace(key, item, text).await {
                    // A run may have taken the message first, so it is looked at again.
                    Ok(()) | Err(RuntimeError::NotQueued { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            self.runtime.interrupt(key, "the schedule is paused").await?;
            // A flow that no run holds is told to stop by its next run. A second interrupt needs no run.
            let now = self.runtime.session(key).await?;
            if now.is_some_and(|now| now.status == SessionStatus::Suspended && now.unread == 0) {
                self.runtime.interrupt(key, "the schedule is paused").await?;
            } else {
                // A run carries it out.
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        match self.found(tenant, name).await?.standing {
            Standing::Paused => Ok(changed),
            Standing::On | Standing::Over | Standing::Failed | Standing::Removing => {
                Err(ScheduleError::Contended { name: name.clone() })
            }
        }
    }

    /// Resumes a paused or failed schedule: it goes on with the first instant after this call, on the clock of this machine.
    /// Instants during the pause are left out, whatever its rule for missed instants. Returns false if the schedule was on
    /// before, or has no more instants.
    ///
    /// # Errors
    /// There is [no such schedule](ScheduleError::NotFound), or it [kept changing](ScheduleError::Contended).
    pub async fn resume(&self, tenant: &TenantId, name: &ScheduleName) -> Result<bool, ScheduleError> {
        let mut changed = false;
        for _ in 0..TRIES_MAX {
            let found = self.found(tenant, name).await?;
            let (session, rules) = (&found.session, found.input.rules.clone());
            match found.standing {
                Standing::On | Standing::Over => return Ok(changed),
                Standing::Removing => return Err(ScheduleError::NotFound { name: name.clone() }),
                Standing::Paused | Standing::Failed => changed = true,
            }
            let from = Some(self.runtime.now());
            let done = match found.queued {
                Some(item) => {
                    let text = text_of(name, &Input::begin(rules, found.input.target.clone(), from))?;
                    self.runtime.replace(&session.key, item, text).await
                }
                None => {
                    let text = text_of(name, &Input::begin(rules, None, from))?;
                    // Of several callers that resume the same pause, one is heard.
                    let once = ItemKey::new(format!("resume:{}", session.version))?;
                    let message = Deliver::message(text).once(once).under(MessagePolicy::Reject);
                    self.runtime.deliver(&session.key, message).await.map(drop)
                }
            };
            match done {
                Ok(()) | Err(RuntimeError::NotQueued { .. } | RuntimeError::KeyConflict { .. }) => {}
                // A run still ends the turn that was paused.
                Err(RuntimeError::Busy { .. }) => tokio::time::sleep(LOOK_EVERY).await,
                Err(error) => return Err(error.into()),
            }
        }
        match self.found(tenant, name).await?.standing {
            Standing::On => Ok(changed),
            Standing::Paused | Standing::Over | Standing::Failed | Standing::Removing => {
                Err(ScheduleError::Contended { name: name.clone() })
            }
        }
    }

    /// Removes a schedule. Sessions that it started go on. A schedule that is added under this name later is another one.
    ///
    /// # Errors
    /// There is [no such schedule](ScheduleError::NotFound), or a run of it did not [end](ScheduleError::Contended) within
    /// 10 seconds; then it starts nothing more, and a repeat removes it. The same error says that it changed at each look; then
    /// it is as it was.
    pub async fn remove(&self, tenant: &TenantId, name: &ScheduleName) -> Result<(), ScheduleError> {
        let found = self.found(tenant, name).await?;
        self.end_and_delete(name, found).await
    }

    /// Starts the target now, beside the instants of the schedule and whatever its rule of overlap says, also while it is
    /// paused. Returns the session. Under the same key, it starts the target once; without a key, each call starts it.
    ///
    /// # Errors
    /// There is [no such schedule](ScheduleError::NotFound), it changes at [each look](ScheduleError::Contended), or the target
    /// could not be [started](ScheduleError::NotStarted).
    pub async fn trigger(
        &self,
        tenant: &TenantId,
        name: &ScheduleName,
        key: Option<ItemKey>,
    ) -> Result<SessionKey, ScheduleError> {
        let Found { session, standing, input, .. } = self.found(tenant, name).await?;
        if standing == Standing::Removing {
            return Err(ScheduleError::NotFound { name: name.clone() });
        }
        let target = match input.target {
            Some(target) => Some(target),
            None => target_of(&self.runtime, &session.key).await?,
        };
        let no_target =
            || ScheduleError::Unreadable { name: name.clone(), why: "it has no target".to_owned() };
        let target = target.ok_or_else(no_target)?;
        let of = match key {
            Some(key) => key,
            None => ItemKey::new(Uuid::new_v4().to_string())?,
        };
        let starting = Starting { runtime: &self.runtime, tenant, name };
        let why = match starting.now(target, session.incarnation, &of).await? {
            Outcome::Started { session } => return Ok(SessionKey::new(tenant.clone(), session)),
            Outcome::Busy => "the session is busy".to_owned(),
            Outcome::Failed { why } => why,
        };
        Err(ScheduleError::NotStarted { name: name.clone(), why })
    }

    async fn found(&self, tenant: &TenantId, name: &ScheduleName) -> Result<Found, ScheduleError> {
        let found = find(&self.runtime, name, &name.session(tenant)?).await?;
        found.ok_or_else(|| ScheduleError::NotFound { name: name.clone() })
    }

    /// Aborts the session, so that a run that holds it starts nothing more, and deletes it once that run has ended.
    async fn end_and_delete(&self, name: &ScheduleName, found: Found) -> Result<(), ScheduleError> {
        let (key, life) = (&found.session.key, found.session.incarnation);
        let is_it = |session: &holdover_core::store::Session| session.incarnation == life;
        match self.runtime.abort(key, "the schedule is removed").await {
            Ok(_) => {}
            Err(RuntimeError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let ended = tokio::time::timeout(ENDS_WITHIN, async {
            loop {
                let session = self.runtime.session(key).await?.filter(is_it);
                if session.is_none_or(|session| session.status == SessionStatus::Aborted) {
                    return Ok::<_, RuntimeError>(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
        match ended.await {
            Ok(ended) => ended?,
            Err(_) => return Err(ScheduleError::Contended { name: name.clone() }),
        }
        match self.runtime.delete(key, Deletion::UNLESS_ACTIVE.of(life)).await {
            Ok(()) | Err(RuntimeError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn text_of(name: &ScheduleName, input: &Input) -> Result<String, ScheduleError> {
    serde_json::to_string(input)
        .map_err(|error| ScheduleError::Unreadable { name: name.clone(), why: error.to_string() })
}

impl std::fmt::Debug for Schedules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedules").field("agent", self.agent()).finish_non_exhaustive()
    }
}
