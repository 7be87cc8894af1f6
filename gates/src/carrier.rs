//! Requests that a server answers: hooks and summarisers of results.

use std::time::Duration;

use async_trait::async_trait;
use holdover_core::hook::{Carrier, HookError, OUTSIDE_ANSWER_BYTES_MAX};
use reqwest::StatusCode;

use crate::client::{Server, Unasked};

/// Carries requests to an HTTP server, each as the body of one `POST`. The server answers with status 200 and the answer as
/// the body, or with status 204 and no body to change nothing. Status 200 without an answer is an error, because the
/// answer may have been lost on its way. Redirects are not followed, and a request is never retried.
///
/// ```
/// use holdover_core::hook::{HookPoint, HookSettings, OutsideHook};
/// use holdover_gates::HttpCarrier;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = HttpCarrier::new("https://hooks.example/redact")?.bearer("token")?;
/// let hook = OutsideHook::new(HookSettings::new("redact", [HookPoint::AfterTool]), server)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct HttpCarrier(Server);

/// The reason why a carrier cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpCarrierError {
    /// The address is not a valid `http://` or `https://` address without a user and a password.
    #[error("url: {0}")]
    Url(String),
    /// The token cannot be sent in a header.
    #[error("bearer: the token cannot be sent in a header")]
    Bearer,
    /// The token would be sent without encryption to another machine.
    #[error("bearer: the token would be sent unencrypted to {0}; expected https://")]
    Unencrypted(String),
    /// The HTTP client could not be created.
    #[error("no HTTP client: {0}")]
    Client(#[source] reqwest::Error),
}

impl HttpCarrier {
    /// Creates a carrier to the server at this `http://` or `https://` address. Does not connect yet.
    ///
    /// # Errors
    /// Fails if the address is not valid, or contains a user or a password.
    pub fn new(url: &str) -> Result<Self, HttpCarrierError> {
        let server = Server::at(url).map_err(|unasked| match unasked {
            Unasked::Url(why) => HttpCarrierError::Url(why),
            Unasked::Client(error) => HttpCarrierError::Client(error),
        })?;
        if !server.url().username().is_empty() || server.url().password().is_some() {
            return Err(HttpCarrierError::Url("it has a user or a password".to_owned()));
        }
        Ok(Self(server))
    }

    /// Returns an error if a token for this server would be sent without encryption to another machine.
    ///
    /// # Errors
    /// Fails with [`HttpCarrierError::Unencrypted`].
    pub fn takes_token(&self) -> Result<(), HttpCarrierError> {
        match self.0.unencrypted() {
            None => Ok(()),
            Some(host) => Err(HttpCarrierError::Unencrypted(host.to_owned())),
        }
    }

    /// Sends this token: `Authorization: Bearer …`. Neither debug output nor an error contains the token.
    ///
    /// # Errors
    /// Fails if the token cannot be sent in a header, or would be sent without encryption to another machine.
    pub fn bearer(self, token: &str) -> Result<Self, HttpCarrierError> {
        self.takes_token()?;
        self.0.bearer(token).map(Self).ok_or(HttpCarrierError::Bearer)
    }
}

#[async_trait]
impl Carrier for HttpCarrier {
    async fn carry(&self, request: String, limit: Duration) -> Result<Vec<u8>, HookError> {
        let good = [StatusCode::OK, StatusCode::NO_CONTENT];
        let asked = self.0.ask(request, limit, &good, OUTSIDE_ANSWER_BYTES_MAX).await;
        let (status, answer) = asked.map_err(HookError)?;
        if status == StatusCode::OK && answer.trim_ascii().is_empty() {
            return Err(HookError("it answered with status 200 without an answer; expected 204".to_owned()));
        }
        Ok(answer)
    }
}
