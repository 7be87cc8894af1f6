//! A flow: an async function whose steps are durable calls.

use std::collections::BTreeMap;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::gate::{PolicyGate, RuleGate};
use holdover_core::ids::{InvalidId, QueueLabel, TenantId};
use holdover_core::message::Message;
use holdover_core::plan::{OPEN_CALLS_MAX, PlanEnd, PlanError, PlanFacts, Planner};
use holdover_core::time::Timestamp;
use holdover_core::tool::Tool;
use holdover_runtime_local::{Agent, AgentBuilder, AgentError, Execute, MessageEntry, SubAgent};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::built_in::{self, FlowGate};
use crate::child::Child;
use crate::code::{Begin, FlowPlanner, Running};
use crate::cx::Cx;
use crate::deadline;
use crate::error::Stop;
use crate::step::{BoundStep, Resources, Step, StepFn};

/// A flow that takes an `I` and returns an `O`. It is an [`Agent`] whose calls are planned by code: register
/// [`agent`](Self::agent) as any agent, and start it with [`execute`](Self::execute).
pub struct Flow<I, O> {
    agent: Arc<Agent>,
    begin: Arc<Begin>,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> Flow<I, O>
where
    I: Serialize + DeserializeOwned + Send + 'static,
    O: Serialize + DeserializeOwned + Send + 'static,
{
    /// Begins to build a flow from its function.
    pub fn builder<F, Fut>(name: impl Into<String>, function: F) -> FlowBuilder<I, O>
    where
        F: Fn(Cx, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Stop>> + Send + 'static,
    {
        let begin = move |cx: Cx, input: &str| {
            let input: I =
                serde_json::from_str(input).map_err(|error| format!("the input does not fit: {error}"))?;
            let running = function(cx, input);
            let running: Running = Box::pin(async move {
                let value = running.await?;
                serde_json::to_string(&value)
                    .map_err(|error| Stop::failed(format!("the value of the flow is no JSON: {error}")))
            });
            Ok(running)
        };
        FlowBuilder {
            agent: Agent::builder(name),
            begin: Arc::new(begin),
            steps: Vec::new(),
            children: BTreeMap::new(),
            gate: Arc::new(RuleGate::default()),
            resources: Resources::default(),
            within: None,
            fault: None,
            types: PhantomData,
        }
    }

    /// Returns the flow as an agent, for [`Agents`](holdover_runtime_local::Agents) and for workers.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// Tells this code a transcript, as a new run would, and runs no step. Use it before a deployment, on the
    /// [messages](holdover_runtime_local::Runtime::messages) of sessions that have not ended.
    ///
    /// # Errors
    /// The code decides otherwise than the transcript records, or it cannot go on.
    pub fn check(&self, messages: &[MessageEntry]) -> Result<Checked, PlanError> {
        let input = messages.iter().rposition(|entry| matches!(entry.message, Message::User(_)));
        let turn = messages.get(input.unwrap_or(0)..).unwrap_or_default();
        let told: Vec<_> = turn.iter().map(|entry| (entry.seq, Arc::new(entry.message.clone()))).collect();
        let facts = PlanFacts { now: Timestamp::default(), room: OPEN_CALLS_MAX };
        let planner = FlowPlanner { begin: Arc::clone(&self.begin) };
        let planned = planner.begin().advance(&told, facts)?;
        Ok(match planned.end {
            Some(PlanEnd::Value(value)) => Checked::Returns(value),
            Some(PlanEnd::Failed(error)) => Checked::Fails(error.detail),
            Some(PlanEnd::Stopped) => Checked::Stops,
            Some(PlanEnd::CarryOn(_)) | None => Checked::GoesOn,
        })
    }

    /// Returns the request that starts the flow with this input, in a new session of `tenant`.
    ///
    /// # Errors
    /// The input cannot be written as JSON.
    pub fn execute(&self, tenant: TenantId, input: &I) -> Result<Execute, serde_json::Error> {
        Ok(Execute::new(tenant, Arc::clone(&self.agent), serde_json::to_string(input)?))
    }
}

/// The result of a [check](Flow::check): what the code does after the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checked {
    /// It waits for results, or makes further calls.
    GoesOn,
    /// It returns this value, as JSON text.
    Returns(String),
    /// It fails with this reason.
    Fails(String),
    /// It stops, because it was told to.
    Stops,
}

impl<I, O> std::fmt::Debug for Flow<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flow").field("agent", &self.agent).finish()
    }
}

/// Builds a [`Flow`].
#[must_use]
pub struct FlowBuilder<I, O> {
    agent: AgentBuilder,
    begin: Arc<Begin>,
    steps: Vec<BoundStep>,
    children: BTreeMap<&'static str, SubAgent>,
    gate: Arc<dyn PolicyGate>,
    resources: Resources,
    within: Option<Duration>,
    fault: Option<FlowError>,
    types: PhantomData<fn(I) -> O>,
}

