//! The tools that a file declares: its `[[tool]]` tables.

use std::ops::Range;
use std::path::Path;

use holdover_core::ids::ToolName;
use holdover_core::tool::{Bound, EffectClass, RunsOn, ToolSpec};
use holdover_tools::{BUILT_IN, CommandTool, check_declaration, no_parameters};
use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use super::tools::beside;

/// A position in the file, and the fault there.
type Wrong = (Range<usize>, String);

/// A `[[tool]]` table, as written in the file: a program, or a tool that a client runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolEntry {
    name: ToolName,
    description: String,
    #[serde(default)]
    runs_on: Place,
    #[serde(default)]
    command: Option<Spanned<Vec<String>>>,
    #[serde(default = "no_parameters")]
    parameters: Map<String, Value>,
    #[serde(default)]
    effect: EffectClass,
    #[serde(default)]
    dangerous: Option<Spanned<bool>>,
    #[serde(default)]
    timeout_seconds: Option<Bound>,
    #[serde(default)]
    uses_state: Option<Spanned<bool>>,
}

/// The party that runs a declared tool. The names are those of [`RunsOn`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    /// The process that runs the session starts a program.
    #[default]
    Server,
    /// A client answers from outside.
    Client,
}

/// The tools that a file declares.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// The programs.
    pub(super) commands: Vec<CommandTool>,
    /// The tools that a client runs.
    pub(super) client_tools: Vec<ToolSpec>,
}

impl Declared {
    /// Returns the tools of these tables. Relative program paths are resolved against the file's folder.
    pub(super) fn read(tables: Vec<Spanned<ToolEntry>>, folder: &Path) -> Result<Self, Wrong> {
        let mut declared = Self::default();
        for table in tables {
            let span = table.span();
            declared.add(table.into_inner(), folder, span)?;
        }
        Ok(declared)
    }

    /// Returns the names of the tools.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let commands = self.commands.iter().map(|tool| tool.name.as_str());
        commands.chain(self.client_tools.iter().map(|tool| tool.name.as_str()))
    }

    fn add(&mut self, entry: ToolEntry, folder: &Path, span: Range<usize>) -> Result<(), Wrong> {
        let name = entry.name.clone();
        let wrong = |why: String| (span.clone(), format!("tool {name}: {why}"));
        if BUILT_IN.contains(&name.as_str()) {
            return Err(wrong("a built-in tool has this name".to_owned()));
        }
        if self.names().any(|other| other == name.as_str()) {
            return Err(wrong("is declared twice".to_owned()));
        }
        match entry.runs_on {
            Place::Server => {
                let mut program = entry.program().map_err(wrong)?;
                program.check().map_err(|error| (span.clone(), error.to_string()))?;
                if let Some(first) = program.command.first_mut() {
                    beside(first, folder).map_err(wrong)?;
                }
                self.commands.push(program);
            }
            Place::Client => {
                if let Some((key, place, why)) = entry.of_programs() {
                    return Err((place, format!("tool {name}: {key}: {why}")));
                }
                check_declaration(&name, &entry.parameters, entry.timeout_seconds)
                    .map_err(|error| (span.clone(), error.to_string()))?;
                self.client_tools.push(entry.of_client());
            }
        }
        Ok(())
    }
}

impl ToolEntry {
    fn program(self) -> Result<CommandTool, String> {
        let missing = "command: is missing; a tool that a client runs has runs_on = \"client\"";
        Ok(CommandTool {
            name: self.name,
            description: self.description,
            command: self.command.ok_or(missing)?.into_inner(),
            parameters: self.parameters,
            effect: self.effect,
            dangerous: self.dangerous.is_some_and(Spanned::into_inner),
            timeout_seconds: self.timeout_seconds,
            uses_state: self.uses_state.is_some_and(Spanned::into_inner),
        })
    }

    /// Returns a key that only a program can have, its position, and the reason.
    fn of_programs(&self) -> Option<(&'static str, Range<usize>, &'static str)> {
        let set =
            |flag: &Option<Spanned<bool>>| flag.as_ref().filter(|flag| *flag.get_ref()).map(Spanned::span);
        let other = "is for programs, and a client runs this tool (runs_on = \"client\")";
        let asks = "a call that a client runs cannot wait for approval; rules can allow or deny it";
        let keys = [
            ("command", self.command.as_ref().map(Spanned::span), other),
            ("uses_state", set(&self.uses_state), other),
            ("dangerous", set(&self.dangerous), asks),
        ];
        keys.into_iter().find_map(|(key, place, why)| Some((key, place?, why)))
    }

