//! Checks which sessions a new version would break, before it serves anything.

use std::fmt;
use std::sync::Arc;

use holdover_core::engine::STATE_FORMAT;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{CallId, QueueLabel, SessionKey, StateFormat};
use holdover_core::machine::Machine;
use holdover_core::phrases;
use holdover_core::plan::{Divergence, OPEN_CALLS_MAX, PlanError, PlanFacts};
use holdover_core::procedure::StateName;
use holdover_core::store::{PageRequest, Session, SessionQuery, SessionStatus, StoreError, StoreErrorKind};
use holdover_core::tool::RunsOn;
use serde::Serialize;

use super::standing::machine_of;
use super::{Runtime, agent_label};
use crate::agent::Agent;
use crate::error::RuntimeError;
use crate::guard::guarded;

/// A session that the new version would break.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Breaking {
    /// The session.
    pub key: SessionKey,
    /// The label of the session's agent: its name, and `@version` if it has one.
    pub agent: String,
    /// The queue under which the session waits.
    pub queue: QueueLabel,
    /// The status of the session. A session at rest breaks only once it gets a message, or must look at sessions that
    /// work for it.
    pub status: SessionStatus,
    /// All reasons why the session would break.
    pub why: Vec<Breaks>,
}

/// A reason why a session could not go on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "breaks", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Breaks {
    /// A newer version wrote the session's state.
    NewerFormat {
        /// The format of the state.
        found: StateFormat,
        /// The newest format that is read here.
        newest: StateFormat,
    },
    /// The session's state cannot be read.
    Unreadable {
        /// The reason why it cannot be read.
        detail: String,
    },
    /// The session's agent is missing in this version, or it was changed and the source refuses that.
    NoAgent {
        /// The reason why the agent was not found.
        why: ErrorInfo,
    },
    /// The agent here does not have the tool of an open call.
    MissingTool {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
    },
    /// The procedure of the agent has no such state in this version. The next turn would fail.
    UnknownState {
        /// The state in which the work of the session stands.
        state: StateName,
    },
    /// The code of the flow decides otherwise than the transcript records. The session would wait for other code.
    Diverges {
        /// The first place.
        found: Divergence,
    },
    /// The code of the flow panics or cannot go on. The turn would fail.
    FlowFails {
        /// The reason.
        why: ErrorInfo,
    },
    /// The tool of an open call runs in another place in this version.
    ToolMoved {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// The place where the tool ran.
        was: RunsOn,
        /// The place where the tool runs here.
        is: RunsOn,
    },
}

impl fmt::Display for Breaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerFormat { found, newest } => {
                write!(f, "its state has format {found}, this version reads up to {newest}")
            }
            Self::Unreadable { detail } => write!(f, "it cannot be read: {detail}"),
            Self::NoAgent { why } => write!(f, "its agent is not here: {why}"),
            Self::MissingTool { call, tool } => write!(f, "call {call}: its agent has no tool {tool} here"),
            Self::UnknownState { state } => write!(f, "its agent's procedure has no state {state} here"),
            Self::Diverges { found } => write!(f, "its flow diverges here: {found}"),
            Self::FlowFails { why } => write!(f, "its flow fails here: {why}"),
            Self::ToolMoved { call, tool, .. } => {
                write!(f, "call {call}: tool {tool} is run by somebody else here")
            }
        }
    }
}

impl fmt::Display for Breaking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why: Vec<String> = self.why.iter().map(Breaks::to_string).collect();
        let status = phrases::status(self.status);
        write!(f, "session {} of agent {} ({status}): {}", self.key, self.agent, why.join("; "))
    }
}

impl Runtime {
    /// Lists the sessions that would not go on with the agents of this runtime and this version of the engine. Call
    /// it in a new version before it serves anything. It reads every session that the query selects, claims none,
    /// and changes nothing. Aborted sessions are left out. An empty list means that nothing breaks.
    ///
    /// Errors: those of the store. A session that cannot be read is no error: it is in the list.
    pub async fn would_break(&self, sessions: &SessionQuery) -> Result<Vec<Breaking>, RuntimeError> {
        let mut query = sessions.clone();
        let mut breaking = Vec::new();
        loop {
            let page = self.list(&query).await?;
            for listed in page.items.iter().filter(|listed| listed.status != SessionStatus::Aborted) {
                let why = match self.session(&listed.key).await {
                    Ok(Some(session)) => self.breaks(&session).await,
                    // The session was deleted since it was listed, so nothing breaks.
                    Ok(None) => continue,
                    Err(RuntimeError::Store(error)) if cannot_be_read(&error) => {
                        vec![Breaks::Unreadable { detail: error.to_string() }]
                    }
                    Err(error) => return Err(error),
                };
                if !why.is_empty() {
                    let agent = agent_label(&listed.queue, &listed.labels);
                    let (key, queue) = (listed.key.clone(), listed.queue.clone());
                    breaking.push(Breaking { key, agent, queue, status: listed.status, why });
                }
            }
            match page.next {
                Some(next) => query.page = PageRequest { after: Some(next), limit: query.page.limit },
                None => return Ok(breaking),
            }
        }
    }

