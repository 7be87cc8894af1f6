//! What went wrong, in core's words.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use genai::Error;
use genai::webc::StreamTimeout;
use holdover_core::model::{ModelError, ModelErrorKind};
use serde_json::Value;

/// The most of a server's own words that is kept, in characters.
const DETAIL_CHARS_MAX: usize = 500;

/// Turns the library's errors into core's. Knows the key, to keep it out of them.
#[derive(Clone)]
pub(super) struct Failures {
    key: Option<Arc<str>>,
}

impl Failures {
    pub(super) fn new(key: Option<String>) -> Self {
        Self { key: key.filter(|key| !key.is_empty()).map(Arc::from) }
    }

    /// `begun`: whether some of the answer had come.
    pub(super) fn classify(&self, error: &Error, begun: bool) -> ModelError {
        let mut found = classify(error, begun);
        found.detail = self.clean(&found.detail);
        found
    }

    /// One line, without the key, bounded.
    fn clean(&self, text: &str) -> String {
        let text = match &self.key {
            // A server may repeat what it was sent.
            Some(key) => text.replace(&**key, "[key]"),
            None => text.to_owned(),
        };
        let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = line.char_indices().nth(DETAIL_CHARS_MAX) {
            line.truncate(at);
            line.push('…');
        }
        line
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library's enum: what it adds is refused as the rest is"
)]
fn classify(error: &Error, begun: bool) -> ModelError {
    let of = |kind, why: String| ModelError::new(kind, why);
    match error {
        Error::HttpError { status, body, headers, .. } => {
            let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
            let mut found = refused(status.as_u16(), body);
            found.retry_after = retry_after(header("retry-after-ms"), header("retry-after"));
            found
        }
        Error::WebStream { error, cause, .. } => transport(error.as_ref(), cause, begun),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            of(ModelErrorKind::Network, innermost(webc_error))
        }
        Error::ChatResponse { body, .. } => in_stream(body),
        Error::StreamParse { serde_error, .. } => {
            of(ModelErrorKind::Malformed, format!("a chunk is not JSON: {serde_error}"))
        }
        // All others tell of a request that was never sent. Their text may hold all of it.
        other => {
            let text = other.to_string();
            let line = text.lines().next().unwrap_or_default().to_owned();
            of(ModelErrorKind::Configuration, format!("the request cannot be made: {line}"))
        }
    }
}

fn transport(error: &(dyn StdError + Send + Sync + 'static), cause: &str, begun: bool) -> ModelError {
    if let Some(error) = error.downcast_ref::<Error>() {
        return classify(error, begun);
    }
    if let Some(timeout) = error.downcast_ref::<StreamTimeout>() {
        let phase = match timeout {
            StreamTimeout::Headers => "no answer began in time",
            StreamTimeout::Read => "nothing came for too long in the middle of an answer",
        };
        return ModelError::new(ModelErrorKind::Stalled, phase);
    }
    if error.is::<std::str::Utf8Error>() || error.is::<std::string::FromUtf8Error>() {
        return ModelError::new(ModelErrorKind::Malformed, format!("the stream is not UTF-8: {cause}"));
    }
    if begun {
        return ModelError::new(
            ModelErrorKind::Incomplete,
            format!("the stream was cut: {}", innermost(error)),
        );
    }
    ModelError::new(ModelErrorKind::Network, innermost(error))
}

/// The causes, without the outermost one, which names the URL.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    if causes.is_empty() { "the connection failed".to_owned() } else { causes.join(": ") }
}

/// An answer with an HTTP status that is not a success.
fn refused(status: u16, body: &str) -> ModelError {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let error = parsed.as_ref().map(|body| body.get("error").unwrap_or(body));
    let words = error.and_then(said).unwrap_or_else(|| body.to_owned());
    let kind = error.and_then(kind_by_code).unwrap_or_else(|| kind_by_status(status, &words));
    ModelError::new(kind, format!("HTTP {status}: {words}"))
}

/// An error that the server put in the middle of its stream.
fn in_stream(error: &Value) -> ModelError {
    if error.is_null() {
        return ModelError::new(ModelErrorKind::Malformed, "a chunk holds an error that says nothing");
    }
    let words = said(error).unwrap_or_else(|| error.to_string());
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let kind = kind_by_code(error)
        .or_else(|| status.map(|status| kind_by_status(status, &words)))
        .or_else(|| is_context_limit(&words).then_some(ModelErrorKind::ContextLimit))
        .unwrap_or(ModelErrorKind::Provider);
    ModelError::new(kind, format!("in the stream: {words}"))
}

/// What an error object says.
fn said(error: &Value) -> Option<String> {
    let in_field = |field: &&str| error.get(*field)?.as_str();
    let text = error.as_str().or_else(|| ["message", "detail", "error"].iter().find_map(in_field));
    text.map(ToOwned::to_owned)
}

