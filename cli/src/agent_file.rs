//! Agents as TOML files.

use std::path::{Path, PathBuf};

use holdover_core::agent::{Compaction, Durability, Limits, LoopDetection, Prices, StopCondition};
use holdover_core::gate::{ApprovalRule, PermissionMode};
use holdover_core::ids::ToolName;
use holdover_models::{ModelRef, Provider};
use holdover_tools::{BUILT_IN, CommandTool};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use toml::Spanned;

use crate::exit::Failure;
use crate::gate::GateRef;
use crate::input::small_file;
use crate::print::one_line;
use crate::source::{Blueprint, Recipe};

/// An agent file, as it is written. A key that is not here is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentFile {
    name: Option<String>,
    version: Option<String>,
    model: Option<ModelEntry>,
    instructions: Option<String>,
    instructions_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    tools: Vec<Spanned<String>>,
    #[serde(default)]
    tool: Vec<Spanned<CommandTool>>,
    #[serde(default)]
    approval: Vec<Spanned<ApprovalRule>>,
    #[serde(default)]
    permissions: PermissionMode,
    gate: Option<Spanned<GateRef>>,
    #[serde(default)]
    human_only: Vec<Spanned<ToolName>>,
    #[serde(default)]
    limits: LimitsEntry,
    #[serde(default)]
    loops: LoopDetection,
    #[serde(default)]
    compaction: Compaction,
    #[serde(default)]
    stop_when: Vec<StopCondition>,
    #[serde(default)]
    durability: Durability,
    root: Option<Spanned<PathBuf>>,
    #[serde(default)]
    pass_environment: Vec<String>,
}

/// `"openai:gpt-5"`, or a table with the fields of [`ModelRef`].
#[derive(Debug)]
struct ModelEntry(ModelRef);

