//! The HTTP client for programs that give tasks or send outcomes.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::children::Parent;
use holdover_core::ids::SessionId;
use holdover_core::remote::{Remote, RemoteTask, TaskOutcome, TaskStanding};
use holdover_runtime_local::{Elsewhere, ElsewhereError};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Method, StatusCode, Url};
use rustls::crypto::CryptoProvider;
use serde::Serialize;

use crate::address::token_for;
use crate::answer::{self, Answer};
use crate::replies::Replies;
use crate::token::token_of;
use crate::url::{HttpElsewhereError, LOCALHOST, Origin, base_url, http_url, is_loopback};
use crate::words::{BODY_BYTES_MAX, IDEMPOTENCY_KEY, Told, fitting};

/// The time limit to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time limit for a request including its complete answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// An HTTP client that gives tasks to remote agents, and sends other programs the outcomes of the tasks that they gave.
/// Set it with `RuntimeOptions::elsewhere`.
///
/// - A token is read from its environment variable for each request. It is sent only over `https://`, or to this
///   machine.
/// - Redirects are not followed. A body has at most [`BODY_BYTES_MAX`] bytes.
/// - A request may be retried if the server could not be reached, if no answer or only a part of a successful one
///   arrived in time, or if it was answered with 408, 425, 429 or 5xx. All other failures are final.
/// - Errors contain neither a bearer token nor the token at the end of an address for outcomes. If an outcome cannot be
///   sent, the error contains at most the origin of its address.
///
/// ```
/// use std::sync::Arc;
///
/// use holdover_elsewhere::HttpElsewhere;
/// use holdover_runtime_local::RuntimeOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let wire = HttpElsewhere::new()
///     .reachable_at("https://here.example/holdover")?
///     .allow_replies_to("https://there.example/holdover")?;
/// let options = RuntimeOptions::default().elsewhere(Some(Arc::new(wire)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct HttpElsewhere {
    /// Created for the first request, because most programs never send one.
    clients: Arc<OnceLock<Result<Clients, String>>>,
    here: Option<Url>,
    replies: Replies,
    within: Duration,
}

#[derive(Debug)]
struct Clients {
    any: Client,
    /// The client for this machine. It uses no proxy, so a token does not leave the machine.
    direct: Client,
}

impl Clients {
    fn new() -> Result<Self, String> {
        choose_cryptography();
        let this_machine = [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()];
        let direct = builder().no_proxy().resolve_to_addrs(LOCALHOST, &this_machine);
        let built =
            |client: ClientBuilder| client.build().map_err(|error| format!("no HTTP client: {error}"));
        Ok(Self { any: built(builder())?, direct: built(direct)? })
    }
}

impl Default for HttpElsewhere {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpElsewhere {
    /// Creates a client that gives tasks and polls for their outcomes, but sends no outcomes. Connects to nothing yet.
    pub fn new() -> Self {
        Self { clients: Arc::default(), here: None, replies: Replies::default(), within: REQUEST_TIMEOUT }
    }

    /// Sets the address at which other programs reach this program's `router`, so that they can send outcomes there.
    /// Without an address, this program only polls for outcomes.
    pub fn reachable_at(self, base: &str) -> Result<Self, HttpElsewhereError> {
        Ok(Self { here: Some(base_url("reachable_at", base)?), ..self })
    }

    /// Allows outcomes to be sent to addresses with this scheme, host and port, and at or below this path. Each call
    /// allows further addresses. By default, no outcomes are sent, because the caller chooses the address and could
    /// choose one that only this program can reach. Callers can always poll for outcomes.
    pub fn allow_replies_to(mut self, prefix: &str) -> Result<Self, HttpElsewhereError> {
        self.replies.allow(base_url("allow_replies_to", prefix)?);
        Ok(self)
    }

    /// Sets the time limit for a request including its complete answer. The default and the maximum are
    /// [`REQUEST_TIMEOUT`].
    pub fn within(self, within: Duration) -> Self {
        Self { within: within.min(REQUEST_TIMEOUT), ..self }
    }

    /// Sends a request to a remote agent. Errors never quote the token or `secret`.
    async fn ask(
        &self,
        (remote, method, url): (&Remote, Method, Url),
        (headers, body): (HeaderMap, Option<Vec<u8>>),
        secret: Option<&str>,
    ) -> Result<Answer, ElsewhereError> {
        let token = token_of(remote).map_err(ElsewhereError::never)?;
        let mut headers = headers;
        if let Some(token) = &token {
            if url.scheme() != "https" && !is_loopback(&url) {
                let why = "a token is sent only over https://, or to this machine";
                return Err(ElsewhereError::never(why));
            }
            headers.insert(AUTHORIZATION, bearer(remote, token)?);
        }
        let mut answer = self.send(method, url, headers, body).await?;
        answer.secrets.extend(token);
        answer.secrets.extend(secret.map(str::to_owned));
        Ok(answer)
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        mut headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Answer, ElsewhereError> {
        let clients = self.clients.get_or_init(Clients::new).as_ref();
        let clients = clients.map_err(|why| ElsewhereError::never(why.as_str()))?;
        let client = if is_loopback(&url) { &clients.direct } else { &clients.any };
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let request = client.request(method, url).headers(headers).timeout(self.within);
        let request = match body {
            Some(body) => request.body(body),
            None => request,
        };
        answer::read(request.send().await.map_err(|error| answer::why(&error))?).await
    }
}

#[async_trait]
impl Elsewhere for HttpElsewhere {
    fn address(&self, remote: &Remote, parent: &Parent) -> Option<String> {
        // If the token cannot be read, the task cannot be given either.
        let key = token_of(remote).ok()?.unwrap_or_default();
        let here = self.here.as_ref()?.as_str().trim_end_matches('/');
        Some(format!("{here}/outcomes/{}", token_for(parent, &key)?))
    }

