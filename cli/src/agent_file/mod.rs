//! Reads agents from TOML files.

mod declared;
mod entries;
mod hooks;
mod reading;
mod skills;
mod sub_agents;
#[cfg(test)]
mod tests;
mod tools;
mod wrong;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holdover_core::agent::{
    AgentSpec, AtMax, BreakerRules, ChildTool, Durability, LoopDetection, OnDenial, OnDoubt, Prices, Retries,
    StopCondition, StopSignals,
};
use holdover_core::custom::StateRules;
use holdover_core::gate::{ApprovalRule, PermissionMode, RuleAction};
use holdover_core::ids::ToolName;
use holdover_core::machine::procedure::faults;
use holdover_core::message::{MessagePolicy, WhileAsking};
use holdover_core::mode::Mode;
use holdover_core::procedure::Procedure;
use holdover_core::skill::READ_SKILL;
use holdover_mcp::McpServer;
use holdover_models::{ModelRef, Provider};
use holdover_tools::{SandboxOptions, SkillSource};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use declared::{Declared, ToolEntry};
use entries::{LimitsEntry, ModelEntry, PricedEntry};
use hooks::CompactionEntry;
use sub_agents::{Above, SubAgentEntry};
use wrong::Wrong;

use crate::exit::Failure;
use crate::gate::GateRef;
use crate::hooks::HookRef;
use crate::input::small_file;
use crate::print::one_line;
use crate::recipe::{FallbackRef, Recipe};
use crate::source::Blueprint;

/// The content of an agent file. Unknown keys are refused.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AgentFile {
    name: Option<String>,
    version: Option<String>,
    model: Option<ModelEntry>,
    models: BTreeMap<Mode, PricedEntry>,
    mode: Mode,
    identity: Option<String>,
    skills: Vec<Spanned<SkillSource>>,
    skill_sources: Option<Spanned<PathBuf>>,
    skill_namespaces: Option<Spanned<Vec<String>>>,
    fallback: Vec<PricedEntry>,
    instructions: Option<String>,
    instructions_file: Option<Spanned<PathBuf>>,
    tools: Vec<Spanned<String>>,
    tool: Vec<Spanned<ToolEntry>>,
    state: StateRules,
    mcp: Vec<Spanned<McpServer>>,
    agent: Vec<Spanned<SubAgentEntry>>,
    approval: Vec<Spanned<ApprovalRule>>,
    permissions: PermissionMode,
    always_allow: Vec<Spanned<String>>,
    gate: Option<Spanned<GateRef>>,
    hook: Vec<Spanned<HookRef>>,
    human_only: Vec<Spanned<ToolName>>,
    on_denial: OnDenial,
    tool_fallbacks: BTreeMap<ToolName, Spanned<ToolName>>,
    limits: LimitsEntry,
    loops: LoopDetection,
    procedure: Option<Spanned<Procedure>>,
    compaction: CompactionEntry,
    on_message: Option<MessagePolicy>,
    on_message_while_asking: WhileAsking,
    retries: Retries,
    breaker: Option<BreakerRules>,
    stop_when: Vec<StopCondition>,
    at_max: AtMax,
    in_doubt: OnDoubt,
    stop_signals: StopSignals,
    output_schema: Option<Spanned<Value>>,
    output_schema_file: Option<Spanned<PathBuf>>,
    durability: Durability,
    early_reads: bool,
    root: Option<Spanned<PathBuf>>,
    mentions: Option<Spanned<bool>>,
    pass_environment: Vec<String>,
    sandbox: Option<Spanned<SandboxOptions>>,
}

/// Settings of the command line that replace those of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Instead {
    /// The model that replaces that of the file.
    pub(crate) model: Option<ModelRef>,
    /// The address that replaces that of the model's server.
    pub(crate) base_url: Option<String>,
    /// The folder that the file tools see, relative to the current one.
    pub(crate) root: Option<PathBuf>,
}

impl Instead {
    /// Returns true if the command line sets the model or its server. Then all modes and all sub-agents use that model.
    fn names_model(&self) -> bool {
        self.model.is_some() || self.base_url.is_some()
    }
}

