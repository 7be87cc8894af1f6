//! The adapter for servers that speak OpenAI's chat completions API.

mod answer;
mod calls;
mod chunk;
mod request;
mod signature;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::model::{Model, ModelError, ModelRequest, ModelStream};
use reqwest::header::AUTHORIZATION;

use self::answer::Chunks;
use crate::reference::shown;
use crate::wire::{self, Http, Redaction, ServerSettings, circuit, secret};

/// A model behind a server that speaks OpenAI's chat completions API, with streaming.
///
/// A stream that ends without `[DONE]` or without a stop reason was cut: it gives an error, never an answer. Reasoning
/// is sent back within its turn, as servers that show reasoning require, with the data by which they recognise it. The
/// arguments of calls are sent back as the model wrote them, even if they are not valid JSON; only empty ones are sent
/// as `{}`.
pub struct OpenAi {
    name: String,
    circuit: String,
    model: String,
    base_url: String,
    http: Http,
    redaction: Redaction,
}

impl OpenAi {
    /// Creates an adapter with these settings. Sends nothing to the server. All errors are of kind `Configuration`.
    pub fn new(settings: ServerSettings) -> Result<Self, ModelError> {
        let settings = settings.checked()?;
        let key = settings.api_key.as_ref().map(|key| secret(&format!("Bearer {}", key.reveal())));
        let headers = key.transpose()?.map(|key| (AUTHORIZATION, key));
        let name = format!("openai:{}", settings.model);
        Ok(Self {
            circuit: circuit(&name, &settings),
            name,
            http: Http::new(&settings, "chat/completions", headers)?,
            redaction: Redaction::new(settings.api_key.as_ref()),
            model: settings.model,
            base_url: settings.base_url,
        })
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("name", &self.name)
            .field("base_url", &shown(&self.base_url))
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for OpenAi {
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
        let frames = self.http.post(body.to_string()).await.map_err(|error| self.redaction.apply(error))?;
        Ok(wire::read(frames, Chunks::of(&self.model), self.redaction.clone()))
    }
}
