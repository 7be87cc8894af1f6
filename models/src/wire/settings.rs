//! The settings of an adapter for one server.

use std::fmt;
use std::time::Duration;

use holdover_core::model::{ModelError, ModelErrorKind};

use super::ApiKey;
use super::base_url;
use crate::reference::{TIMEOUT_MS_MAX, shown};

const OPENAI_BASE_URL: &str = "https://api.openai.com/v1/";
const ANTHROPIC_BASE_URL: &str = "https://api.anthropic.com/v1/";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// The settings of an adapter for a model on a server. The `Debug` output contains neither the key nor the query of the
/// base URL.
#[derive(Clone)]
pub struct ServerSettings {
    /// The name of the model on the server.
    pub model: String,
    /// The address of the server, without `/chat/completions` or `/messages`. For Anthropic's API, a `/v1` at the end
    /// may be left out.
    pub base_url: String,
    /// The API key. If `None`, no key is sent.
    pub api_key: Option<ApiKey>,
    /// The time limit to connect: more than zero, at most an hour.
    pub connect_timeout: Duration,
    /// The longest allowed silence of the server, before the answer and in the middle of it: more than zero, at most an
    /// hour. Signs that only keep the connection open do not end a silence: comments, and `ping` events. A `ping` does
    /// end it while the model writes the arguments of a call, which the service may hold back until they are complete.
    pub stall_timeout: Duration,
}

impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings")
            .field("model", &self.model)
            .field("base_url", &shown(&self.base_url))
            .field("api_key", &self.api_key)
            .field("connect_timeout", &self.connect_timeout)
            .field("stall_timeout", &self.stall_timeout)
            .finish()
    }
}

impl ServerSettings {
    /// Returns settings for `model` at OpenAI's own service: no key, 20 s to connect and 120 s of silence.
    pub fn openai(model: impl Into<String>) -> Self {
        Self::at(OPENAI_BASE_URL, model.into())
    }

    /// Returns settings for `model` at Anthropic's own service: no key, 20 s to connect and 120 s of silence.
    pub fn anthropic(model: impl Into<String>) -> Self {
        Self::at(ANTHROPIC_BASE_URL, model.into())
    }

    fn at(base_url: &str, model: String) -> Self {
        Self {
            model,
            base_url: base_url.to_owned(),
            api_key: None,
            connect_timeout: CONNECT_TIMEOUT,
            stall_timeout: STALL_TIMEOUT,
        }
    }

    /// Checks the settings. Returns them with a base URL whose path ends in a slash. Fails with an error of kind
    /// `Configuration` that names the field.
    pub(crate) fn checked(mut self) -> Result<Self, ModelError> {
        let refuse = |why: String| ModelError::new(ModelErrorKind::Configuration, why);
        if self.model.is_empty() {
            return Err(refuse("model has no name".to_owned()));
        }
        self.base_url = base_url::checked(&self.base_url).map_err(refuse)?;
        let longest = Duration::from_millis(TIMEOUT_MS_MAX);
        for (field, value) in
            [("connect_timeout", self.connect_timeout), ("stall_timeout", self.stall_timeout)]
        {
            if value.is_zero() || value > longest {
                return Err(refuse(format!("{field} {value:?} is not within 1 ms to {longest:?}")));
            }
        }
        Ok(self)
    }
}