/// Reads the agent file at `path`. All paths in the result are absolute, so it means the same in any process.
///
/// Errors are of kind wrong use. Each is one line that names the file, and the line and the key if known.
pub(crate) fn read(path: &Path, instead: &Instead) -> Result<Blueprint, Failure> {
    let refuse = |why: String| Failure::wrong_use(format!("{}: {why}", path.display()));
    let text = small_file(path).map_err(refuse)?;
    let folder = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
    let folder = folder.parent().unwrap_or(Path::new("/")).to_owned();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    parse(&text, &stem, &folder, instead).map_err(refuse)
}

/// Returns the agent that `text` describes, or the reason why it is not valid. `stem` is the agent's name if the text
/// gives none.
fn parse(text: &str, stem: &str, folder: &Path, instead: &Instead) -> Result<Blueprint, String> {
    let at = |span: std::ops::Range<usize>, why: String| Wrong::new(why).at(span).told(text);
    let file: AgentFile = reading::read(text).map_err(|wrong| wrong.told(text))?;
    let tools = tools::built_in(&file.tools).map_err(|(span, why)| at(span, why))?;
    let declared = Declared::read(file.tool, folder).map_err(|(span, why)| at(span, why))?;
    let mcp = tools::servers(file.mcp, folder).map_err(|(span, why)| at(span, why))?;
    // The tools of these servers are unknown until the servers are asked.
    let is_theirs = |name: &str| mcp.iter().any(|server| name.starts_with(&server.prefix()));
    let own: Vec<&str> = tools.iter().map(String::as_str).chain(declared.names()).collect();
    let names: Vec<&str> = own.iter().copied().chain(sub_agents::names(&file.agent)).collect();
    // A rule that matches no tool is a typing error and protects nothing.
    for rule in &file.approval {
        let pattern = &rule.get_ref().tool;
        if !names.iter().any(|name| rule.get_ref().is_about(name)) && !is_theirs(&pattern.to_string()) {
            return Err(at(rule.span(), format!("approval: tool {pattern:?} is none of the agent's tools")));
        }
        rule.get_ref().check().map_err(|why| at(rule.span(), format!("approval: {why}")))?;
    }
    for pattern in &file.always_allow {
        let rule = ApprovalRule::new(pattern.get_ref(), RuleAction::Allow);
        if !names.iter().any(|name| rule.is_about(name)) && !is_theirs(pattern.get_ref()) {
            let why = format!("always_allow: tool {:?} is none of the agent's tools", pattern.get_ref());
            return Err(at(pattern.span(), why));
        }
    }
    if let Some(gate) = &file.gate {
        gate.get_ref().check().map_err(|why| at(gate.span(), why))?;
    }
    for tool in &file.human_only {
        if !names.contains(&tool.get_ref().as_str()) && !is_theirs(tool.get_ref().as_str()) {
            let why = format!("human_only: tool {:?} is none of the agent's tools", tool.get_ref().as_str());
            return Err(at(tool.span(), why));
        }
    }
    for (tool, fallback) in &file.tool_fallbacks {
        let unknown = |name: &&str| !names.contains(name) && !is_theirs(name);
        if let Some(unknown) = [tool.as_str(), fallback.get_ref().as_str()].into_iter().find(unknown) {
            let why = format!("tool_fallbacks.{tool}: tool {unknown:?} is none of the agent's tools");
            return Err(at(fallback.span(), why));
        }
    }
    if let Some(procedure) = &file.procedure {
        let reads = |name: &str| !file.skills.is_empty() && name == READ_SKILL;
        let of_children = |name: &str| ChildTool::named(name).is_some();
        let has = |tool: &ToolName| {
            let name = tool.as_str();
            names.contains(&name) || is_theirs(name) || reads(name) || of_children(name)
        };
        if let Some(fault) = faults(procedure.get_ref(), has).into_iter().next() {
            return Err(at(procedure.span(), fault.to_string()));
        }
    }
    let sandbox = tools::sandbox(file.sandbox, &tools, folder).map_err(|(span, why)| at(span, why))?;
    let mentions = tools::mentions(file.mentions, sandbox.as_ref()).map_err(|(span, why)| at(span, why))?;
    let skills = skills::read(file.skills, file.skill_sources, file.skill_namespaces, folder)
        .map_err(|(span, why)| at(span, why))?;
    let has_tool = |pattern: &str| {
        let rule = ApprovalRule::new(pattern, RuleAction::Allow);
        let reads = (!skills.is_empty()).then_some(READ_SKILL);
        names.iter().copied().chain(reads).any(|name| rule.is_about(name)) || is_theirs(pattern)
    };
    let hooks = hooks::read(file.hook, folder, has_tool).map_err(|(span, why)| at(span, why))?;
    let CompactionEntry { rules: compaction, summariser } = file.compaction;
    let mut summariser = hooks::summariser(summariser, folder).map_err(|(span, why)| at(span, why))?;
    let compaction = match &summariser {
        Some(_) => compaction.summarise_results(true),
        None => compaction,
    };
    if instead.names_model() {
        summariser.take_if(|summariser| summariser.model.is_some());
    }
    let output_schema = output_schema(file.output_schema, file.output_schema_file, folder)
        .map_err(|(span, why)| at(span, why))?;
    let instructions = instructions(file.instructions, file.instructions_file.as_ref(), folder)
        .map_err(|(span, why)| at(span, why))?;
    let above = Above {
        tools: own.iter().copied().chain((!skills.is_empty()).then_some(READ_SKILL)).collect(),
        servers: &mcp,
        path: String::new(),
        folder,
        own_models: !instead.names_model(),
    };
    let sub_agents = sub_agents::read(file.agent, &above).map_err(|(span, why)| at(span, why))?;
    let (models, mode_prices) = models(file.models, folder, instead);
    let fallback = file.fallback.into_iter().map(|entry| {
        let (model, prices) = entry.beneath(folder);
        FallbackRef { model, prices }
    });
    let spec = AgentSpec {
        instructions,
        identity: file.identity,
        mode: file.mode,
        mode_prices,
        limits: file.limits.0,
        loops: file.loops,
        compaction,
        retries: file.retries,
        breaker: file.breaker,
        on_message: file.on_message,
        on_message_while_asking: file.on_message_while_asking,
        stop_when: file.stop_when,
        stop_signals: file.stop_signals,
        at_max: file.at_max,
        in_doubt: file.in_doubt,
        durability: file.durability,
        early_reads: file.early_reads,
        state: file.state,
        human_only: file.human_only.into_iter().map(Spanned::into_inner).collect(),
        on_denial: file.on_denial,
        tool_fallbacks: file
            .tool_fallbacks
            .into_iter()
            .map(|(tool, fallback)| (tool, fallback.into_inner()))
            .collect(),
        procedure: file.procedure.map(|procedure| Box::new(procedure.into_inner())),
        ..AgentSpec::new(file.name.unwrap_or_else(|| stem.to_owned()))
    };
    Ok(Blueprint {
        spec,
        tools,
        mcp_tools: Vec::new(),
        output_schema,
        recipe: Recipe {
            version: file.version,
            models,
            model: model(file.model, folder, instead)?,
            skills,
            fallback: fallback.collect(),
            root: match (&instead.root, &file.root) {
                (Some(root), _) => existing(&current_folder()?.join(root))?,
                (None, Some(root)) => {
                    existing(&folder.join(root.get_ref())).map_err(|why| at(root.span(), why))?
                }
                (None, None) => current_folder()?,
            },
            mentions,
            commands: declared.commands,
            client_tools: declared.client_tools,
            mcp,
            approval: file.approval.into_iter().map(Spanned::into_inner).collect(),
            permissions: file.permissions,
            always_allow: file.always_allow.into_iter().map(Spanned::into_inner).collect(),
            gate: file.gate.map(Spanned::into_inner),
            hooks,
            summariser,
            pass_environment: file.pass_environment,
            sandbox,
            sub_agents,
        },
        path: Vec::new(),
        source: None,
    })
}

