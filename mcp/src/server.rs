//! The location of a server, as data.

use holdover_core::tool::Bound;
use serde::{Deserialize, Serialize};

use crate::names::{PREFIX, is_of, is_plain};

/// The longest name of a server, in bytes. The name is a part of the names of its tools.
const NAME_BYTES_MAX: usize = 24;

/// An MCP server: a program, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// The name of the server, which is a part of the names of its tools: letters, digits, `-` and single
    /// `_`, at most 24.
    pub name: String,
    /// The program that is the server, and its arguments. Requests go over its standard input and output. A
    /// name without `/` is looked up in `PATH`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The address of the server, if it speaks streamable HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The environment variable that holds the token for the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_env: Option<String>,
    /// Environment variables that the program sees, besides `PATH`, `HOME`, `LANG`, `USER` and `TMPDIR`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_environment: Vec<String>,
    /// Whether to believe what the server says of its tools. If not, each tool is dangerous and at most once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// The tools to use, by the server's own names. Left out: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The time limit of one call, in seconds; `"none"`: for ever. Left out: the agent's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<Bound>,
}

/// The reason why a server is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mcp server {server:?}: {field}: {detail}")]
#[non_exhaustive]
pub struct InvalidServer {
    /// The server.
    pub server: String,
    /// The field.
    pub field: &'static str,
    /// The reason.
    pub detail: String,
}

impl McpServer {
    /// Checks the fields. Reads no environment variable.
    ///
    /// # Errors
    /// A name that cannot be a part of a tool's name; neither a program nor an address, or both; a program
    /// without a name; an address that is not `http` or `https`, or that holds a user name or password;
    /// `bearer_env` with a program; a time limit of 0.
    pub fn check(&self) -> Result<(), InvalidServer> {
        let refuse = |field, detail: &str| {
            Err(InvalidServer { server: self.name.clone(), field, detail: detail.to_owned() })
        };
        if !is_plain(&self.name) || self.name.len() > NAME_BYTES_MAX || self.name.contains("__") {
            return refuse("name", "write at most 24 letters, digits, - and single _");
        }
        match (self.command.first(), &self.url) {
            (Some(program), None) if program.is_empty() => {
                return refuse("command", "the program has no name");
            }
            (Some(_), None) => {}
            (None, Some(url)) => {
                let parsed = url::Url::parse(url).map_err(|error| InvalidServer {
                    server: self.name.clone(),
                    field: "url",
                    detail: error.to_string(),
                })?;
                if !matches!(parsed.scheme(), "http" | "https") {
                    return refuse("url", "write http:// or https://");
                }
                if parsed.password().is_some() || !parsed.username().is_empty() {
                    return refuse("url", "it holds a password; name its variable in bearer_env");
                }
            }
            (None, None) => return refuse("command", "give either command or url"),
            (Some(_), Some(_)) => return refuse("url", "give either command or url"),
        }
        if self.url.is_none() && self.bearer_env.is_some() {
            return refuse("bearer_env", "is for a url; a program sees what pass_environment names");
        }
        if self.timeout_seconds == Some(Bound::At(0)) {
            return refuse("timeout_seconds", "is zero");
        }
        Ok(())
    }

    /// Whether a tool of this name belongs to this server.
    pub fn has(&self, tool: &str) -> bool {
        is_of(&self.name, tool)
    }

    /// Returns the prefix of the names of its tools.
    pub fn prefix(&self) -> String {
        format!("{PREFIX}{}__", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_server_is_refused_with_its_field() {
        for (json, field) in [
            (r#"{ "name": "a b", "command": ["x"] }"#, "name"),
            (r#"{ "name": "a__b", "command": ["x"] }"#, "name"),
            (r#"{ "name": "a" }"#, "command"),
            (r#"{ "name": "a", "command": [""] }"#, "command"),
            (r#"{ "name": "a", "command": ["x"], "url": "http://h" }"#, "url"),
            (r#"{ "name": "a", "url": "ftp://h" }"#, "url"),
            (r#"{ "name": "a", "url": "nowhere" }"#, "url"),
            (r#"{ "name": "a", "url": "http://me:secret@h" }"#, "url"),
            (r#"{ "name": "a", "command": ["x"], "bearer_env": "T" }"#, "bearer_env"),
            (r#"{ "name": "a", "command": ["x"], "timeout_seconds": 0 }"#, "timeout_seconds"),
        ] {
            let server: McpServer = serde_json::from_str(json).unwrap();
            let wrong = server.check().expect_err(json);
            assert_eq!(wrong.field, field, "{json}: {wrong}");
            assert!(!wrong.to_string().contains("secret"), "{wrong}");
        }
        let good: McpServer = serde_json::from_str(r#"{ "name": "a", "url": "https://h/mcp" }"#).unwrap();
        assert_eq!(good.check(), Ok(()));
    }
}
