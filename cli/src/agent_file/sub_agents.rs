//! The sub-agents of a file: its `[[agent]]` tables.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdover_core::agent::{CHILDREN_MAX, ChildTool};
use holdover_core::gate::{ApprovalRule, PermissionMode};
use holdover_core::ids::ToolName;
use holdover_core::remote::Remote;
use holdover_core::tool::Bound;
use holdover_mcp::McpServer;
use serde::Deserialize;
use toml::Spanned;

use super::entries::{LimitsOfSubAgent, ModelEntry};
use super::{absolute_script, instructions};
use crate::sub_agents::SubAgentRecipe;

/// A position in the file, and the fault there.
type Wrong = (Range<usize>, String);

/// An `[[agent]]` table, as written in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubAgentEntry {
    name: Spanned<ToolName>,
    description: String,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    instructions_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    model: Option<ModelEntry>,
    #[serde(default)]
    tools: Vec<Spanned<ToolName>>,
    #[serde(default)]
    approval: Vec<Spanned<ApprovalRule>>,
    #[serde(default)]
    permissions: Option<PermissionMode>,
    #[serde(default)]
    limits: Option<LimitsOfSubAgent>,
    #[serde(default)]
    fan_out_max: Option<Spanned<u32>>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    takes_over: Option<Spanned<bool>>,
    #[serde(default)]
    url: Option<Spanned<String>>,
    #[serde(default)]
    token_env: Option<Spanned<String>>,
    #[serde(default)]
    look_every_seconds: Option<Spanned<u64>>,
    #[serde(default)]
    timeout_seconds: Option<Spanned<Bound>>,
    #[serde(default)]
    agent: Vec<Spanned<SubAgentEntry>>,
}

/// The agent that has the sub-agents.
pub(super) struct Above<'a> {
    /// The names of the agent's tools, without those of `servers`.
    pub(super) tools: Vec<&'a str>,
    /// The MCP servers whose tools the agent has. The tools are unknown until the servers are asked. Empty for a
    /// sub-agent, because its tools are listed by name.
    pub(super) servers: &'a [McpServer],
    /// The path to the agent in the file, with a dot at its end. Empty for the agent of the file itself.
    pub(super) path: String,
    /// The folder of the file.
    pub(super) folder: &'a Path,
    /// True if sub-agents may have their own models. The command line may set one model for all.
    pub(super) own_models: bool,
}

impl Above<'_> {
    fn has(&self, name: &str) -> bool {
        self.tools.contains(&name) || self.is_of_server(name)
    }

    fn is_of_server(&self, name: &str) -> bool {
        self.servers.iter().any(|server| name.starts_with(&server.prefix()))
    }
}

/// Returns the names of the sub-agents in these tables. If any of them may run in the background, adds the names of the
/// tools for background children.
pub(super) fn names(entries: &[Spanned<SubAgentEntry>]) -> impl Iterator<Item = &str> {
    let any = entries.iter().any(|entry| entry.get_ref().background);
    let tools = ChildTool::ALL.iter().filter(move |_| any).map(|tool| tool.name());
    let own = entries.iter().map(|entry| entry.get_ref().name.get_ref().as_str());
    own.chain(tools)
}

/// Returns the sub-agents of the agent `above`. Relative paths are resolved against the file's folder.
pub(super) fn read(
    entries: Vec<Spanned<SubAgentEntry>>,
    above: &Above<'_>,
) -> Result<Vec<SubAgentRecipe>, Wrong> {
    let mut read: Vec<SubAgentRecipe> = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let entry = entry.into_inner();
        let (place, name) = (entry.name.span(), entry.name.get_ref());
        let path = format!("{}agent[{index}]", above.path);
        let taken = if above.has(name.as_str()) {
            Some("a tool has this name")
        } else if read.iter().any(|other| other.name == *name) {
            Some("is declared twice")
        } else {
            None
        };
        if let Some(why) = taken {
            return Err((place, format!("{path}.name: {:?}: {why}", name.as_str())));
        }
        read.push(one(entry, above, &path)?);
    }
    Ok(read)
}

