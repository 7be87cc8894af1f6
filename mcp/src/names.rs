//! Tool names that contain the name of their server.

use holdover_core::ids;

/// The prefix of the names of all tools of MCP servers: `mcp__SERVER__TOOL`.
pub const PREFIX: &str = "mcp__";

/// Returns true if every provider accepts `name` as a part of a tool's name.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(ids::is_plain)
}

/// Returns true if `tool` is the name of a tool of `server`.
pub(crate) fn is_of(server: &str, tool: &str) -> bool {
    tool.strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_prefix(server))
        .is_some_and(|rest| rest.starts_with("__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_of_the_server_whose_whole_name_it_bears() {
        assert!(is_of("files", "mcp__files__read"));
        assert!(!is_of("file", "mcp__files__read"));
        assert!(!is_of("files", "read_file"));
    }
}