/// The reason why a flow cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// The name of a step is no name of a tool.
    #[error("step {step:?}: {source}")]
    StepName {
        /// The name.
        step: String,
        /// The fault.
        source: InvalidId,
    },
    /// A transactional step has a function that returns no transaction, or another step has one that does.
    #[error(
        "step {step:?} is {}transactional, and its function returns {} transaction",
        if *.transactional { "" } else { "not " },
        if *.transactional { "no" } else { "a" }
    )]
    Transaction {
        /// The name.
        step: String,
        /// True if the step is transactional.
        transactional: bool,
    },
    /// A part of the flow is invalid, or two steps have the same name.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl<I, O> FlowBuilder<I, O> {
    /// Sets the version. It is part of the [label](Agent::label), so each session keeps the version that it began with.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.agent = self.agent.version(version);
        self
    }

    /// Sets the queue under which the sessions of the flow wait, instead of its label. See [`AgentBuilder::queue`].
    pub fn queue(mut self, queue: QueueLabel) -> Self {
        self.agent = self.agent.queue(queue);
        self
    }

    /// Binds a function to a step. A later one for the same step replaces it.
    pub fn on<A, R, M>(mut self, step: &Step<A, R>, function: impl StepFn<A, R, M>) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
    {
        match BoundStep::new(step, function) {
            Ok(bound) => {
                self.steps.retain(|before| before.spec != bound.spec);
                self.steps.push(bound);
            }
            Err(fault) => self.fault = self.fault.or(Some(fault)),
        }
        self
    }

    /// Adds a tool, which the flow [calls](Cx::call) by its name.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.agent = self.agent.tool(tool);
        self
    }

    /// Adds tools, for example those of an MCP server, which the flow [calls](Cx::call) by their names.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.agent = self.agent.tools(tools);
        self
    }

    /// Adds an agent, to which the flow [gives tasks](Cx::agent). It must have a model of its own.
    pub fn agent(mut self, agent: SubAgent) -> Self {
        self.agent = self.agent.sub_agent(agent);
        self
    }

    /// Binds a flow to the child that this flow [runs](Cx::flow). It keeps its own steps and resources, and has the version of
    /// this flow. Its steps pass the gates of both flows. A later flow for the same child replaces it.
    pub fn child<A, R>(mut self, child: &Child<A, R>, flow: FlowBuilder<A, R>) -> Self
    where
        A: Serialize + DeserializeOwned + Send + 'static,
        R: Serialize + DeserializeOwned + Send + 'static,
    {
        match flow.into_agent() {
            Ok(agent) => {
                self.children.insert(child.name, child.sub_agent(agent));
            }
            Err(fault) => self.fault = self.fault.or(Some(fault)),
        }
        self
    }

    /// Adds a resource, which the functions of the steps get [by its type](crate::StepCx::get). A later one of the same
    /// type replaces it.
    pub fn with<T: Send + Sync + 'static>(mut self, resource: T) -> Self {
        self.resources.add(resource);
        self
    }

    /// Sets the gate that decides on the steps. By default, dangerous steps require approval and all others run.
    pub fn gate(mut self, gate: impl PolicyGate) -> Self {
        self.gate = Arc::new(gate);
        self
    }

    /// Sets the limits. Those of steps and of the time of a turn have no effect.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.agent = self.agent.limits(limits);
        self
    }

    /// Sets the time after which the flow is told to stop, counted from each beginning. Its calls are then cancelled, its
    /// undos run, and it ends as failed, with `flow.timed_out`, unless the code still returns a value. A flow that
    /// [carries on](Cx::carry_on) in time begins again, also its time. Without it, a flow may go on for ever.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Returns the code of the flow, with its time limit.
    fn code(&self) -> Arc<Begin> {
        match self.within {
            Some(time) => deadline::within(Arc::clone(&self.begin), time),
            None => Arc::clone(&self.begin),
        }
    }

    /// Builds the flow.
    ///
    /// # Errors
    /// A name is invalid, two steps have the same name, a limit is out of its bounds, or a step and its function differ
    /// in whether they are transactional.
    pub fn build(self) -> Result<Flow<I, O>, FlowError> {
        let begin = self.code();
        Ok(Flow { agent: Arc::new(self.into_agent()?.build()?), begin, types: PhantomData })
    }

    /// Returns the agent whose code the flow is.
    fn into_agent(self) -> Result<AgentBuilder, FlowError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let begin = self.code();
        let resources = Arc::new(self.resources);
        let built_in = built_in::tools()
            .map_err(|source| FlowError::StepName { step: "built in".to_owned(), source })?;
        let mut agent =
            self.agent.planner(FlowPlanner { begin }).tools(built_in).gate(FlowGate { inner: self.gate });
        for child in self.children.into_values() {
            agent = agent.sub_agent(child);
        }
        for step in self.steps {
            agent = agent.tool(step.into_tool(Arc::clone(&resources)));
        }
        Ok(agent)
    }
}