impl<'de> Deserialize<'de> for ModelEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ModelEntry;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a model: \"PROVIDER:NAME\", or a table with provider and name")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ModelEntry, E> {
                text.parse().map(ModelEntry).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ModelEntry, A::Error> {
                ModelRef::deserialize(MapAccessDeserializer::new(map)).map(ModelEntry)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[derive(Debug, Default, Deserialize)]
struct LimitsEntry(#[serde(with = "LimitsTable")] Limits);

/// Core's [`Limits`], in which `"none"` lifts a bound that stands unless somebody lifts it.
#[derive(Deserialize)]
#[serde(remote = "Limits", default = "Limits::default", deny_unknown_fields)]
struct LimitsTable {
    max_steps: u32,
    #[serde(deserialize_with = "or_none")]
    max_tokens: Option<u64>,
    #[serde(deserialize_with = "or_none")]
    max_cost_microusd: Option<u64>,
    #[serde(deserialize_with = "or_none")]
    max_run_ms: Option<u64>,
    prices: Prices,
    max_output_tokens: u32,
    tool_timeout_ms: u64,
    #[serde(deserialize_with = "or_none")]
    answer_timeout_ms: Option<u64>,
    result_bytes_max: usize,
    stop_grace_ms: u64,
}

fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct OrNone;
    impl Visitor<'_> for OrNone {
        type Value = Option<u64>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a number that is not negative, or \"none\"")
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Option<u64>, E> {
            u64::try_from(number)
                .map(Some)
                .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<u64>, E> {
            Ok(Some(number))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<u64>, E> {
            if text == "none" { Ok(None) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
        }
    }
    deserializer.deserialize_any(OrNone)
}

/// What the command line says instead of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Instead {
    /// The model.
    pub(crate) model: Option<ModelRef>,
    /// Where its server is.
    pub(crate) base_url: Option<String>,
    /// The folder that the file tools see, relative to the current one.
    pub(crate) root: Option<PathBuf>,
}

/// Reads the agent file at `path`. All paths in the answer are absolute: it means the same in any process.
///
/// Errors are of wrong use, in one line that names the file, and the line and the key where there is one.
pub(crate) fn read(path: &Path, instead: &Instead) -> Result<Blueprint, Failure> {
    let refuse = |why: String| Failure::wrong_use(format!("{}: {why}", path.display()));
    let text = small_file(path).map_err(refuse)?;
    let folder = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
    let folder = folder.parent().unwrap_or(Path::new("/")).to_owned();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    parse(&text, &stem, &folder, instead).map_err(refuse)
}

/// The agent that `text` describes, called `stem` if it does not say, or why there is none.
fn parse(text: &str, stem: &str, folder: &Path, instead: &Instead) -> Result<Blueprint, String> {
    let at = |span: std::ops::Range<usize>, why: String| format!("line {}: {why}", line_of(text, span.start));
    let file: AgentFile = toml::from_str(text).map_err(|error| {
        let why = one_line(error.message());
        match error.span() {
            Some(span) => at(span, why),
            None => why,
        }
    })?;
    let mut tools: Vec<String> = Vec::new();
    for tool in &file.tools {
        let name = tool.get_ref();
        if !BUILT_IN.contains(&name.as_str()) {
            let known = BUILT_IN.join(", ");
            return Err(at(tool.span(), format!("tools: unknown tool {name:?}; known are {known}")));
        }
        if tools.contains(name) {
            return Err(at(tool.span(), format!("tools: {name:?} is listed twice")));
        }
        tools.push(name.clone());
    }
    let mut commands: Vec<CommandTool> = Vec::new();
    for tool in file.tool {
        let span = tool.span();
        commands.push(declared(tool.into_inner(), &commands, folder).map_err(|why| at(span, why))?);
    }
    let names: Vec<&str> =
        tools.iter().map(String::as_str).chain(commands.iter().map(|tool| tool.name.as_str())).collect();
    // One that is about no tool is a typing error that guards nothing.
    for rule in &file.approval {
        if !names.iter().any(|name| rule.get_ref().is_about(name)) {
            let pattern = &rule.get_ref().tool;
            return Err(at(rule.span(), format!("approval: tool {pattern:?} is none of the agent's tools")));
        }
    }
    if let Some(gate) = &file.gate {
        gate.get_ref().check().map_err(|why| at(gate.span(), why))?;
    }
    for tool in &file.human_only {
        if !names.contains(&tool.get_ref().as_str()) {
            let why = format!("human_only: tool {:?} is none of the agent's tools", tool.get_ref().as_str());
            return Err(at(tool.span(), why));
        }
    }
    let instructions = match (file.instructions, &file.instructions_file) {
        (Some(_), Some(path)) => {
            return Err(at(path.span(), "give either instructions or instructions_file".to_owned()));
        }
        (Some(text), None) => text,
        (None, Some(path)) => {
            let place = folder.join(path.get_ref());
            small_file(&place)
                .map_err(|why| at(path.span(), format!("instructions_file: {}: {why}", place.display())))?
        }
        (None, None) => String::new(),
    };
    Ok(Blueprint {
        name: file.name.unwrap_or_else(|| stem.to_owned()),
        instructions,
        tools,
        limits: file.limits.0,
        loops: file.loops,
        compaction: file.compaction,
        stop_when: file.stop_when,
        durability: file.durability,
        human_only: file.human_only.into_iter().map(Spanned::into_inner).collect(),
        recipe: Recipe {
            version: file.version,
            model: model(file.model, folder, instead)?,
            root: match (&instead.root, &file.root) {
                (Some(root), _) => existing(&current_folder()?.join(root))?,
                (None, Some(root)) => {
                    existing(&folder.join(root.get_ref())).map_err(|why| at(root.span(), why))?
                }
                (None, None) => current_folder()?,
            },
            commands,
            approval: file.approval.into_iter().map(Spanned::into_inner).collect(),
            permissions: file.permissions,
            gate: file.gate.map(Spanned::into_inner),
            pass_environment: file.pass_environment,
        },
    })
}

/// The tool of a `[[tool]]` table, if it can be one beside `others`. Its program is looked for beside the file.
fn declared(mut tool: CommandTool, others: &[CommandTool], folder: &Path) -> Result<CommandTool, String> {
    tool.check().map_err(|error| error.to_string())?;
    let name = tool.name.as_str();
    if BUILT_IN.contains(&name) {
        return Err(format!("tool {name}: a built-in tool has this name"));
    }
    if others.iter().any(|other| other.name == tool.name) {
        return Err(format!("tool {name}: is declared twice"));
    }
    if let Some(program) = tool.command.first_mut().filter(|program| program.contains('/')) {
        let place = folder.join(&program);
        let place =
            place.canonicalize().map_err(|error| format!("tool {name}: {}: {error}", place.display()))?;
        *program = place.to_string_lossy().into_owned();
    }
    Ok(tool)
}

/// The model: the command line's, else the file's. A script is looked for beside whatever names it.
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

/// `model` with its script's path, if it has one, beneath `folder`.
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

/// The folder this process was started in.
pub(crate) fn current_folder() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|error| format!("the current folder: {error}"))
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use holdover_core::gate::RuleAction;
    use holdover_core::tool::EffectClass;

