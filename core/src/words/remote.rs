//! Agents that run in other programs.
//!
//! Such a program accepts a task and works on it. The program sends the outcome to an address, or the caller polls
//! for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ids::SessionId;
use crate::words::payload::is_default;
use crate::words::reply::Allowance;
use crate::words::usage::Usage;

/// The default interval at which a remote task is polled at first, in milliseconds.
pub const LOOK_EVERY_MS: u64 = 15_000;

/// The minimum value of [`Remote::look_every_ms`], in milliseconds.
pub const LOOK_EVERY_MIN_MS: u64 = 1_000;

/// The maximum length of the URL of a remote agent, in bytes.
pub const URL_BYTES_MAX: usize = 2_048;

/// The place of an agent in another program. It is stored with the call that waits for the agent, so it
/// contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    /// The URL at which the agent accepts tasks.
    pub url: String,
    /// The environment variable that holds the agent's token. `None` if the agent needs no token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// The interval at which an unfinished task is polled at first, in milliseconds.
    #[serde(default = "look_every", skip_serializing_if = "is_default_look")]
    pub look_every_ms: u64,
}

fn look_every() -> u64 {
    LOOK_EVERY_MS
}

fn is_default_look(every: &u64) -> bool {
    *every == LOOK_EVERY_MS
}

impl Remote {
    /// Returns the place of an agent that accepts tasks at `url` without a token.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), token_env: None, look_every_ms: LOOK_EVERY_MS }
    }

    /// Sets the environment variable that holds the agent's token.
    #[must_use]
    pub fn token_env(self, variable: impl Into<String>) -> Self {
        Self { token_env: Some(variable.into()), ..self }
    }

    /// Sets the interval at which an unfinished task is polled at first. The interval grows with the time that the
    /// call has waited: to at most an eighth of that time, and at most an hour. If the agent can send its outcome,
    /// the outcome may arrive before the next poll.
    #[must_use]
    pub fn look_every(self, every: Duration) -> Self {
        Self { look_every_ms: u64::try_from(every.as_millis()).unwrap_or(u64::MAX), ..self }
    }

    /// Returns the name of the first invalid field and the reason, if a field is invalid.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let rest = self.url.strip_prefix("https://").or_else(|| self.url.strip_prefix("http://"));
        let Some(rest) = rest else {
            return Some(("url", format!("is {:?}, expected http:// or https://", self.url)));
        };
        let host = rest.split('/').next().unwrap_or_default();
        if host.is_empty() || host.contains('@') {
            return Some(("url", format!("is {:?}, expected a host without a user", self.url)));
        }
        if self.url.len() > URL_BYTES_MAX {
            return Some((
                "url",
                format!("has {} bytes, at most {URL_BYTES_MAX} are allowed", self.url.len()),
            ));
        }
        if self.url.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#')) {
            return Some(("url", format!("is {:?}, expected no spaces, query or fragment", self.url)));
        }
        if self.token_env.as_ref().is_some_and(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return Some(("token_env", "is no name of an environment variable".to_owned()));
        }
        if self.token_env.is_some() && self.url.starts_with("http://") && !is_this_machine(host) {
            let why = format!("the token would be sent unencrypted to {host}; expected https://");
            return Some(("token_env", why));
        }
        if self.look_every_ms < LOOK_EVERY_MIN_MS {
            let why = format!("is {} ms, expected at least {LOOK_EVERY_MIN_MS}", self.look_every_ms);
            return Some(("look_every", why));
        }
        None
    }
}

/// Returns true if the host, with or without a port, means this machine regardless of name resolution. Only to such a
/// host may a token be sent without encryption.
pub fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A task for a remote agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteTask {
    /// The id of the task. The agent ignores a second task with the same id.
    pub id: SessionId,
    /// The text of the task.
    pub task: String,
    /// The share of the caller's limits that the task may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: TaskLimits,
    /// The address to which the outcome is sent. `None` if the caller polls for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// The share of the caller's limits that a task may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLimits {
    /// The maximum number of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The maximum number of input and output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The maximum cost, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    /// The remaining time, in milliseconds. This is not an instant, because two programs share no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl TaskLimits {
    /// Converts a share of limits into limits relative to `now`.
    pub fn of(share: &Allowance, now: Timestamp) -> Self {
        let left = |until: Timestamp| u64::try_from(now.until(until).as_millis()).unwrap_or(u64::MAX);
        Self {
            steps: share.steps,
            tokens: share.tokens,
            cost_microusd: share.cost_microusd,
            time_ms: share.until.map(left),
        }
    }

    /// Returns these limits as a share, without the time limit.
    pub fn share(&self) -> Allowance {
        let Self { steps, tokens, cost_microusd, time_ms: _ } = *self;
        Allowance { steps, tokens, cost_microusd, until: None }
    }
}

/// The state of a remote task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum TaskStanding {
    /// The task has not ended: the agent works on it, is about to, or waits.
    Open,
    /// The task has ended with this outcome.
    Ended(TaskOutcome),
}

/// The outcome of a remote task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutcome {
    /// True if the agent did its task.
    pub ok: bool,
    /// The last text of the agent, or the reason for its failure.
    pub text: String,
    /// The usage of the task, which counts against the caller's limits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_for_encrypted_addresses_and_for_this_machine() {
        let fault = |url: &str| Remote::new(url).token_env("TOKEN").fault();
        for url in [
            "https://there.example/tasks",
            "http://localhost:8420/tasks",
            "http://127.0.0.1/tasks",
            "http://[::1]:8420/tasks",
        ] {
            assert_eq!(fault(url), None, "{url}");
        }
        for url in
            ["http://there.example/tasks", "http://10.0.0.1:8420", "http://localhost.example", "http://[::2]"]
        {
            assert!(matches!(fault(url), Some(("token_env", _))), "{url}");
            assert_eq!(Remote::new(url).fault(), None, "without a token, {url}");
        }
    }
}