/// Returns the remote agent that the table names, if it has a `url`.
fn remote(entry: &SubAgentEntry) -> Result<Option<Remote>, Wrong> {
    let Some(url) = &entry.url else {
        let of_remote = [
            ("token_env", entry.token_env.as_ref().map(Spanned::span)),
            ("look_every_seconds", entry.look_every_seconds.as_ref().map(Spanned::span)),
        ];
        let stray = of_remote.into_iter().find_map(|(key, place)| Some((key, place?)));
        return match stray {
            Some((key, place)) => {
                Err((place, format!("{key}: is for an agent of another program, which has a url")))
            }
            None => Ok(None),
        };
    };
    let of_agents_here = [
        ("instructions", entry.instructions.is_some()),
        ("instructions_file", entry.instructions_file.is_some()),
        ("model", entry.model.is_some()),
        ("tools", !entry.tools.is_empty()),
        ("approval", !entry.approval.is_empty()),
        ("permissions", entry.permissions.is_some()),
        ("limits", entry.limits.is_some()),
        ("background", entry.background),
        ("takes_over", entry.takes_over.is_some()),
        ("agent", !entry.agent.is_empty()),
    ];
    if let Some((key, _)) = of_agents_here.into_iter().find(|(_, is_set)| *is_set) {
        let why = format!("{key}: is for agents of this program, and url names another");
        return Err((url.span(), why));
    }
    let mut remote = Remote::new(url.get_ref());
    remote.token_env = entry.token_env.as_ref().map(|name| name.get_ref().clone());
    let mut place = url.span();
    if let Some(seconds) = &entry.look_every_seconds {
        remote = remote.look_every(Duration::from_secs(*seconds.get_ref()));
        if remote.fault().is_some_and(|(field, _)| field == "look_every") {
            return Err((seconds.span(), "look_every_seconds: is zero".to_owned()));
        }
    }
    match remote.fault() {
        Some((field, why)) => {
            if let (Some(token), "token_env") = (&entry.token_env, field) {
                place = token.span();
            }
            Err((place, format!("{field}: {why}")))
        }
        None => Ok(Some(remote)),
    }
}

fn one(entry: SubAgentEntry, above: &Above<'_>, path: &str) -> Result<SubAgentRecipe, Wrong> {
    let at = |(place, why): Wrong| (place, format!("{path}.{why}"));
    let remote = remote(&entry).map_err(at)?;
    for (nth, tool) in entry.tools.iter().enumerate() {
        let name = tool.get_ref();
        let why = if !above.has(name.as_str()) {
            "is none of the parent's tools"
        } else if entry.tools.iter().take(nth).any(|other| other.get_ref() == name) {
            "is listed twice"
        } else {
            continue;
        };
        return Err(at((tool.span(), format!("tools: {:?} {why}", name.as_str()))));
    }
    let own: Vec<&str> = entry.tools.iter().map(|tool| tool.get_ref().as_str()).collect();
    for rule in &entry.approval {
        let said = rule.get_ref();
        if !own.iter().copied().chain(names(&entry.agent)).any(|name| said.is_about(name)) {
            let why = format!("approval: tool {:?} is none of the agent's tools", said.tool);
            return Err(at((rule.span(), why)));
        }
        said.check().map_err(|why| at((rule.span(), format!("approval: {why}"))))?;
    }
    let fan_out = entry.fan_out_max.as_ref();
    if let Some(most) = fan_out.filter(|most| !(1..=CHILDREN_MAX).contains(most.get_ref())) {
        let why = format!("fan_out_max: is {}, expected 1 to {CHILDREN_MAX}", most.get_ref());
        return Err(at((most.span(), why)));
    }
    let takes_over = entry.takes_over.as_ref().is_some_and(|takes_over| *takes_over.get_ref());
    let of_tasks = [
        ("fan_out_max", entry.fan_out_max.is_some()),
        ("timeout_seconds", entry.timeout_seconds.is_some()),
        ("background", entry.background),
    ];
    if let (Some(place), Some((key, _))) =
        (entry.takes_over.as_ref().filter(|_| takes_over), of_tasks.into_iter().find(|(_, is_set)| *is_set))
    {
        let why = format!("{key}: is for agents that are given tasks, and this one takes over");
        return Err(at((place.span(), why)));
    }
    let timeout = entry.timeout_seconds.as_ref();
    if let Some(zero) = timeout.filter(|timeout| *timeout.get_ref() == Bound::At(0)) {
        return Err(at((zero.span(), "timeout_seconds: is zero".to_owned())));
    }
    let instructions =
        instructions(entry.instructions, entry.instructions_file.as_ref(), above.folder).map_err(at)?;
    let below = Above {
        tools: own,
        // The sub-agent's tools of servers are in `tools`.
        servers: &[],
        path: format!("{path}."),
        folder: above.folder,
        own_models: above.own_models,
    };
    let sub_agents = read(entry.agent, &below)?;
    let model = entry.model.filter(|_| above.own_models);
    Ok(SubAgentRecipe {
        name: entry.name.into_inner(),
        description: entry.description,
        instructions,
        model: model.map(|ModelEntry(model)| absolute_script(model, above.folder)),
        tools: entry.tools.into_iter().map(Spanned::into_inner).collect(),
        approval: entry.approval.into_iter().map(Spanned::into_inner).collect(),
        permissions: entry.permissions,
        limits: entry.limits.map(|LimitsOfSubAgent(limits)| limits),
        fan_out_max: entry.fan_out_max.map(Spanned::into_inner),
        background: entry.background,
        takes_over,
        remote,
        timeout_seconds: entry.timeout_seconds.map(Spanned::into_inner),
        sub_agents,
    })
}
