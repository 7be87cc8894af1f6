//! Names of tools: the server's name, and the name that the model uses.

use holdover_core::ids::{self, TOOL_NAME_BYTES_MAX, ToolName};

/// What the names of all tools of MCP servers begin with: `mcp__SERVER__TOOL`.
pub const PREFIX: &str = "mcp__";

/// Whether `name` may be a part of a tool's name at every provider.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(ids::is_plain)
}

/// The name by which a model asks for the tool that `server` calls `tool`: what no provider takes in a name
/// becomes `_`. Why there is none, else.
pub(crate) fn told(server: &str, tool: &str) -> Result<ToolName, String> {
    let plain = |letter: char| if ids::is_plain(letter) { letter } else { '_' };
    let name = format!("{PREFIX}{server}__{}", tool.chars().map(plain).collect::<String>());
    if name.len() > TOOL_NAME_BYTES_MAX {
        return Err(format!("{name:?} is longer than {TOOL_NAME_BYTES_MAX} bytes"));
    }
    ToolName::new(name).map_err(|error| error.to_string())
}

/// Whether `tool` is one of `server`.
pub(crate) fn is_of(server: &str, tool: &str) -> bool {
    tool.strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_prefix(server))
        .is_some_and(|rest| rest.starts_with("__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_provider_takes_is_replaced_and_too_long_is_refused() {
        assert_eq!(told("files", "read_file").unwrap().as_str(), "mcp__files__read_file");
        assert_eq!(told("files", "read/file.v2 ü").unwrap().as_str(), "mcp__files__read_file_v2__");
        assert!(told("files", &"a".repeat(60)).unwrap_err().contains("longer than 64 bytes"));
    }

    #[test]
    fn a_tool_is_of_the_server_whose_whole_name_it_bears() {
        assert!(is_of("files", "mcp__files__read"));
        assert!(!is_of("file", "mcp__files__read"));
        assert!(!is_of("files", "read_file"));
    }
}
