//! An agent: its spec and its code, such as the model, the tools and the gate.

mod bounds;
mod builder;
pub(crate) mod child_tools;
mod client_tool;
mod custom;
mod models;
mod output;
mod planned;
mod procedure;
mod provisioning;
mod sub_agent;
mod summariser;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use builder::AgentBuilder;
pub use client_tool::ClientTool;
pub(crate) use provisioning::Choices;
pub use sub_agent::{SUB_AGENT_DEPTH_MAX, SubAgent};
pub(crate) use summariser::Summariser;

use holdover_core::agent::AgentSpec;
use holdover_core::gate::PolicyGate;
use holdover_core::ids::{QueueLabel, ToolName};
use holdover_core::mode::Mode;
use holdover_core::model::{Model, ModelTool};
use holdover_core::payload::Payload;
use holdover_core::plan::Planner;
use holdover_core::store::Labels;
use holdover_core::tool::Tool;
use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hooks::Hooks;

/// An agent as the runtime runs it: the spec that the core uses to decide, and the code.
pub struct Agent {
    spec: Arc<AgentSpec>,
    version: Option<String>,
    model: Arc<dyn Model>,
    planner: Option<Arc<dyn Planner>>,
    models: BTreeMap<Mode, Arc<dyn Model>>,
    fallback: Vec<Arc<dyn Model>>,
    tools: BTreeMap<ToolName, EquippedTool>,
    sub_agents: BTreeMap<ToolName, Arc<Agent>>,
    gate: Arc<dyn PolicyGate>,
    hooks: Hooks,
    summariser: Option<Summariser>,
    provisioners: Vec<Choices>,
    label: QueueLabel,
    queue: QueueLabel,
    definition: Payload,
    told: [(Mode, ToldToModel); Mode::ALL.len()],
    output: Option<Arc<Validator>>,
}

/// A tool with its compiled schema.
#[derive(Clone)]
pub(crate) struct EquippedTool {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) schema: Arc<Validator>,
}

/// The parts of every model request that never change within a mode.
#[derive(Clone)]
pub(crate) struct ToldToModel {
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ModelTool]>,
    pub(crate) max_output_tokens: u32,
}

/// The definition that is stored with each session. A process can build the agent again from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The spec by which the core decides.
    pub spec: AgentSpec,
    /// Data that the front end needs to build the agent again. The engine does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Value>,
}

impl Definition {
    /// Reads a definition that [`Agent::definition`] returned.
    pub fn read(payload: &Payload) -> Result<Self, serde_json::Error> {
        payload.parse()
    }
}

impl Agent {
    /// Returns a builder for an agent called `name`.
    pub fn builder(name: impl Into<String>) -> AgentBuilder {
        AgentBuilder::new(name.into())
    }

    /// Returns the sub-agent with this name. Returns `None` if there is none, or if it belongs to another program.
    pub fn sub_agent(&self, name: &ToolName) -> Option<&Arc<Self>> {
        self.sub_agents.get(name)
    }

    /// Returns all sub-agents of this program, in the order of their names.
    pub fn sub_agents(&self) -> impl Iterator<Item = &Arc<Self>> {
        self.sub_agents.values()
    }

    /// Adds the labels of the agent's name and version, as far as there is room. Labels that are set already are
    /// kept. If the label of an agent's name is set, no version is added.
    pub(crate) fn labelled(&self, labels: Labels) -> Labels {
        of_agent(labels, &self.spec.name, self.version())
    }

    /// Returns the spec by which the core decides.
    pub fn spec(&self) -> &Arc<AgentSpec> {
        &self.spec
    }

    /// Returns the label of the agent: its name, and `@version` if it has one.
    pub fn label(&self) -> &QueueLabel {
        &self.label
    }

    /// Returns the version of the agent, if it has one.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns the queue under which the agent's sessions wait. It is the agent's label, unless [another
    /// queue](AgentBuilder::queue) was set.
    pub fn queue(&self) -> &QueueLabel {
        &self.queue
    }

    /// Returns the definition that is stored with the agent's sessions: a [`Definition`] as JSON.
    pub fn definition(&self) -> &Payload {
        &self.definition
    }

    /// Returns the model with this number: 0 is the agent's own model, and 1 the first fallback. If there is no
    /// such fallback, which can happen after a change of the agent, returns the agent's own model.
    pub(crate) fn model(&self, number: u32) -> &Arc<dyn Model> {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        at.and_then(|at| self.fallback.get(at)).unwrap_or(&self.model)
    }

    /// Returns the code that plans the sessions of the agent, if the agent is a flow.
    pub(crate) fn planner(&self) -> Option<&Arc<dyn Planner>> {
        self.planner.as_ref()
    }

    pub(crate) fn tool(&self, name: &ToolName) -> Option<&EquippedTool> {
        self.tools.get(name)
    }

    /// Returns the validator for the arguments of `tool` if `tool` is the output tool, whose arguments are the value
    /// of a turn.
    pub(crate) fn output(&self, tool: &ToolName) -> Option<&Arc<Validator>> {
        self.output.as_ref().filter(|_| self.spec.is_output(tool.as_str()))
    }

    pub(crate) fn gate(&self) -> &Arc<dyn PolicyGate> {
        &self.gate
    }

    /// Returns the summariser of old results. `None` means that the agent's model shortens them.
    pub(crate) fn summariser(&self) -> Option<&Summariser> {
        self.summariser.as_ref()
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Returns the model with this number in `mode`: 0 is the mode's own model or, if it has none, the agent's own.
    /// Other numbers stand for the fallbacks.
    pub(crate) fn model_in(&self, mode: Mode, number: u32) -> &Arc<dyn Model> {
        self.models.get(&mode).filter(|_| number == 0).unwrap_or_else(|| self.model(number))
    }

    pub(crate) fn provisioners(&self) -> &[Choices] {
        &self.provisioners
    }

    pub(crate) fn told(&self, mode: Mode) -> &ToldToModel {
        let told = self.told.iter().find(|(told, _)| *told == mode);
        told.map_or_else(|| unreachable!("every mode has its words"), |(_, told)| told)
    }
}

/// Adds the labels of an agent with this name and version. See [`Agent::labelled`].
pub(crate) fn of_agent(labels: Labels, name: &str, version: Option<&str>) -> Labels {
    let mut own = vec![(Labels::AGENT, name)];
    if !labels.0.contains_key(Labels::AGENT) {
        own.extend(version.map(|version| (Labels::AGENT_VERSION, version)));
    }
    own.into_iter().fold(labels, |labels, (name, value)| {
        if labels.0.contains_key(name) { labels } else { labels.with_if_room(name, value) }
    })
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("queue", &self.queue)
            .field("definition", &self.definition)
            .field("model", &self.model.name())
            .finish_non_exhaustive()
    }
}
