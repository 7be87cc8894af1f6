//! One `POST` to a server that decides: without redirects, without retries, bounded in time and in the answer.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use holdover_core::remote::is_this_machine;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use rustls::crypto::CryptoProvider;

/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that is asked.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

/// The reason why a server cannot be asked.
pub(crate) enum Unasked {
    /// The address is not valid.
    Url(String),
    /// There is no HTTP client.
    Client(reqwest::Error),
}

impl Server {
    /// Returns the server at this `http://` or `https://` address. Does not connect yet.
    pub(crate) fn at(url: &str) -> Result<Self, Unasked> {
        let url: Url = url.parse().map_err(|error| Unasked::Url(format!("{error}")))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(Unasked::Url(format!("{}: write http:// or https://", url.scheme())));
        }
        choose_cryptography();
        let mut builder = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            // Only the server that is asked decides, not one to which it redirects.
            .redirect(Policy::none())
            .retry(reqwest::retry::never());
        if is_this_machine(url.host_str().unwrap_or_default()) {
            // Neither a proxy nor a resolver may lead a token away from this machine.
            let this_machine = [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()];
            builder = builder.no_proxy().resolve_to_addrs("localhost", &this_machine);
        }
        let client = builder.build().map_err(Unasked::Client)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self { client, url, headers })
    }

    /// Returns the address.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the host of the server if a token would be sent to it without encryption: it is another machine, and the
    /// address is not `https://`.
    pub(crate) fn unencrypted(&self) -> Option<&str> {
        let host = self.url.host_str().unwrap_or_default();
        (self.url.scheme() != "https" && !is_this_machine(host)).then_some(host)
    }

    /// Sends this token with every request. Returns `None` if it cannot be sent in a header.
    pub(crate) fn bearer(mut self, token: &str) -> Option<Self> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        self.headers.insert(AUTHORIZATION, value);
        Some(self)
    }

    /// Sends one request. Returns the status and the answer if it has one of these statuses, arrives as a whole in time, and
    /// has at most `bytes_max` bytes. Errors are one line, without the address, which may contain a password.
    pub(crate) async fn ask(
        &self,
        body: String,
        within: Duration,
        good: &[StatusCode],
        bytes_max: usize,
    ) -> Result<(StatusCode, Vec<u8>), String> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let response = request.timeout(within).body(body).send().await.map_err(|error| why(&error))?;
        let status = response.status();
        if !good.contains(&status) {
            return Err(format!("it answered with status {}", status.as_u16()));
        }
        whole(response, bytes_max).await.map(|body| (status, body))
    }
}

/// Reads a whole body. Fails if the body is longer than `bytes_max`.
async fn whole(mut response: Response, bytes_max: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| why(&error))? {
        body.extend_from_slice(&piece);
        if body.len() > bytes_max {
            return Err(format!("its answer is longer than {bytes_max} bytes"));
        }
    }
    Ok(body)
}

/// Chooses the TLS cryptography for this process, unless it was chosen already. The HTTP client has no default.
fn choose_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // Another thread may choose at the same time; either choice works.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// Describes an error without the address, which may contain a password.
fn why(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        "it was silent".to_owned()
    } else if error.is_connect() {
        "it cannot be reached".to_owned()
    } else {
        "its answer ended early".to_owned()
    }
}
