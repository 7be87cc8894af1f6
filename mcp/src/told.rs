//! The name that models use for a tool of a server.

use holdover_core::ids::{self, TOOL_NAME_BYTES_MAX, ToolName};

use crate::names::PREFIX;

/// Returns the name that models use for the tool that `server` calls `tool`. Characters that some provider refuses
/// become `_`. Fails if the name is too long or not valid.
pub(crate) fn told(server: &str, tool: &str) -> Result<ToolName, String> {
    let plain = |letter: char| if ids::is_plain(letter) { letter } else { '_' };
    let name = format!("{PREFIX}{server}__{}", tool.chars().map(plain).collect::<String>());
    if name.len() > TOOL_NAME_BYTES_MAX {
        return Err(format!("{name:?} is longer than {TOOL_NAME_BYTES_MAX} bytes"));
    }
    ToolName::new(name).map_err(|error| error.to_string())
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
}
