//! The description of a server, as data.

use holdover_core::tool::Bound;
use serde::{Deserialize, Serialize};

use crate::names::{PREFIX, is_of, is_plain};

/// The maximum length of a server's name, in bytes. The name is a part of the names of its tools.
const NAME_BYTES_MAX: usize = 24;

/// An MCP server: a program, or a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// The name of the server, which is a part of the names of its tools. It has at most 24 letters, digits, `-` and
    /// single `_`.
    pub name: String,
    /// The program of the server, and its arguments. Requests go over its standard input and output. A name without `/`
    /// is looked up in `PATH`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The URL of the server, if it speaks streamable HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The environment variable that holds the bearer token for the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_env: Option<String>,
    /// The names of environment variables that the program gets, besides `PATH`, `HOME`, `LANG`, `USER` and `TMPDIR`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_environment: Vec<String>,
    /// True if the server's hints about its tools count. Otherwise, each tool is dangerous and at most once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// The tools to use, by the server's own names. By default, all tools are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The time limit of one call, in seconds, or `"none"` for no limit. The default is the agent's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<Bound>,
}

/// The error for a description of a server that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mcp server {server:?}: {field}: {detail}")]
#[non_exhaustive]
pub struct InvalidServer {
    /// The name of the server.
    pub server: String,
    /// The name of the field that is not valid.
    pub field: &'static str,
    /// The reason why the field is not valid.
    pub detail: String,
}

impl McpServer {
    /// Checks the fields. Reads no environment variable.
    ///
    /// # Errors
    /// The name cannot be a part of a tool's name; there is neither a program nor a URL, or both; the program has no
    /// name; the URL is not `http` or `https`, or holds a user name or password; `bearer_env` is set for a program; or
    /// the time limit is 0.
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

    /// Returns true if `tool` is the name of a tool of this server.
    pub fn has(&self, tool: &str) -> bool {
        is_of(&self.name, tool)
    }

    /// Returns the prefix of the names of the server's tools.
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
