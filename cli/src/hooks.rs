//! The hooks and the summariser of an agent file: programs, servers and models.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::compaction::OutsideSummariser;
use holdover_core::hook::{Hook, HookPoint, HookSettings, OnFailure, OutsideHook};
use holdover_models::ModelRef;
use holdover_runtime_local::AgentBuilder;
use holdover_tools::{CommandCarrier, Root};
use serde::{Deserialize, Serialize};

use crate::http::{HttpCarrier, connect};
use crate::recipe::Recipe;

/// A `[[hook]]` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookRef {
    pub(crate) name: String,
    pub(crate) points: Vec<HookPoint>,
    /// The program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) command: Vec<String>,
    /// The names of environment variables that only this program gets, besides those that all programs get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pass_environment: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The environment variable that holds the bearer token for the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bearer_env: Option<String>,
    /// The patterns for the tools about whose calls the hook is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) priority: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) on_failure: Option<Failures>,
}

/// The consequence of failures: one for all points, or one for each named point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Failures {
    All(OnFailure),
    At(BTreeMap<HookPoint, OnFailure>),
}

/// The value of `compaction.summariser`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SummariserRef {
    /// The program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) command: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pass_environment: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bearer_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<ModelRef>,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// The place that is asked. The fields are those of the tables.
struct Place<'a> {
    command: &'a [String],
    pass_environment: &'a [String],
    url: Option<&'a str>,
    bearer_env: Option<&'a str>,
}

impl Place<'_> {
    /// Checks the place without reading the environment. The place is stored with sessions, so it must not contain a
    /// secret.
    fn check(&self) -> Result<(), String> {
        match (self.command.first(), self.url) {
            (Some(program), None) => {
                if program.is_empty() {
                    return Err("command: is empty".to_owned());
                }
                if self.bearer_env.is_some() {
                    return Err("bearer_env: is for a url, not for a command".to_owned());
                }
            }
            (None, Some(url)) => {
                let server = HttpCarrier::new(url).map_err(|error| error.to_string())?;
                if !self.pass_environment.is_empty() {
                    return Err("pass_environment: is for a command, not for a url".to_owned());
                }
                if self.bearer_env.is_some() {
                    server.takes_token().map_err(|error| error.to_string())?;
                }
            }
            (None, None) | (Some(_), Some(_)) => return Err("give either command or url".to_owned()),
        }
        Ok(())
    }

    /// Returns the carrier to the program in `root`, which also gets the variables that all programs get.
    fn program(&self, root: &Root, all: &[String]) -> Result<CommandCarrier, String> {
        let program = CommandCarrier::new(self.command, root.clone()).map_err(|error| error.to_string())?;
        Ok(program.pass_environment(all).pass_environment(self.pass_environment))
    }

    fn server(&self, url: &str) -> Result<HttpCarrier, String> {
        let server = HttpCarrier::new(url).map_err(|error| error.to_string())?;
        let Some(variable) = self.bearer_env else { return Ok(server) };
        let token = std::env::var(variable)
            .map_err(|_| format!("bearer_env: the environment variable {variable} is not set"))?;
        server.bearer(&token).map_err(|error| error.to_string())
    }
}

/// Adds the hooks and the summariser of the recipe to its agent. Their programs start in `root`.
pub(crate) fn add(mut agent: AgentBuilder, recipe: &Recipe, root: &Root) -> Result<AgentBuilder, String> {
    for hook in &recipe.hooks {
        agent = agent.shared_hook(hook.build(root, &recipe.pass_environment)?);
    }
    match &recipe.summariser {
        Some(summariser) => summariser.add_to(agent, root, &recipe.pass_environment),
        None => Ok(agent),
    }
}

impl HookRef {
    /// Checks the table without reading the environment. The error names the hook and the key.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.settings().check().map_err(|error| error.to_string())?;
        self.place().check().map_err(|why| self.wrong(&why))
    }

    /// Returns an error about this hook.
    pub(crate) fn wrong(&self, why: &str) -> String {
        format!("hook {:?}: {why}", self.name)
    }

    fn settings(&self) -> HookSettings {
        let mut settings = HookSettings::new(self.name.as_str(), self.points.iter().copied())
            .tools(self.tools.iter().cloned())
            .priority(self.priority);
        if let Some(ms) = self.timeout_ms {
            settings = settings.timeout(Duration::from_millis(ms));
        }
        match &self.on_failure {
            Some(Failures::All(consequence)) => settings.on_failure(*consequence),
            Some(Failures::At(points)) => points.iter().fold(settings, |settings, (point, consequence)| {
                settings.on_failure_at(*point, *consequence)
            }),
            None => settings,
        }
    }

    fn place(&self) -> Place<'_> {
        Place {
            command: &self.command,
            pass_environment: &self.pass_environment,
            url: self.url.as_deref(),
            bearer_env: self.bearer_env.as_deref(),
        }
    }

    /// Builds the hook. Its program starts in `root`, with the variables `all` besides its own.
    fn build(&self, root: &Root, all: &[String]) -> Result<Arc<dyn Hook>, String> {
        self.check()?;
        let (place, settings) = (self.place(), self.settings());
        let hook: Result<Arc<dyn Hook>, String> = match place.url {
            Some(url) => place.server(url).and_then(|server| {
                OutsideHook::new(settings, server)
                    .map(|hook| Arc::new(hook) as Arc<dyn Hook>)
                    .map_err(|error| error.to_string())
            }),
            None => place.program(root, all).and_then(|program| {
                OutsideHook::new(settings, program)
                    .map(|hook| Arc::new(hook) as Arc<dyn Hook>)
                    .map_err(|error| error.to_string())
            }),
        };
        hook.map_err(|why| self.wrong(&why))
    }
}