    use super::*;

    const WHOLE: &str = r#"
name = "keeper"
version = "2"
instructions = "Keep the notes."
tools = ["read_file", "write_file", "run_command"]
permissions = "manual"
human_only = ["run_command"]
stop_when = [{ tool_done = "write_file" }, { text_contains = "DONE" }]
durability = "sync"
pass_environment = ["CARGO_HOME"]

[model]
provider = "openai"
name = "qwen3"
base_url = "http://127.0.0.1:8080/v1"
api_key_env = "KEY"

[[tool]]
name = "charge"
description = "Charges a card"
command = ["/bin/sh", "charge.sh"]
effect = "idempotent"
timeout_seconds = 5
parameters = { type = "object", properties = { cents = { type = "integer" } }, required = ["cents"] }

[[approval]]
tool = "charge"
action = "ask"

[[approval]]
tool = "write_*"
arguments = { path = "notes/*" }
action = "ask"
reason = "it writes"

[limits]
max_steps = 7
answer_timeout_ms = "none"
prices = { input_microusd = 1 }

[gate]
url = "https://gate.example/ask"
bearer_env = "GATE_TOKEN"

[loops]
stop_at = 0
warn_at = 3

[compaction]
context_tokens = 20_000
"#;

    fn read(text: &str) -> Result<Blueprint, String> {
        parse(text, "stem", Path::new("/agents"), &Instead::default())
    }

    #[test]
    fn a_file_says_all_of_it() {
        let agent = read(WHOLE).unwrap();
        assert_eq!(agent.name, "keeper");
        assert_eq!(agent.recipe.version.as_deref(), Some("2"));
        assert_eq!(agent.recipe.model.base_url.as_deref(), Some("http://127.0.0.1:8080/v1"));
        assert_eq!((agent.limits.max_steps, agent.limits.answer_timeout_ms), (7, None));
        assert_eq!(agent.limits.tool_timeout_ms, Limits::default().tool_timeout_ms);
        assert_eq!((agent.limits.prices.input_microusd, agent.limits.prices.output_microusd), (1, 0));
        assert_eq!((agent.loops.stop_at, agent.loops.warn_at, agent.loops.withheld_steps), (0, 3, 3));
        assert_eq!((agent.compaction.threshold(), agent.compaction.kept_turns), (Some(14_000), 6));
        assert_eq!(agent.durability, Durability::Sync);
        assert_eq!(agent.stop_when.len(), 2);
        assert_eq!(agent.recipe.approval[0].action, RuleAction::Ask);
        assert_eq!(agent.recipe.approval[1].arguments.to_string(), "path=notes/*");
        assert_eq!(agent.recipe.permissions, PermissionMode::Manual);
        assert_eq!(agent.recipe.gate.as_ref().unwrap().bearer_env.as_deref(), Some("GATE_TOKEN"));
        assert_eq!(agent.human_only.iter().map(ToolName::as_str).collect::<Vec<_>>(), ["run_command"]);
        assert_eq!(agent.tools, ["read_file", "write_file", "run_command"]);
        let [charge] = agent.recipe.commands.as_slice() else { panic!("{:?}", agent.recipe.commands) };
        assert_eq!((charge.effect, charge.timeout_seconds), (EffectClass::Idempotent, Some(5)));
        assert_eq!(charge.parameters["required"], serde_json::json!(["cents"]));
        assert!(agent.recipe.root.is_absolute());
    }

