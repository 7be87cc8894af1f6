//! The built-in tools by name.

use std::sync::Arc;

use holdover_core::ids::ToolName;
use holdover_core::tool::Tool;

use crate::command::{self, CommandTool, InvalidCommandTool, run_command};
use crate::files::{Root, edit_file, list_files, read_file, search_files, write_file};
use crate::{ask, sleep, wait};

/// The names of all built-in tools, in the order in which a model should see them.
pub const BUILT_IN: [&str; 9] = [
    "list_files",
    "read_file",
    "search_files",
    "write_file",
    "edit_file",
    "run_command",
    "ask_user",
    "sleep",
    "wait_for",
];

/// Returns the built-in tool `name` on `root`, or `None` if there is no such tool. Commands get only the usual
/// environment variables.
pub fn built_in(name: &str, root: &Root) -> Option<Arc<dyn Tool>> {
    ToolSet::new(root.clone()).tool(name)
}

/// The built-in tools on one root.
#[derive(Debug, Clone)]
pub struct ToolSet {
    root: Root,
    environment: Vec<String>,
}

impl ToolSet {
    /// Creates the set of tools on `root`.
    pub fn new(root: Root) -> Self {
        Self { root, environment: Vec::new() }
    }

    /// Passes these environment variables to the programs of `run_command` and of declared tools, besides the usual
    /// few: `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, locale, time zone and temporary folder. Name no secrets: a
    /// model reads the output of a command.
    #[must_use]
    pub fn pass_environment(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.environment.extend(names.into_iter().map(Into::into));
        self
    }

    /// Returns the tool `name`, or `None` if there is no such tool.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let root = self.root.clone();
        let tool_name = ToolName::new(name).ok()?;
        Some(match name {
            "list_files" => Arc::new(list_files(tool_name, root)),
            "read_file" => Arc::new(read_file(tool_name, root)),
            "search_files" => Arc::new(search_files(tool_name, root)),
            "write_file" => Arc::new(write_file(tool_name, root)),
            "edit_file" => Arc::new(edit_file(tool_name, root)),
            "run_command" => Arc::new(run_command(tool_name, root, self.environment.clone())),
            "ask_user" => Arc::new(ask::ask_user(tool_name)),
            "sleep" => Arc::new(sleep::sleep(tool_name)),
            "wait_for" => Arc::new(wait::wait_for(tool_name)),
            _ => return None,
        })
    }

    /// Returns the tool that `declared` describes. Fails if the declaration is not valid.
    pub fn command(&self, declared: &CommandTool) -> Result<Arc<dyn Tool>, InvalidCommandTool> {
        command::tool(declared, self.root.clone(), self.environment.clone())
    }
}

#[cfg(test)]
mod tests {
    use holdover_core::tool::{Access, EffectClass, ResourceProfile, RunsOn};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn every_name_is_a_tool_of_that_name_with_a_closed_schema() {
        let fixture = Fixture::new(&[]);
        for name in BUILT_IN {
            let tool = fixture.tool(name);
            let spec = tool.spec();
            assert_eq!(spec.name.as_str(), name);
            assert!(!spec.description.is_empty());
            assert_eq!(spec.parameters["additionalProperties"], json!(false), "{name}");
            assert_eq!(spec.parameters["type"], json!("object"), "{name}");
            assert!(jsonschema::validator_for(&spec.parameters).is_ok(), "{name}");
        }
        assert!(built_in("delete_everything", &fixture.root).is_none());
        assert!(built_in("", &fixture.root).is_none());
    }

    #[test]
    fn b47_each_tool_has_its_class_and_of_all_only_commands_are_dangerous() {
        let fixture = Fixture::new(&[]);
        let classes: Vec<_> = BUILT_IN
            .iter()
            .map(|name| {
                let tool = fixture.tool(name);
                (*name, tool.spec().effect, tool.spec().dangerous, tool.spec().runs_on)
            })
            .collect();
        use EffectClass::{AtMostOnce, Idempotent, ReadOnly};
        assert_eq!(
            classes,
            [
                ("list_files", ReadOnly, false, RunsOn::Server),
                ("read_file", ReadOnly, false, RunsOn::Server),
                ("search_files", ReadOnly, false, RunsOn::Server),
                ("write_file", Idempotent, false, RunsOn::Server),
                ("edit_file", AtMostOnce, false, RunsOn::Server),
                ("run_command", AtMostOnce, true, RunsOn::Server),
                ("ask_user", ReadOnly, false, RunsOn::Client),
                ("sleep", Idempotent, false, RunsOn::Server),
                ("wait_for", ReadOnly, false, RunsOn::Server),
            ]
        );
    }

    #[test]
    fn writes_of_different_files_run_side_by_side_and_a_search_beside_no_write() {
        let fixture = Fixture::new(&[]);
        let profile = |name: &str, arguments: Value| fixture.tool(name).profile(&arguments);
        let write = |path: &str| profile("write_file", json!({ "path": path, "content": "" }));
        let search = |path: &str| profile("search_files", json!({ "text": "a", "path": path }));
        let read = |path: &str| profile("read_file", json!({ "path": path }));
        for (one, other, conflict) in [
            (write("a.txt"), write("b.txt"), false),
            (write("a.txt"), write("./a.txt"), true),
            (write("a.txt"), read("a.txt"), true),
            (write("a.txt"), read("b.txt"), false),
            (write("src/a.rs"), search(""), true),
            (write("src/a.rs"), search("src"), true),
            (write("src/a.rs"), search("tests"), false),
            (search("src"), search(""), false),
            (read("a.txt"), search(""), false),
            (profile("list_files", json!({})), write("a.txt"), true),
            (profile("run_command", json!({ "command": "ls" })), read("a.txt"), true),
            (profile("sleep", json!({ "seconds": 1 })), write("a.txt"), false),
            (profile("wait_for", json!({ "name": "a", "within_seconds": 1 })), write("a.txt"), false),
            (profile("ask_user", json!({ "question": "?" })), write("a.txt"), false),
        ] {
            assert_eq!(one.conflicts_with(&other), conflict, "{one:?} {other:?}");
        }
        assert_eq!(write("./src//a.rs"), ResourceProfile::key("file:/src/a.rs", Access::Write));
        assert_eq!(write("../a"), ResourceProfile::Serial);
    }
}