    async fn begin(&self, remote: &Remote, task: &RemoteTask) -> Result<TaskStanding, ElsewhereError> {
        let url = tasks_url(remote)?;
        let body = json("the task", task)?;
        let mut headers = HeaderMap::new();
        let key = HeaderValue::from_bytes(task.id.as_str().as_bytes());
        let key = key.map_err(|_| ElsewhereError::never("the id of the task cannot be sent in a header"))?;
        headers.insert(IDEMPOTENCY_KEY, key);
        let secret = task.reply_to.as_deref().and_then(|url| url.rsplit('/').next());
        let answer = self.ask((remote, Method::POST, url), (headers, Some(body)), secret).await?;
        answer.standing()
    }

    async fn look(&self, remote: &Remote, task: &SessionId) -> Result<Option<TaskStanding>, ElsewhereError> {
        let request = (remote, Method::GET, task_url(remote, task)?);
        let answer = self.ask(request, (HeaderMap::new(), None), None).await?;
        if is_gone(answer.status) { Ok(None) } else { answer.standing().map(Some) }
    }

    async fn stop(&self, remote: &Remote, task: &SessionId) -> Result<(), ElsewhereError> {
        let request = (remote, Method::DELETE, task_url(remote, task)?);
        let answer = self.ask(request, (HeaderMap::new(), None), None).await?;
        if is_gone(answer.status) { Ok(()) } else { answer.success().map(|_| ()) }
    }

    async fn tell(&self, url: &str, task: &SessionId, outcome: &TaskOutcome) -> Result<(), ElsewhereError> {
        let url = http_url(url).map_err(|why| ElsewhereError::never(format!("reply_to: {why}")))?;
        let origin = Origin(&url).to_string();
        if !self.replies.has(&url) {
            let why = format!(
                "{origin}: outcomes are not sent to this address: allow_replies_to does not allow it"
            );
            return Err(ElsewhereError::never(why));
        }
        let told = Told { id: task.clone(), outcome: Cow::Owned(fitting(outcome)) };
        let body = json("the outcome", &told)?;
        let answer = self.send(Method::POST, url, HeaderMap::new(), Some(body)).await;
        let told = answer.and_then(|answer| {
            // An answer may repeat the address, so it is not quoted.
            if is_gone(answer.status) {
                Ok(())
            } else {
                Answer { body: Vec::new(), ..answer }.success().map(|_| ())
            }
        });
        told.map_err(|error| ElsewhereError { detail: format!("{origin}: {}", error.detail), ..error })
    }
}

/// Returns true if the other program says that there is no such task, or that no call waits for its outcome. A 404 does
/// not mean this: it may come from a proxy, or from a program that does not offer the agent at the moment.
fn is_gone(status: StatusCode) -> bool {
    status == StatusCode::GONE
}

/// Returns the URL at which an agent accepts tasks.
fn tasks_url(remote: &Remote) -> Result<Url, ElsewhereError> {
    http_url(&remote.url).map_err(|why| ElsewhereError::never(format!("url: {why}")))
}

fn task_url(remote: &Remote, task: &SessionId) -> Result<Url, ElsewhereError> {
    let mut url = tasks_url(remote)?;
    // A URL cannot have the segments `.` and `..`: it would name another place.
    if [".", ".."].contains(&task.as_str()) {
        return Err(ElsewhereError::never("the id of the task cannot be a part of an address"));
    }
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().push(task.as_str());
    }
    Ok(url)
}

fn bearer(remote: &Remote, token: &str) -> Result<HeaderValue, ElsewhereError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
        let variable = remote.token_env.as_deref().unwrap_or_default();
        ElsewhereError::never(format!("token_env: the token in {variable} cannot be sent in a header"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn json(what: &str, value: &impl Serialize) -> Result<Vec<u8>, ElsewhereError> {
    let body =
        serde_json::to_vec(value).map_err(|error| ElsewhereError::never(format!("{what}: {error}")))?;
    if body.len() > BODY_BYTES_MAX {
        let why = format!("{what} has {} bytes, at most {BODY_BYTES_MAX} are sent", body.len());
        return Err(ElsewhereError::never(why));
    }
    Ok(body)
}

fn builder() -> ClientBuilder {
    Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        // A token is meant for the named server, not for a server that it redirects to.
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
}

/// Chooses the TLS cryptography for this process, unless it was chosen already. The HTTP client has no default.
fn choose_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // Another thread may choose at the same time; either choice works.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