/// Returns the instructions: the text, or the content of the file. They are empty if both are left out. A relative path
/// is resolved against `folder`.
fn instructions(
    text: Option<String>,
    file: Option<&Spanned<PathBuf>>,
    folder: &Path,
) -> Result<String, (std::ops::Range<usize>, String)> {
    match (text, file) {
        (Some(_), Some(path)) => {
            Err((path.span(), "instructions_file: give either instructions or instructions_file".to_owned()))
        }
        (Some(text), None) => Ok(text),
        (None, Some(path)) => {
            let place = folder.join(path.get_ref());
            small_file(&place)
                .map_err(|why| (path.span(), format!("instructions_file: {}: {why}", place.display())))
        }
        (None, None) => Ok(String::new()),
    }
}

/// Returns the schema of the value that each turn must return, if there is one: from a table, or from a JSON file. A
/// relative path is resolved against `folder`.
fn output_schema(
    table: Option<Spanned<Value>>,
    file: Option<Spanned<PathBuf>>,
    folder: &Path,
) -> Result<Option<Value>, (std::ops::Range<usize>, String)> {
    let (span, schema) = match (table, file) {
        (Some(_), Some(path)) => {
            return Err((path.span(), "give either output_schema or output_schema_file".to_owned()));
        }
        (Some(table), None) => (table.span(), table.into_inner()),
        (None, Some(path)) => {
            let place = folder.join(path.get_ref());
            let refuse =
                |why: String| (path.span(), format!("output_schema_file: {}: {why}", place.display()));
            let text = small_file(&place).map_err(refuse)?;
            let schema = serde_json::from_str(&text).map_err(|error| refuse(one_line(&error.to_string())))?;
            (path.span(), schema)
        }
        (None, None) => return Ok(None),
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err((span, "output_schema: does not say type = \"object\"".to_owned()));
    }
    Ok(Some(schema))
}

