//! Servers that speak OpenAI's chat completions.

mod answer;
mod calls;
mod failure;
mod request;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ReasoningEffort};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ModelSpec, ServiceTarget, WebConfig};
use holdover_core::model::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};
use serde_json::json;

use self::calls::CallFrames;
use crate::wire::{Redaction, ServerSettings, endpoint};

/// A model behind a server that speaks OpenAI's chat completions, streamed.
///
/// A stream that ends without `[DONE]` or without a reason to stop was cut and is an error, never an
/// answer. Reasoning is sent back within the turn it belongs to, as servers that show it ask for.
pub struct OpenAi {
    name: String,
    model: String,
    target: ServiceTarget,
    client: Client,
    redaction: Redaction,
    stall_timeout: Duration,
}

impl OpenAi {
    /// An adapter with these settings. Asks no server.
    pub fn new(settings: ServerSettings) -> Result<Self, ModelError> {
        let settings = settings.checked()?;
        let web = WebConfig::default().with_connect_timeout(settings.connect_timeout);
        let client = Client::builder().with_web_config(web).build().map_err(|error| {
            ModelError::new(ModelErrorKind::Configuration, format!("no HTTP client: {error}"))
        })?;
        let auth = match &settings.api_key {
            Some(key) => AuthData::from_single(key.reveal()),
            // The library wants a key for this kind of server; this is how to send none.
            None => AuthData::RequestOverride {
                url: endpoint(&settings.base_url, "chat/completions"),
                headers: Headers::from(("accept".to_owned(), "text/event-stream".to_owned())),
            },
        };
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(settings.base_url),
            auth,
            // Forced: by its name alone the library might send it to another provider.
            model: ModelIden::new(AdapterKind::OpenAI, settings.model.as_str()),
        };
        Ok(Self {
            name: format!("openai:{}", settings.model),
            model: settings.model,
            target,
            client,
            redaction: Redaction::new(settings.api_key.as_ref()),
            stall_timeout: settings.stall_timeout,
        })
    }

    fn options(&self, request: &ModelRequest, frames: Arc<CallFrames>) -> ChatOptions {
        ChatOptions::default()
            .with_max_tokens(request.max_output_tokens)
            .with_capture_usage(true)
            .with_stream_header_timeout(self.stall_timeout)
            .with_stream_read_timeout(self.stall_timeout)
            .with_raw_frame_sink_arc(frames)
            // The library reads an effort out of names like `qwen-max` and cuts the name: not with an
            // effort of its own, of a kind that is not sent, and with the name set once more.
            .with_reasoning_effort(ReasoningEffort::Budget(0))
            .with_extra_body(json!({ "model": self.model }))
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("name", &self.name)
            .field("base_url", &self.target.endpoint.base_url())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let chat = request::to_chat(&request)?;
        let frames = Arc::new(CallFrames::default());
        let options = self.options(&request, frames.clone());
        let response = self
            .client
            .exec_chat_stream(ModelSpec::from_target(self.target.clone()), chat, Some(&options))
            .await
            .map_err(|error| self.redaction.apply(failure::classify(&error, false)))?;
        Ok(answer::stream(response.stream, frames, self.stall_timeout, self.redaction.clone()))
    }
}