    #[test]
    fn the_shortest_file_is_a_model() {
        let agent = read("model = 'scripted:play.toml'").unwrap();
        assert_eq!(agent.name, "stem");
        assert_eq!(agent.recipe.model.name, "/agents/play.toml");
        assert_eq!(agent.limits, Limits::default());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, error) in [
            ("model = 'openai:m'\ntols = []\n", "line 2: unknown field `tols`, expected one of"),
            ("\n\n[model]\nprovider = 'openai'\nnam = 'm'\n", "line 5: unknown field `nam`, expected one of"),
            ("model = 'gpt-5'", "line 1: model \"gpt-5\": write PROVIDER:NAME"),
            ("model = 'oracle:m'", "line 1: model \"oracle:m\": unknown provider \"oracle\""),
            ("model = 'openai:m'\n[limits]\nmax_step = 1\n", "line 3: unknown field `max_step`"),
            (
                "model = 'openai:m'\ntools = ['read_file']\nhuman_only = ['write_file']\n",
                "line 3: human_only: tool \"write_file\" is none of the agent's tools",
            ),
            ("model = 'openai:m'\n[gate]\nurl = 'gate'\n", "line 2: gate: url: "),
            ("model = 'openai:m'\npermissions = 'none'\n", "line 2: unknown variant `none`"),
            ("model = 'openai:m'\n[loops]\nstop = 1\n", "line 3: unknown field `stop`"),
            ("model = 'openai:m'\n[compaction]\nkept = 1\n", "line 3: unknown field `kept`"),
            ("model = 'openai:m'\n[limits]\n\nmax_run_ms = -1\n", "line 4: invalid value: integer `-1`"),
            ("model = 'openai:m'\n[limits]\nprices = { in = 1 }\n", "line 3: unknown field `in`"),
            (
                "model = 'openai:m'\ntools = [\n  'read_file',\n  'read_fil',\n]\n",
                "line 4: tools: unknown tool \"read_fil\"; known are list_files",
            ),
            ("model = 'openai:m'\ntools = ['sleep', 'sleep']\n", "line 2: tools: \"sleep\" is listed twice"),
            (
                "model = 'openai:m'\ntools = ['write_file']\n\n[[approval]]\ntool = 'write'\naction = 'ask'\n",
                "line 4: approval: tool \"write\" is none of the agent's tools",
            ),
            (
                "model = 'openai:m'\ntools = ['write_file']\n[[approval]]\ntool = '*'\naction = 'aks'\n",
                "line 5: unknown variant `aks`, expected one of",
            ),
            (
                "model = 'openai:m'\n[[tool]]\nname = 'a'\ndescription = ''\ncommand = []\n",
                "line 2: tool a: command: is empty",
            ),
            (
                "model = 'openai:m'\n[[tool]]\nname = 'sleep'\ndescription = ''\ncommand = ['true']\n",
                "line 2: tool sleep: a built-in tool has this name",
            ),
            (
                "model = 'openai:m'\n[[tool]]\nname = 'a'\ndescription = ''\ncommand = ['./no-such']\n",
                "line 2: tool a: /agents/./no-such: ",
            ),
            (
                "model = 'openai:m'\n[[tool]]\nname = 'a'\ndescription = ''\ncommand = ['a']\neffect = 'x'\n",
                "line 6: unknown variant `x`, expected one of",
            ),
            ("instructions = ''\n", "model: none is given"),
            ("model = 'openai:m'\nroot = '/no/such/folder'\n", "line 2: root: /no/such/folder: "),
            (
                "model = 'openai:m'\ninstructions_file = 'no-such.md'\n",
                "line 2: instructions_file: /agents/no-such.md: ",
            ),
            ("model = \n", "line 1: "),
        ] {
            let found = read(text).expect_err(text);
            assert!(found.starts_with(error), "{text:?}\n  found    {found}\n  expected {error}");
            assert!(!found.contains('\n'), "{found}");
        }
    }
}
