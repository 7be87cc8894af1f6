//! Servers that speak Anthropic's messages.
//!
//! Not by way of the library that [`OpenAi`](crate::OpenAi) uses. In version 0.7.2 its adapter for this wire
//! moves all thinking before the text and calls it came between, which the service refuses; makes a tool called
//! `web_search` the service's own; answers tool calls without saying that they failed; parses arguments and loses
//! their text; reads an effort out of the model's name that no option switches off; loses an event when a `\r\n`
//! is split between two reads; and follows redirects with the key. What would be left of it is a POST and a
//! reader of server-sent events: these are `reqwest`, on which it stands, and `sse-stream`.

mod answer;
mod event;
mod http;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use std::fmt;

use async_trait::async_trait;
use holdover_core::model::{Model, ModelError, ModelRequest, ModelStream};

use self::http::Http;
use crate::wire::{Redaction, ServerSettings};

/// A model behind a server that speaks Anthropic's messages, streamed.
///
/// A stream that ends without `message_stop` or without a reason to stop was cut and is an error, never an
/// answer. Signed and redacted reasoning is sent back within the turn it belongs to, as the service demands.
/// A `ping` is no sign of life: it comes from the connection, also while the model is stuck.
pub struct Anthropic {
    name: String,
    model: String,
    base_url: String,
    http: Http,
    redaction: Redaction,
}

impl Anthropic {
    /// An adapter with these settings. Asks no server.
    pub fn new(settings: ServerSettings) -> Result<Self, ModelError> {
        let settings = settings.checked()?;
        Ok(Self {
            name: format!("anthropic:{}", settings.model),
            http: Http::new(&settings)?,
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
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let body = request::to_body(&self.model, &request)?;
        let events = self.http.post(&body).await.map_err(|error| self.redaction.apply(error))?;
        Ok(stream::answer(events, self.redaction.clone()))
    }
}
