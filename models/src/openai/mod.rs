//! Servers that speak OpenAI's chat completions.

mod answer;
mod calls;
mod failure;
mod request;
#[cfg(test)]
mod server;
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
use self::failure::Failures;

const OPENAI_BASE_URL: &str = "https://api.openai.com/v1/";
/// How long it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a server may send nothing at all.
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// A key. Never shown: not in `Debug`, not in errors.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// This key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key in the environment variable `name`. Not set or empty: an error of kind `Configuration`.
    pub fn from_env(name: &str) -> Result<Self, ModelError> {
        let refuse = |why: &str| {
            Err(ModelError::new(
                ModelErrorKind::Configuration,
                format!("environment variable {name:?} with the key {why}"),
            ))
        };
        if name.is_empty() || name.contains(['=', '\0']) {
            return refuse("cannot be a variable's name");
        }
        match std::env::var(name) {
            Ok(key) if key.trim().is_empty() => refuse("is empty"),
            Ok(key) => Ok(Self(key.trim().to_owned())),
            Err(std::env::VarError::NotPresent) => refuse("is not set"),
            Err(std::env::VarError::NotUnicode(_)) => refuse("is not UTF-8"),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// What an [`OpenAi`] needs.
#[derive(Debug, Clone)]
pub struct OpenAiSettings {
    /// The model, as the server names it.
    pub model: String,
    /// Where the server is, up to before `/chat/completions`.
    pub base_url: String,
    /// The key. None: no key is sent.
    pub api_key: Option<ApiKey>,
    /// How long it may take to connect.
    pub connect_timeout: Duration,
    /// How long the server may send nothing at all, before the answer and in the middle of it.
    pub stall_timeout: Duration,
}

impl OpenAiSettings {
    /// `model` at OpenAI's own service, without a key yet, 20 s to connect and 120 s of silence.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: OPENAI_BASE_URL.to_owned(),
            api_key: None,
            connect_timeout: CONNECT_TIMEOUT,
            stall_timeout: STALL_TIMEOUT,
        }
    }
}

/// A model behind a server that speaks OpenAI's chat completions, streamed.
///
/// A stream that ends without `[DONE]` or without a reason to stop was cut and is an error, never an
/// answer. Reasoning is sent back within the turn it belongs to, as servers that show it ask for.
pub struct OpenAi {
    name: String,
    model: String,
    target: ServiceTarget,
    client: Client,
    failures: Failures,
    stall_timeout: Duration,
}

impl OpenAi {
    /// An adapter with these settings. Asks no server.
    pub fn new(settings: OpenAiSettings) -> Result<Self, ModelError> {
        let configuration = |why: String| ModelError::new(ModelErrorKind::Configuration, why);
        if settings.model.is_empty() {
            return Err(configuration("model has no name".to_owned()));
        }
        let base_url = checked_base_url(&settings.base_url).map_err(configuration)?;
        let web = WebConfig::default().with_connect_timeout(settings.connect_timeout);
        let client = Client::builder()
            .with_web_config(web)
            .build()
            .map_err(|error| configuration(format!("no HTTP client: {error}")))?;
        let auth = match &settings.api_key {
            Some(key) => AuthData::from_single(key.0.clone()),
            // The library wants a key for this kind of server; this is how to send none.
            None => AuthData::RequestOverride {
                url: completions_url(&base_url),
                headers: Headers::from(("accept".to_owned(), "text/event-stream".to_owned())),
            },
        };
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(base_url),
            auth,
            // Forced: by its name alone the library might send it to another provider.
            model: ModelIden::new(AdapterKind::OpenAI, settings.model.as_str()),
        };
        Ok(Self {
            name: format!("openai:{}", settings.model),
            model: settings.model,
            target,
            client,
            failures: Failures::new(settings.api_key.map(|key| key.0)),
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
            .map_err(|error| self.failures.classify(&error, false))?;
        Ok(answer::stream(response.stream, frames, self.failures.clone()))
    }
}

/// The base URL with a slash at its end, or why it is none.
fn checked_base_url(text: &str) -> Result<String, String> {
    let fail = |why: &str| Err(format!("base_url {text:?} {why}"));
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest else { return fail("does not begin with http:// or https://") };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || text.contains(char::is_whitespace) {
        return fail("is not a URL");
    }
    if host.contains('@') {
        // Not shown: it may hold a password.
        return Err("base_url holds a user name; name the key's variable instead".to_owned());
    }
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    };
    let slash = if path.ends_with('/') { "" } else { "/" };
    Ok(match query {
        Some(query) => format!("{path}{slash}?{query}"),
        None => format!("{path}{slash}"),
    })
}

fn completions_url(base_url: &str) -> String {
    match base_url.split_once('?') {
        Some((path, query)) => format!("{path}chat/completions?{query}"),
        None => format!("{base_url}chat/completions"),
    }
}