    async fn breaks(&self, session: &Session) -> Vec<Breaks> {
        let agent = self.shared.agents.ask(&session.queue, &session.definition).await;
        let (agent, mut why) = match agent {
            Ok(agent) => (Some(agent), Vec::new()),
            Err(why) => (None, vec![Breaks::NoAgent { why }]),
        };
        if session.format > STATE_FORMAT {
            why.push(Breaks::NewerFormat { found: session.format, newest: STATE_FORMAT });
            return why;
        }
        match machine_of(session) {
            Err(error) => why.push(Breaks::Unreadable { detail: error.to_string() }),
            Ok(machine) => {
                let stands = machine.as_ref().and_then(|machine| machine.procedure.clone());
                let procedure = agent.as_ref().and_then(|agent| agent.spec().procedure.as_deref());
                if let (Some(state), Some(procedure)) = (stands, procedure)
                    && !procedure.states.contains_key(&state)
                {
                    why.push(Breaks::UnknownState { state });
                }
                let batch = machine.as_ref().and_then(|machine| machine.state.batch());
                // A request for more steps needs no tool, and the wait of a procedure needs none.
                let batch = batch.filter(|batch| batch.is_step());
                let open =
                    batch.into_iter().flat_map(|batch| &batch.calls).filter(|call| !call.state.is_end());
                why.extend(open.filter_map(|call| breaks_call(agent.as_deref()?, call)));
                if let (Some(agent), Some(machine)) = (&agent, &machine) {
                    why.extend(self.breaks_flow(session, agent, machine).await);
                }
            }
        }
        why
    }

    /// Tells the code of a flow the transcript of its open turn, and returns the reason why it could not go on. Nothing
    /// runs.
    async fn breaks_flow(&self, session: &Session, agent: &Agent, machine: &Machine) -> Option<Breaks> {
        let plan = machine.turn.plan.as_ref().filter(|_| machine.turn.open)?;
        let mut code = agent.planner()?.begin();
        let from = plan.after.next();
        if from > session.last_message {
            return None;
        }
        let told = match self.read_range(&session.key, from, session.last_message).await {
            Ok(told) => {
                told.into_iter().map(|entry| (entry.seq, Arc::new(entry.message))).collect::<Vec<_>>()
            }
            Err(error) => return Some(Breaks::Unreadable { detail: error.to_string() }),
        };
        let facts = PlanFacts { now: session.updated_at, room: OPEN_CALLS_MAX };
        match guarded(async move { code.advance(&told, facts) }).await {
            Ok(Ok(_)) => None,
            Ok(Err(PlanError::Diverged(found))) => Some(Breaks::Diverges { found: *found }),
            Ok(Err(PlanError::Broken(why))) => Some(Breaks::FlowFails { why }),
            Err(panicked) => Some(Breaks::FlowFails { why: ErrorInfo::new("flow.panicked", panicked.0) }),
        }
    }
}

/// Returns true if the error comes from the data of this session, so that other sessions may be readable.
pub(super) fn cannot_be_read(error: &StoreError) -> bool {
    matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::KeyMissing | StoreErrorKind::Newer)
}

fn breaks_call(agent: &Agent, call: &holdover_core::machine::Call) -> Option<Breaks> {
    let (id, tool) = (call.id.clone(), call.tool.clone());
    match agent.spec().tool(&call.tool) {
        // The tool that returns the value of a turn is not among the agent's tools.
        None if agent.spec().is_output(&call.tool) => None,
        None => Some(Breaks::MissingTool { call: id, tool }),
        Some(spec) if spec.runs_on != call.runs_on => {
            Some(Breaks::ToolMoved { call: id, tool, was: call.runs_on, is: spec.runs_on })
        }
        Some(_) => None,
    }
}
