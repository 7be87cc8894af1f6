//! Servers that speak Anthropic's messages.

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
use crate::wire::{self, Http, Redaction, ServerSettings, circuit, secret, shown, with_version};

/// The version of the wire that this adapter speaks.
const VERSION: &str = "2023-06-01";
/// The version in the path of the server's addresses.
const PATH_VERSION: &str = "v1";

/// A model behind a server that speaks Anthropic's messages, streamed.
///
/// A stream that ends without `message_stop` or without a reason to stop was cut: it is an error, never an
/// answer. Signed and redacted reasoning is sent back within the turn it belongs to, as the service demands.
/// The service is asked to cache what a step shares with the step before it.
///
/// Arguments of a call that are not a JSON object are sent back in one, as its field `unreadable_arguments`,
/// because the wire takes nothing else.
///
/// A `ping` is no sign of life: it comes from the connection, even while the model is stuck. It is one only
/// while the model writes the arguments of a call: the service holds the arguments back until they are valid,
/// and sends nothing else meanwhile.
pub struct Anthropic {
    name: String,
    circuit: String,
    model: String,
    base_url: String,
    http: Http,
    redaction: Redaction,
}

impl Anthropic {
    /// An adapter with these settings. Asks no server.
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
        Ok(wire::read::<Blocks>(frames, self.redaction.clone()))
    }
}