impl SummariserRef {
    fn place(&self) -> Place<'_> {
        Place {
            command: &self.command,
            pass_environment: &self.pass_environment,
            url: self.url.as_deref(),
            bearer_env: self.bearer_env.as_deref(),
        }
    }

    /// Checks the table without reading the environment. The error names the key within the table.
    pub(crate) fn check(&self) -> Result<(), String> {
        let given = [!self.command.is_empty(), self.url.is_some(), self.model.is_some()];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err("give one of command, url and model".to_owned());
        }
        if self.model.is_none() {
            return self.place().check();
        }
        match (self.bearer_env.is_some(), self.pass_environment.is_empty()) {
            (true, _) => Err("bearer_env: is for a url, not for a model".to_owned()),
            (false, false) => Err("pass_environment: is for a command, not for a model".to_owned()),
            (false, true) => Ok(()),
        }
    }

    /// Adds the summariser to the agent.
    fn add_to(&self, agent: AgentBuilder, root: &Root, all: &[String]) -> Result<AgentBuilder, String> {
        let wrong = |why: String| format!("compaction.summariser: {why}");
        let place = self.place();
        Ok(match (&self.model, place.url) {
            (Some(model), _) => agent.summariser_model(connect(model).map_err(|error| wrong(error.detail))?),
            (None, Some(url)) => {
                agent.result_summariser(OutsideSummariser::new(place.server(url).map_err(wrong)?))
            }
            (None, None) => {
                agent.result_summariser(OutsideSummariser::new(place.program(root, all).map_err(wrong)?))
            }
        })
    }
}

impl<'de> Deserialize<'de> for Failures {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::value::{MapAccessDeserializer, StrDeserializer};
        use serde::de::{Error, MapAccess, Visitor};

        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Failures;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"open\", \"closed\" or a table with one of them for each point")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Failures, E> {
                OnFailure::deserialize(StrDeserializer::new(text)).map(Failures::All)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Failures, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Failures::At)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(more: &str) -> Result<HookRef, String> {
        let text = format!("name = 'h'\npoints = ['after_tool']\n{more}");
        let hook: HookRef = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
        hook.check().map(|()| hook)
    }

    #[test]
    fn a_hook_is_a_program_or_a_server_and_its_form_is_stored() {
        for (more, why) in [
            ("", "hook \"h\": give either command or url"),
            ("command = ['a']\nurl = 'https://a.example'", "hook \"h\": give either command or url"),
            ("command = ['']", "hook \"h\": command: is empty"),
            ("command = ['a']\nbearer_env = 'A'", "hook \"h\": bearer_env: is for a url"),
            ("url = 'https://a.example'\npass_environment = ['A']", "hook \"h\": pass_environment: is for a"),
            ("url = 'a.example'", "hook \"h\": url: "),
            ("url = 'https://user:word@a.example'", "hook \"h\": url: it has a user or a password"),
            (
                "url = 'http://a.example'\nbearer_env = 'A'",
                "hook \"h\": bearer: the token would be sent unenc",
            ),
            ("command = ['a']\ntimeout_ms = 0", "hook \"h\": timeout_ms: is zero"),
            ("command = ['a']\non_failure = 'maybe'", "unknown variant `maybe`"),
            (
                "command = ['a']\non_failure = { agent_end = 'open' }",
                "hook \"h\": on_failure: agent_end is none",
            ),
            ("command = ['a']\nwhat = 1", "unknown field `what`"),
        ] {
            let error = hook(more).unwrap_err();
            assert!(error.starts_with(why), "{more}: {error}");
        }
        for (more, closed) in [
            ("command = ['a']", false),
            ("command = ['a']\non_failure = 'closed'", true),
            ("url = 'http://localhost:1/x'\nbearer_env = 'A'\non_failure = { after_tool = 'closed' }", true),
        ] {
            let read = hook(more).unwrap();
            let consequence = read.settings().on_failure.get(&HookPoint::AfterTool).copied();
            assert_eq!(consequence == Some(OnFailure::Closed), closed);
            let stored = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<HookRef>(&stored).unwrap(), read, "{stored}");
        }
    }

    #[test]
    fn a_summariser_is_one_of_three() {
        let read = |text: &str| toml::from_str::<SummariserRef>(text).unwrap().check();
        assert_eq!(read("command = ['a']\npass_environment = ['B']"), Ok(()));
        assert_eq!(read("url = 'https://a.example'\nbearer_env = 'A'"), Ok(()));
        assert_eq!(read("").unwrap_err(), "give one of command, url and model");
        assert_eq!(
            read("command = ['a']\nurl = 'https://a.example'").unwrap_err(),
            "give one of command, url and model"
        );
        assert!(read("url = 'http://a.example'\nbearer_env = 'A'").unwrap_err().contains("unencrypted"));
    }
}
