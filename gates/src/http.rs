//! A gate over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use holdover_core::gate::{ApprovalTerms, GATE_TIMEOUT, GateError, GateQuestion, PolicyGate, Verdict};
use reqwest::StatusCode;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::client::{Server, Unasked};

/// The version of the question's format. Within one version, fields are only ever added.
pub const ASKED_FORMAT: u32 = 1;

/// The maximum length of an answer, in bytes. A longer answer is a denial.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A gate that asks an HTTP server of yours whether a call may run. Each question is one `POST`:
///
/// ```json
/// { "format": 1, "tenant": "acme", "session": "desk-1", "call": "c1-0", "tool": "refund",
///   "arguments": { "order": 7 }, "digest": "…", "effect": "at_most_once", "dangerous": false,
///   "approved": false }
/// ```
///
/// `approved` says whether people have already approved exactly these bytes. The server answers 200 with
/// `{ "verdict": "allow" }`, `{ "verdict": "deny", "reason": "…", "rule": "…" }` or
/// `{ "verdict": "needs_approval", "prompt": "…" }`. Every field but the verdict may be left out, and other
/// fields are ignored.
///
/// An answer `needs_approval` may contain the terms of the approval ([`ApprovalTerms`]). Without terms, one
/// approval from any person is enough.
///
/// ```json
/// { "verdict": "needs_approval", "prompt": "…", "terms": {
///   "approvers": { "names": ["ann", "bob", "eve"], "needed": 2 },
///   "escalate": [{ "after_ms": 600000, "to": ["joe"] }],
///   "expires_after_ms": 3600000, "at_expiry": "deny" } }
/// ```
///
/// Terms that cannot be read, or that have an unknown field, make the answer unreadable. When enough people have
/// approved, the server is asked again, with `approved` set. The call runs if the server then allows it, or again
/// answers `needs_approval` with the same terms or with terms that one approval from any person satisfies.
///
/// The gate fails closed. It returns a [`GateError`], which denies the call, if it cannot connect, if the whole answer
/// does not arrive in time ([`within`](Self::within)), if the status is not 200 (redirects are not followed), or if the
/// answer is too long or cannot be read. A request is never retried.
#[derive(Debug, Clone)]
pub struct HttpGate {
    server: Server,
    within: Duration,
}

/// The reason why a gate cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpGateError {
    /// The address is not a valid `http://` or `https://` address.
    #[error("gate: url: {0}")]
    Url(String),
    /// The token cannot be sent in a header.
    #[error("gate: bearer: the token cannot be sent in a header")]
    Bearer,
    /// The token would be sent without encryption to this host, which is another machine.
    #[error("gate: bearer: the token would be sent unencrypted to {0}; expected https://")]
    Unencrypted(String),
    /// The HTTP client could not be created.
    #[error("gate: no HTTP client: {0}")]
    Client(#[source] reqwest::Error),
}

impl HttpGate {
    /// Creates a gate at this `http://` or `https://` address. Does not connect yet.
    pub fn new(url: &str) -> Result<Self, HttpGateError> {
        let server = Server::at(url).map_err(|unasked| match unasked {
            Unasked::Url(why) => HttpGateError::Url(why),
            Unasked::Client(error) => HttpGateError::Client(error),
        })?;
        Ok(Self { server, within: GATE_TIMEOUT })
    }

    /// Sends this token: `Authorization: Bearer …`. Neither debug output nor an error contains the token.
    ///
    /// # Errors
    /// Fails if the token cannot be sent in a header, or would be sent without encryption to another machine.
    pub fn bearer(self, token: &str) -> Result<Self, HttpGateError> {
        if let Some(host) = self.server.unencrypted() {
            return Err(HttpGateError::Unencrypted(host.to_owned()));
        }
        let server = self.server.bearer(token).ok_or(HttpGateError::Bearer)?;
        Ok(Self { server, ..self })
    }

    /// Sets the time within which the whole answer must arrive. The default and the maximum are
    /// [`GATE_TIMEOUT`].
    pub fn within(self, within: Duration) -> Self {
        Self { within: within.min(GATE_TIMEOUT), ..self }
    }

    async fn ask(&self, body: String) -> Result<Verdict, String> {
        let (_, answer) = self.server.ask(body, self.within, &[StatusCode::OK], ANSWER_BYTES_MAX).await?;
        // An array would otherwise be accepted as well, with its elements as the fields.
        if answer.trim_ascii_start().first() != Some(&b'{') {
            return Err("its answer is no object".to_owned());
        }
        let answer: Answer =
            serde_json::from_slice(&answer).map_err(|error| format!("its answer cannot be read: {error}"))?;
        Ok(answer.into())
    }
}

#[async_trait]
impl PolicyGate for HttpGate {
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError> {
        let asked = Asked::of(question).and_then(|asked| serde_json::to_string(&asked));
        let asked = asked.map_err(|error| GateError(format!("arguments: {error}")))?;
        self.ask(asked).await.map_err(GateError)
    }
}

/// The body of a question.
#[derive(Serialize)]
struct Asked<'a> {
    format: u32,
    tenant: &'a str,
    session: &'a str,
    call: &'a str,
    tool: &'a str,
    /// The arguments as they would run, byte for byte.
    arguments: &'a RawValue,
    digest: String,
    effect: &'a str,
    dangerous: bool,
    approved: bool,
}

impl<'a> Asked<'a> {
    fn of(question: &'a GateQuestion) -> Result<Self, serde_json::Error> {
        Ok(Self {
            format: ASKED_FORMAT,
            tenant: question.session.tenant.as_str(),
            session: question.session.id.as_str(),
            call: question.call.as_str(),
            tool: question.tool.as_str(),
            arguments: serde_json::from_str(&question.arguments)?,
            digest: question.digest.to_string(),
            effect: question.effect.as_str(),
            dangerous: question.dangerous,
            approved: question.approved,
        })
    }
}

/// The body of an answer.
#[derive(Deserialize)]
struct Answer {
    verdict: Word,
    reason: Option<String>,
    rule: Option<String>,
    prompt: Option<String>,
    #[serde(default, deserialize_with = "object")]
    terms: ApprovalTerms,
}

/// Reads terms, from an object only. An array would otherwise be accepted as well, with its elements as the fields,
/// and an empty array would mean one approval from any person.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ApprovalTerms, D::Error> {
    let terms = Box::<RawValue>::deserialize(deserializer)?;
    if !terms.get().starts_with('{') {
        return Err(D::Error::custom("terms: no object"));
    }
    serde_json::from_str(terms.get()).map_err(|error| D::Error::custom(format!("terms: {error}")))
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Allow,
    Deny,
    NeedsApproval,
}

impl From<Answer> for Verdict {
    fn from(answer: Answer) -> Self {
        match answer.verdict {
            Word::Allow => Self::Allow,
            Word::Deny => {
                let reason = answer.reason.unwrap_or_else(|| "the gate forbids it".to_owned());
                Self::Deny { reason, rule: answer.rule }
            }
            Word::NeedsApproval => {
                Self::NeedsApproval { prompt: answer.prompt.or(answer.reason), terms: answer.terms }
            }
        }
    }
}
