//! The location of a server, as data.

use holdover_core::tool::Bound;
use serde::{Deserialize, Serialize};

use crate::names::{PREFIX, is_of, is_plain};

/// The longest name of a server, in bytes: it is a part of the names of its tools.
const NAME_BYTES_MAX: usize = 24;

/// An MCP server: a program, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// Its name, a part of the names of its tools: letters, digits, `-` and single `_`, at most 24.
    pub name: String,
    /// The program that is the server, and its arguments, spoken to over its standard input and output. A name
    /// without `/` is looked for in `PATH`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Its address, if it speaks streamable HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The environment variable that holds its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_env: Option<String>,
    /// Environment variables that the program sees, besides `PATH`, `HOME`, `LANG`, `USER` and `TMPDIR`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_environment: Vec<String>,
    /// Whether what it says of its tools is believed. If not, each is dangerous and at most once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// Which of its tools, by its own names. Left out: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// How long one call may take; `"none"`: for ever. Left out: the agent's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<Bound>,
}

/// Why a server cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mcp server {server:?}: {field}: {detail}")]
#[non_exhaustive]
pub struct InvalidServer {
    /// Which server.
    pub server: String,
    /// Which field.
    pub field: &'static str,
    /// What is wrong with it.
    pub detail: String,
}

impl McpServer {
    /// What is wrong with it, whatever the environment.
    ///
    /// # Errors
    /// A name that cannot be a part of a tool's name; neither a program nor an address, or both; an address that is
    /// not `http` or `https`, or that holds a password; a time of 0.
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

    /// Whether a tool of this name is one of this server's.
    pub fn has(&self, tool: &str) -> bool {
        is_of(&self.name, tool)
    }

    /// What the names of its tools begin with.
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