/// Returns the model of the command line, or else that of the file. A relative script path in the file is resolved
/// against the file's folder.
fn model(entry: Option<ModelEntry>, folder: &Path, instead: &Instead) -> Result<ModelRef, String> {
    let mut model = match (&instead.model, entry) {
        (Some(model), _) => absolute_script(model.clone(), &current_folder()?),
        (None, Some(ModelEntry(model))) => absolute_script(model, folder),
        (None, None) => return Err("model: none is given; write model = \"PROVIDER:NAME\"".to_owned()),
    };
    if let Some(url) = &instead.base_url {
        model.base_url = Some(url.clone());
    }
    Ok(model)
}

/// Returns the models of single modes, and their prices if given. A model or a server address on the command line
/// replaces all of them.
fn models(
    entries: BTreeMap<Mode, PricedEntry>,
    folder: &Path,
    instead: &Instead,
) -> (BTreeMap<Mode, ModelRef>, BTreeMap<Mode, Prices>) {
    let (mut models, mut all_prices) = (BTreeMap::new(), BTreeMap::new());
    if instead.names_model() {
        return (models, all_prices);
    }
    for (mode, entry) in entries {
        let (model, prices) = entry.beneath(folder);
        models.insert(mode, model);
        all_prices.extend(prices.map(|prices| (mode, prices)));
    }
    (models, all_prices)
}

/// Returns `model` with the path of its script, if any, resolved against `folder`.
pub(crate) fn absolute_script(mut model: ModelRef, folder: &Path) -> ModelRef {
    match model.provider {
        Provider::Scripted => model.name = folder.join(&model.name).to_string_lossy().into_owned(),
        Provider::OpenAi | Provider::Anthropic => {}
    }
    model
}

fn existing(root: &Path) -> Result<PathBuf, String> {
    root.canonicalize().map_err(|error| format!("root: {}: {error}", root.display()))
}

/// Returns the current folder of this process.
pub(crate) fn current_folder() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|error| format!("the current folder: {error}"))
}
