//! The adapter for servers that speak Anthropic's messages API.

mod answer;
mod event;
mod request;
mod spoken;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::model::{Model, ModelError, ModelRequest, ModelStream};
use reqwest::header::{HeaderName, HeaderValue};

use self::answer::Blocks;
use crate::reference::shown;
use crate::wire::{self, Http, Redaction, ServerSettings, circuit, secret, with_version};

/// The version of the API, sent in a header.
const VERSION: &str = "2023-06-01";
/// The version in the path of the server's URLs.
const PATH_VERSION: &str = "v1";

/// A model behind a server that speaks Anthropic's messages API, with streaming.
///
/// A stream that ends without `message_stop` or without a stop reason was cut: it gives an error, never an answer.
/// Signed and redacted reasoning is sent back within its turn, as the service requires. The service is asked to cache
/// the part of the request that the next step repeats.
///
/// Arguments of a call that are not a JSON object are sent back inside one, in its field `unreadable_arguments`,
/// because the API accepts only objects.
///
/// A `ping` does not reset the stall time-out, because servers send it even if the model is stuck. The exception is a
/// `ping` while the model writes the arguments of a call: the service may hold the arguments back until they are
/// complete, and sends nothing else meanwhile.
pub struct Anthropic {
    name: String,
    circuit: String,
    model: String,
    base_url: String,
    http: Http,
    redaction: Redaction,
}

impl Anthropic {
    /// Creates an adapter with these settings. Sends nothing to the server. All errors are of kind `Configuration`.
    pub fn new(settings: ServerSettings) -> Result<Self, ModelError> {
        let mut settings = settings.checked()?;
        settings.base_url = with_version(&settings.base_url, PATH_VERSION);
        let mut headers =
            vec![(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION))];
        if let Some(key) = &settings.api_key {
            headers.push((HeaderName::from_static("x-api-key"), secret(key.reveal())?));
        }
        let name = format!("anthropic:{}", settings.model);
        Ok(Self {
            circuit: circuit(&name, &settings),
            name,
            http: Http::new(&settings, "messages", headers)?,
            redaction: Redaction::new(settings.api_key.as_ref()),
            model: settings.model,
            base_url: settings.base_url,
        })
    }
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anthropic")
            .field("name", &self.name)
            .field("base_url", &shown(&self.base_url))
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn circuit(&self) -> &str {
        &self.circuit
    }

    fn stall_timeout(&self) -> Option<Duration> {
        Some(self.http.stall_timeout())
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let body = request::to_body(&self.model, &request)?;
        let frames = self.http.post(body).await.map_err(|error| self.redaction.apply(error))?;
        Ok(wire::read(frames, Blocks::default(), self.redaction.clone()))
    }
}
