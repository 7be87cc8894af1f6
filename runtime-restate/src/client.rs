//! Requests to Restate over HTTP: calls of handlers, and its admin API.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Url};
use rustls::crypto::CryptoProvider;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::RestateError;
use crate::options::RestateOptions;

/// The time limit to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for a request including its complete answer. At a registration, Restate asks the worker in between.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// The largest part of an answer that an error quotes, in characters.
const QUOTED_MAX: usize = 200;

/// One of the two URLs of a Restate server. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    client: Client,
    base: Url,
    bearer: Option<HeaderValue>,
}

impl Api {
    /// Returns the API that takes calls of handlers.
    pub(crate) fn ingress(options: &RestateOptions) -> Result<Self, RestateError> {
        Self::new("ingress_url", &options.ingress_url, options.token.as_deref())
    }

    /// Returns the admin API.
    pub(crate) fn admin(options: &RestateOptions) -> Result<Self, RestateError> {
        Self::new("admin_url", &options.admin_url, options.token.as_deref())
    }

    fn new(setting: &'static str, url: &str, token: Option<&str>) -> Result<Self, RestateError> {
        let mut base = base_url(setting, url)?;
        let local = is_loopback(&base);
        if token.is_some() && base.scheme() != "https" && !local {
            let why = "a token is sent only over https://, or to this machine";
            return Err(RestateError::setting(setting, why));
        }
        let bearer = token.map(bearer).transpose()?;
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        choose_cryptography();
        let builder = Client::builder().connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT);
        let builder = builder.redirect(Policy::none()).retry(reqwest::retry::never());
        let builder = if local { builder.no_proxy() } else { builder };
        let client = builder
            .build()
            .map_err(|error| RestateError::setting(setting, format!("no HTTP client: {error}")))?;
        Ok(Self { client, base, bearer })
    }

    /// Returns the URL without a `/` at its end.
    pub(crate) fn name(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Sends a request to a path, which has no `/` at its beginning, and reads the answer.
    pub(crate) async fn post<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<A, RestateError> {
        let failed = |status: Option<u16>, why: String| RestateError::Request {
            request: format!("POST {}/{path}", self.name()),
            status,
            why,
        };
        let url = self.base.join(path).map_err(|error| failed(None, error.to_string()))?;
        let body = serde_json::to_vec(body).map_err(|error| failed(None, error.to_string()))?;
        let mut request = self.client.request(Method::POST, url).header(CONTENT_TYPE, "application/json");
        // SQL is answered in another format by default.
        request = request.header(reqwest::header::ACCEPT, "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
        let unreachable = |error: reqwest::Error| failed(None, reason(&error.without_url()));
        let answer = request.body(body).send().await.map_err(unreachable)?;
        let status = answer.status();
        let bytes = answer.bytes().await.map_err(unreachable)?;
        if !status.is_success() {
            return Err(failed(Some(status.as_u16()), format!("{status}: {}", quoted(&bytes))));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| failed(Some(status.as_u16()), format!("not the expected answer: {error}")))
    }
}

/// Parses a URL to which paths are appended.
pub(crate) fn base_url(setting: &'static str, text: &str) -> Result<Url, RestateError> {
    let refuse = |why: String| RestateError::setting(setting, why);
    let url: Url = text.parse().map_err(|error| refuse(format!("it is no address: {error}")))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(refuse("it does not begin with http:// or https://".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("it has a user or a password".to_owned()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it has a query or a fragment".to_owned()));
    }
    Ok(url)
}

/// Returns true if the URL names this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn bearer(token: &str) -> Result<HeaderValue, RestateError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| RestateError::setting("token", "it contains a character that a header cannot have"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the innermost reason of an error, in one line.
fn reason(error: &reqwest::Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    if error.is_timeout() { "no answer in time".to_owned() } else { quoted(reason.to_string().as_bytes()) }
}

/// Returns the beginning of an answer in one line.
fn quoted(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let one_line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    one_line.take(QUOTED_MAX).collect::<String>().trim().to_owned()
}

/// Chooses the TLS cryptography for this process, unless it was chosen already.
fn choose_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // Another thread may choose at the same time; either choice works.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn a_setting_that_is_not_valid_is_named() {
        for (url, why) in [
            ("restate:8080", "ingress_url: it does not begin with http:// or https://"),
            ("8080", "ingress_url: it is no address: relative URL without a base"),
            ("http://a:b@restate", "ingress_url: it has a user or a password"),
            ("http://restate/?a", "ingress_url: it has a query or a fragment"),
        ] {
            let error = Api::ingress(&RestateOptions::default().ingress_url(url)).unwrap_err();
            assert_eq!(error.to_string(), why);
        }
    }

    #[test]
    fn a_token_does_not_leave_the_machine_in_plain_text() {
        let options = RestateOptions::default().token("s3cret".to_owned());
        assert!(!format!("{options:?}").contains("s3cret"));
        assert!(Api::admin(&options).is_ok());
        assert!(Api::admin(&options.clone().admin_url("https://restate.example")).is_ok());
        let error = Api::admin(&options.clone().admin_url("http://restate.example")).unwrap_err();
        assert_eq!(error.to_string(), "admin_url: a token is sent only over https://, or to this machine");
        let error = Api::admin(&options.token("s3cret\n".to_owned())).unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}
