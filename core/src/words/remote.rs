//! Agents of other programs. Such a program takes a task, and works on it. Its outcome is sent to an address, or is asked for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ids::SessionId;
use crate::words::payload::is_default;
use crate::words::reply::Allowance;
use crate::words::usage::Usage;

/// The default time between two looks at the tasks of an agent elsewhere, in milliseconds.
pub const LOOK_EVERY_MS: u64 = 15_000;

/// The least time between two looks, in milliseconds.
pub const LOOK_EVERY_MIN_MS: u64 = 1_000;

/// The most bytes of the address of an agent elsewhere.
pub const URL_BYTES_MAX: usize = 2_048;

/// The place of an agent elsewhere. It is stored with the call that waits for it, so it holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    /// The address at which it takes tasks.
    pub url: String,
    /// The environment variable with the token that it asks for. None: it asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// The time between two looks at a task that has not ended, in milliseconds.
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
    /// An agent that takes tasks at `url`, without a token.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), token_env: None, look_every_ms: LOOK_EVERY_MS }
    }

    /// Sends the token that is in this environment variable.
    #[must_use]
    pub fn token_env(self, variable: impl Into<String>) -> Self {
        Self { token_env: Some(variable.into()), ..self }
    }

    /// Looks so often at a task that has not ended. The outcome need not wait for that where it can be sent.
    #[must_use]
    pub fn look_every(self, every: Duration) -> Self {
        Self { look_every_ms: u64::try_from(every.as_millis()).unwrap_or(u64::MAX), ..self }
    }

    /// The first field that cannot be used, and the reason.
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
        if self.look_every_ms < LOOK_EVERY_MIN_MS {
            let why = format!("is {} ms, expected at least {LOOK_EVERY_MIN_MS}", self.look_every_ms);
            return Some(("look_every", why));
        }
        None
    }
}

/// A task for an agent elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteTask {
    /// The id of the task. A second task with this id is ignored.
    pub id: SessionId,
    /// The task.
    pub task: String,
    /// The share of the caller's limits that it may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: TaskLimits,
    /// The address to which the outcome is to be sent. None: the caller asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// The share of the caller's limits that a task may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLimits {
    /// The most steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The most tokens, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The most money, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    /// The time that is left, in milliseconds. Two programs share no clock, so it is no instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl TaskLimits {
    /// The limits of a share, as they are at `now`.
    pub fn of(share: &Allowance, now: Timestamp) -> Self {
        let left = |until: Timestamp| u64::try_from(now.until(until).as_millis()).unwrap_or(u64::MAX);
        Self {
            steps: share.steps,
            tokens: share.tokens,
            cost_microusd: share.cost_microusd,
            time_ms: share.until.map(left),
        }
    }

    /// The share that these limits are, but for the time.
    pub fn share(&self) -> Allowance {
        let Self { steps, tokens, cost_microusd, time_ms: _ } = *self;
        Allowance { steps, tokens, cost_microusd, until: None }
    }
}

/// How a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum TaskStanding {
    /// It is being worked on, or waits for somebody.
    Open,
    /// It has ended.
    Ended(TaskOutcome),
}

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutcome {
    /// Whether the agent did what it was asked for.
    pub ok: bool,
    /// The last words of the agent, or the reason why it failed.
    pub text: String,
    /// The usage of the task. It counts against the caller's limits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}
