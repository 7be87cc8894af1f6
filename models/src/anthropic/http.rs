//! One request, and the events that answer it.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use holdover_core::model::{ModelError, ModelErrorKind};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::Value;
use sse_stream::SseByteStream;
use tokio::time::{Instant, timeout_at};

use super::event::Event;
use crate::wire::{ServerSettings, cut, endpoint, incomplete, malformed, refused, retry_after, stalled};

/// The version of the wire that is spoken here.
const VERSION: &str = "2023-06-01";
/// The most bytes of a stream, whatever is in it.
const STREAM_BYTES_MAX: usize = 128 * 1024 * 1024;
/// The most bytes that are read of a refusal.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// Posts requests to one address.
pub(super) struct Http {
    client: Client,
    url: Url,
    headers: HeaderMap,
    stall_timeout: Duration,
}

impl Http {
    /// Errors are of kind `Configuration`.
    pub(super) fn new(settings: &ServerSettings) -> Result<Self, ModelError> {
        let refuse = |why: String| ModelError::new(ModelErrorKind::Configuration, why);
        let url = endpoint(&settings.base_url, "messages");
        let url = url.parse().map_err(|error| refuse(format!("base_url is not a URL: {error}")))?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        if let Some(key) = &settings.api_key {
            let mut key = HeaderValue::from_str(key.reveal())
                .map_err(|_| refuse("the key cannot be sent in a header".to_owned()))?;
            key.set_sensitive(true);
            headers.insert("x-api-key", key);
        }
        let client = Client::builder()
            .connect_timeout(settings.connect_timeout)
            // A redirect to another host would take the key along.
            .redirect(Policy::none())
            // Core alone asks again.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| refuse(format!("no HTTP client: {error}")))?;
        Ok(Self { client, url, headers, stall_timeout: settings.stall_timeout })
    }

    /// Sends `body` and waits for the head of the answer; what is no stream of events is an error.
    pub(super) async fn post(&self, body: &Value) -> Result<Events, ModelError> {
        let until = Instant::now() + self.stall_timeout;
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body.to_string());
        let response = timeout_at(until, request.send())
            .await
            .map_err(|_| stalled(false))?
            .map_err(|error| cut(&error, false))?;
        if !response.status().is_success() {
            return Err(refusal(response, until).await);
        }
        match content_type(&response) {
            Some(kind) if !kind.starts_with("text/event-stream") => {
                let words = beginning(response, until).await;
                Err(malformed(format!("not a stream but {kind}: {words}")))
            }
            Some(_) | None => Ok(Events::of(response, self.stall_timeout)),
        }
    }
}

/// What follows from a status that is not a success.
async fn refusal(response: Response, until: Instant) -> ModelError {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let wait = retry_after(header("retry-after-ms"), header("retry-after"), SystemTime::now());
    let mut error = refused(status, &beginning(response, until).await);
    error.retry_after = wait;
    error
}

fn content_type(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.to_ascii_lowercase())
}

/// As much of a body as comes in time, up to a bound.
async fn beginning(mut response: Response, until: Instant) -> String {
    let mut body = Vec::new();
    while body.len() < REFUSAL_BYTES_MAX
        && let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(REFUSAL_BYTES_MAX);
    String::from_utf8_lossy(&body).into_owned()
}

/// The events of one answer.
pub(super) struct Events {
    inner: SseByteStream<BoxStream<'static, Result<Bytes, Broken>>>,
    stall_timeout: Duration,
    begun: bool,
}

/// Why no more bytes come.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("the connection failed")]
    Connection(#[source] reqwest::Error),
    #[error("a stream of more than {STREAM_BYTES_MAX} bytes")]
    TooLong,
}

impl Events {
    fn of(response: Response, stall_timeout: Duration) -> Self {
        let mut left = STREAM_BYTES_MAX;
        let bytes = response.bytes_stream().map_err(Broken::Connection).map(move |bytes| {
            let bytes = bytes?;
            left = left.checked_sub(bytes.len()).ok_or(Broken::TooLong)?;
            Ok(bytes)
        });
        Self { inner: SseByteStream::new(bytes.boxed()), stall_timeout, begun: false }
    }

    /// The next event that says something. The end of the bytes is an error: the events end before it.
    pub(super) async fn next(&mut self) -> Result<Event, ModelError> {
        let until = Instant::now() + self.stall_timeout;
        loop {
            let block = match timeout_at(until, self.inner.next()).await {
                Err(_) => return Err(stalled(self.begun)),
                Ok(None) => return Err(incomplete("the stream ended without message_stop")),
                Ok(Some(Err(error))) => return Err(self.broken(&error)),
                Ok(Some(Ok(block))) => block,
            };
            let Some(data) = block.data.filter(|data| !data.trim().is_empty()) else { continue };
            match Event::read(&data)? {
                Event::Ping => {}
                event @ (Event::MessageStart { .. }
                | Event::ContentBlockStart { .. }
                | Event::ContentBlockDelta { .. }
                | Event::ContentBlockStop
                | Event::MessageDelta { .. }
                | Event::MessageStop
                | Event::Error { .. }
                | Event::Unknown) => {
                    self.begun = true;
                    return Ok(event);
                }
            }
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the library's enum: what it adds cannot be read either"
    )]
    fn broken(&self, error: &sse_stream::Error) -> ModelError {
        match error {
            sse_stream::Error::Body(body) => match body.downcast_ref::<Broken>() {
                Some(Broken::Connection(error)) => cut(error, self.begun),
                Some(Broken::TooLong) | None => malformed(body.to_string()),
            },
            sse_stream::Error::Utf8Parse(why) => malformed(format!("the stream is not UTF-8: {why}")),
            other => malformed(other.to_string()),
        }
    }
}
