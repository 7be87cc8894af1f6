//! Sends a request and reads the head of the response, in the same way for all APIs.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use holdover_core::model::{ModelError, ModelErrorKind};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, Url};
use rustls::crypto::CryptoProvider;
use tokio::time::{Instant, timeout_at};

use super::base_url::endpoint;
use super::connection::{NoteConnections, Unanswered, send};
use super::frames::Frames;
use super::{ServerSettings, cut, in_page, malformed, refused, retry_after, stalled};
use crate::reference::shown;

/// The maximum number of bytes read of a body that is not a stream.
const PAGE_BYTES_MAX: usize = 64 * 1024;
/// The time limit for such a body after the head of the answer. If the body does not come, the error is classified by
/// the head alone.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// A client that posts requests to one URL.
pub(crate) struct Http {
    client: Client,
    url: Url,
    headers: HeaderMap,
    connect_timeout: Duration,
    stall_timeout: Duration,
}

/// The policy for connections: keep them for later requests, or use each only once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connections {
    Kept,
    Fresh,
}

impl Http {
    /// Creates a client that posts to `path` beneath the base URL. `headers` are sent besides the headers that all APIs
    /// share. Errors are of kind `Configuration`.
    pub(crate) fn new(
        settings: &ServerSettings,
        path: &str,
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Result<Self, ModelError> {
        let refuse = |why: String| ModelError::new(ModelErrorKind::Configuration, why);
        let url = endpoint(&settings.base_url, path);
        let url = url.parse().map_err(|error| refuse(format!("base_url is not a URL: {error}")))?;
        let mut all = HeaderMap::new();
        all.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        all.extend(headers);
        let ServerSettings { connect_timeout, stall_timeout, .. } = *settings;
        let client = client(connect_timeout, Connections::Kept)?;
        Ok(Self { client, url, headers: all, connect_timeout, stall_timeout })
    }

    /// Returns the longest allowed silence of the server.
    pub(crate) fn stall_timeout(&self) -> Duration {
        self.stall_timeout
    }

    /// Sends `body` and waits for the head of the answer. Fails if its status is not a success, or if its content type
    /// shows that its body is not a stream of events.
    pub(crate) async fn post(&self, body: String) -> Result<Frames, ModelError> {
        let answered = timeout_at(Instant::now() + self.stall_timeout, self.answered(body.into()));
        let response = answered.await.map_err(|_| stalled(false))??;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        match page(&response) {
            Some(kind) => Err(no_stream(response, &kind).await),
            None => Ok(Frames::of(response, self.stall_timeout)),
        }
    }

    /// Returns the head of the answer. Servers close connections that were idle for a while. If the server closes a
    /// kept connection while a request is on its way, the request is sent once more, over a new connection, and that
    /// result counts.
    async fn answered(&self, body: Bytes) -> Result<Response, ModelError> {
        let closed = match send(self.request(&self.client, body.clone())).await {
            Ok(response) => return Ok(response),
            Err(Unanswered { error, is_stale: false }) => return Err(cut(&error, false)),
            Err(Unanswered { error, is_stale: true }) => error,
        };
        let Ok(client) = client(self.connect_timeout, Connections::Fresh) else {
            return Err(cut(&closed, false));
        };
        send(self.request(&client, body)).await.map_err(|unanswered| cut(&unanswered.error, false))
    }

    fn request(&self, client: &Client, body: Bytes) -> RequestBuilder {
        client.post(self.url.clone()).headers(self.headers.clone()).body(body)
    }
}

fn client(connect_timeout: Duration, connections: Connections) -> Result<Client, ModelError> {
    choose_cryptography();
    let mut builder = Client::builder()
        .connect_timeout(connect_timeout)
        .connector_layer(NoteConnections)
        // A redirect to another host would send it the transcript and the key.
        .redirect(Policy::none())
        // The HTTP client must not retry by itself.
        .retry(reqwest::retry::never());
    if connections == Connections::Fresh {
        builder = builder.pool_max_idle_per_host(0);
    }
    builder
        .build()
        .map_err(|error| ModelError::new(ModelErrorKind::Configuration, format!("no HTTP client: {error}")))
}

/// Chooses the TLS cryptography for this process, unless it was chosen already. The HTTP client has no default.
pub(super) fn choose_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // Another thread may choose at the same time; either choice works.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// Returns a header value that holds the key and is never shown.
pub(crate) fn secret(value: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        ModelError::new(ModelErrorKind::Configuration, "the key cannot be sent in a header".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the error for a response whose status is not a success.
async fn refusal(response: Response) -> ModelError {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let wait = retry_after(header("retry-after-ms"), header("retry-after"), SystemTime::now());
    let place = response.url().clone();
    let mut error = refused(status, shown(place.as_str()), &beginning(response).await);
    error.retry_after = wait;
    error
}

/// Returns the error for a successful response that is not a stream. Some servers report errors in this way.
async fn no_stream(response: Response, kind: &str) -> ModelError {
    let status = response.status().as_u16();
    let words = beginning(response).await;
    in_page(status, &words).unwrap_or_else(|| malformed(format!("not a stream but {kind}: {words}")))
}

/// Returns the content type if it shows that the body is not a stream. Returns `None` otherwise: the body is read as a
/// stream, because some servers do not label streams.
fn page(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    let whole = kind.contains("json") && !kind.contains("ndjson") || kind.contains("html");
    whole.then_some(kind)
}

/// Returns the part of a body that comes within [`PAGE_TIMEOUT`], up to [`PAGE_BYTES_MAX`].
async fn beginning(mut response: Response) -> String {
    let until = Instant::now() + PAGE_TIMEOUT;
    let mut body = Vec::new();
    while body.len() < PAGE_BYTES_MAX
        && let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(PAGE_BYTES_MAX);
    String::from_utf8_lossy(&body).into_owned()
}