/// The kind by the words that servers use as `code` or `type`, where these say more than the status.
fn kind_by_code(error: &Value) -> Option<ModelErrorKind> {
    ["code", "type"].iter().find_map(|field| {
        Some(match error.get(field)?.as_str()? {
            "insufficient_quota" | "billing_hard_limit_reached" | "insufficient_balance" => {
                ModelErrorKind::Quota
            }
            "context_length_exceeded" | "exceed_context_size_error" | "string_above_max_length" => {
                ModelErrorKind::ContextLimit
            }
            "rate_limit_exceeded" | "rate_limit_error" | "overloaded_error" | "overloaded" => {
                ModelErrorKind::RateLimited
            }
            "invalid_api_key" | "authentication_error" | "permission_error" => ModelErrorKind::Auth,
            "server_error" | "api_error" | "internal_error" => ModelErrorKind::Provider,
            "content_policy_violation" | "model_not_found" => ModelErrorKind::Refused,
            _ => return None,
        })
    })
}

fn kind_by_status(status: u16, words: &str) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Auth,
        402 => ModelErrorKind::Quota,
        408 => ModelErrorKind::Network,
        413 => ModelErrorKind::ContextLimit,
        429 | 529 => ModelErrorKind::RateLimited,
        500..=599 => ModelErrorKind::Provider,
        _ if is_context_limit(words) => ModelErrorKind::ContextLimit,
        _ => ModelErrorKind::Refused,
    }
}

fn is_context_limit(words: &str) -> bool {
    let words = words.to_lowercase();
    [
        "context length",
        "context window",
        "context size",
        "maximum context",
        "too many tokens",
        "prompt is too long",
    ]
    .iter()
    .any(|phrase| words.contains(phrase))
}

/// How long a server asks to wait: milliseconds if it says so, else seconds. A date is not understood.
fn retry_after(ms: Option<&str>, seconds: Option<&str>) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let seconds = ms.and_then(number).map(|ms| ms / 1000.0).or_else(|| seconds.and_then(number))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_and_what_comes_with_it_give_the_kind() {
        use ModelErrorKind::{Auth, ContextLimit, Network, Provider, Quota, RateLimited, Refused};
        for (status, body, kind) in [
            (400, json!({ "error": { "message": "bad field" } }), Refused),
            (400, json!({ "error": { "message": "no", "code": "context_length_exceeded" } }), ContextLimit),
            (400, json!({ "error": "This model's maximum context length is 8192 tokens" }), ContextLimit),
            (401, json!({ "error": { "message": "no", "code": "invalid_api_key" } }), Auth),
            (402, json!(null), Quota),
            (403, json!({}), Auth),
            (404, json!({ "error": { "message": "no such model" } }), Refused),
            (408, json!({}), Network),
            (429, json!({ "error": { "message": "slow down" } }), RateLimited),
            (429, json!({ "error": { "message": "pay", "code": "insufficient_quota" } }), Quota),
            (500, json!({}), Provider),
            (503, json!({ "error": { "type": "overloaded_error" } }), RateLimited),
            (529, json!({}), RateLimited),
        ] {
            let found = refused(status, &body.to_string());
            assert_eq!(found.kind, kind, "{status} {body}: {found}");
        }
        assert_eq!(refused(502, "<html>bad</html>").detail, "HTTP 502: <html>bad</html>");
    }

    #[test]
    fn an_error_in_the_stream_gives_the_kind() {
        use ModelErrorKind::{ContextLimit, Malformed, Provider, RateLimited, Refused};
        for (error, kind) in [
            (json!({ "message": "broken" }), Provider),
            (json!({ "message": "slow", "code": 429 }), RateLimited),
            (json!({ "message": "no", "code": 400 }), Refused),
            (json!({ "message": "overloaded", "type": "overloaded_error" }), RateLimited),
            (json!("the context window is full"), ContextLimit),
            (json!(null), Malformed),
        ] {
            assert_eq!(in_stream(&error).kind, kind, "{error}");
        }
    }

    #[test]
    fn a_wait_is_read_from_either_header() {
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(retry_after(None, Some("7")), ms(7000));
        assert_eq!(retry_after(Some("250"), Some("7")), ms(250));
        assert_eq!(retry_after(None, Some("0.5")), ms(500));
        for bad in ["-1", "soon", "NaN", "1e300", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(retry_after(None, Some(bad)), None, "{bad}");
        }
        assert_eq!(retry_after(None, None), None);
    }

    #[test]
    fn details_are_one_bounded_line_without_the_key() {
        let failures = Failures::new(Some("sk-123".to_owned()));
        assert_eq!(failures.clean("key\n sk-123\tis bad"), "key [key] is bad");
        assert_eq!(failures.clean(&"ü".repeat(600)).chars().count(), DETAIL_CHARS_MAX + 1);
    }
}