    fn of_client(self) -> ToolSpec {
        ToolSpec {
            name: self.name,
            description: self.description,
            parameters: Value::Object(self.parameters),
            effect: self.effect,
            dangerous: false,
            runs_on: RunsOn::Client,
            timeout_ms: self.timeout_seconds.map(|limit| match limit {
                Bound::At(seconds) => Bound::At(seconds.saturating_mul(1_000)),
                Bound::Never => Bound::Never,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use holdover_core::custom::StateRules;
    use serde_json::json;

    use super::super::{Instead, parse};
    use super::*;
    use crate::recipe::Recipe;
    use crate::source::Blueprint;

    const SCAN: &str = "[[tool]]\nname = 'scan'\ndescription = 'Scans'\nruns_on = 'client'\n";

    fn read(text: &str) -> Result<Blueprint, String> {
        parse(&format!("model = 'openai:m'\n{text}"), "stem", Path::new("/agents"), &Instead::default())
    }

    #[test]
    fn a_tool_of_a_client_is_what_the_table_says() {
        let schema = "parameters = { type = 'object', properties = { page = { type = 'integer' } } }";
        let text = format!("{SCAN}{schema}\neffect = 'read_only'\ntimeout_seconds = 90\n");
        let agent = read(&format!("{text}[[approval]]\ntool = 'scan'\naction = 'allow'\n")).unwrap();
        let [scan] = agent.recipe.client_tools.as_slice() else { panic!("{:?}", agent.recipe) };
        assert_eq!((scan.name.as_str(), scan.description.as_str()), ("scan", "Scans"));
        assert_eq!(
            (scan.runs_on, scan.effect, scan.dangerous),
            (RunsOn::Client, EffectClass::ReadOnly, false)
        );
        assert_eq!(scan.timeout_ms, Some(Bound::At(90_000)));
        assert_eq!(scan.parameters["properties"]["page"]["type"], "integer");
        let plain = read(&format!("{SCAN}timeout_seconds = 'none'\n")).unwrap();
        let scan = &plain.recipe.client_tools[0];
        assert_eq!((scan.effect, scan.timeout_ms), (EffectClass::AtMostOnce, Some(Bound::Never)));
        assert_eq!(scan.parameters["additionalProperties"], false);
        assert!(plain.recipe.commands.is_empty());
    }

    #[test]
    fn what_fits_neither_a_program_nor_a_client_is_refused() {
        let program = "[[tool]]\nname = 'a'\ndescription = ''\n";
        let of_client = |rest: &str| format!("{SCAN}{rest}\n");
        for (text, line) in [
            (
                of_client("command = ['true']"),
                "line 6: tool scan: command: is for programs, and a client runs this tool (runs_on = \"client\")",
            ),
            (
                of_client("uses_state = true"),
                "line 6: tool scan: uses_state: is for programs, and a client runs this tool (runs_on = \"client\")",
            ),
            (
                of_client("dangerous = true"),
                "line 6: tool scan: dangerous: a call that a client runs cannot wait for approval; rules can allow",
            ),
            (of_client("timeout_seconds = 0"), "line 2: tool scan: timeout_seconds: is zero"),
            (of_client("parameters = {}"), "line 2: tool scan: parameters: type is not \"object\""),
            (of_client(SCAN), "line 6: tool scan: is declared twice"),
            (
                of_client("[[agent]]\nname = 'scan'\ndescription = ''"),
                "line 7: agent[0].name: \"scan\": a tool has this name",
            ),
            (
                program.replace("'a'", "'ask_user'") + "runs_on = 'client'",
                "line 2: tool ask_user: a built-in tool has this name",
            ),
            (
                program.replace("'a'", "'a b'") + "runs_on = 'client'",
                "line 2: tool \"a b\": name: providers take 1 to 64 letters, digits, _ and - alone",
            ),
            (
                program.to_owned(),
                "line 2: tool a: command: is missing; a tool that a client runs has runs_on = \"client\"",
            ),
            (
                format!("{program}runs_on = 'child'"),
                "line 5: tool[0].runs_on: \"server\" or \"client\" is wanted, not the text \"child\"",
            ),
            (
                "[state]\nbytes = 1".to_owned(),
                "line 3: state.bytes: there is no such key; known are schema, bytes_max",
            ),
            (
                "[state]\nbytes_max = -1".to_owned(),
                "line 3: state.bytes_max: a whole number that is not negative",
            ),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(line), "{error}");
        }
        let off = of_client("dangerous = false\nuses_state = false");
        assert_eq!(read(&off).unwrap().recipe.client_tools.len(), 1);
    }

    #[test]
    fn the_state_has_the_rules_of_the_file() {
        let text = "[state]\nbytes_max = 900\nschema = { properties = { n = { type = 'integer' } } }\n";
        let schema = Some(json!({ "properties": { "n": { "type": "integer" } } }));
        assert_eq!(
            read(text).unwrap().spec.state,
            StateRules { schema, bytes_max: 900, ..StateRules::default() }
        );
        assert_eq!(read("").unwrap().spec.state, StateRules::default());
    }

    #[test]
    fn a_recipe_without_them_is_stored_as_before() {
        let written = |text: &str| serde_json::to_value(read(text).unwrap().recipe).unwrap();
        let charge = "[[tool]]\nname = 'charge'\ndescription = ''\ncommand = ['true']\n";
        let old = written(charge);
        assert!(old.get("client_tools").is_none() && old["commands"][0].get("uses_state").is_none(), "{old}");
        let new = written(&format!("{charge}uses_state = true\n{SCAN}"));
        let read: Recipe = serde_json::from_value(new.clone()).unwrap();
        assert_eq!((read.client_tools.len(), read.commands[0].uses_state), (1, true));
        assert_eq!(serde_json::to_value(&read).unwrap(), new);
    }
}
