//! Classifies a server's refusals in core's terms.

use holdover_core::model::{ModelError, ModelErrorKind};
use serde_json::Value;

use super::malformed;

/// Returns the error for an answer with an HTTP status that is not a success. `place` is the URL; the error names it if
/// it may be wrong.
pub(crate) fn refused(status: u16, place: &str, body: &str) -> ModelError {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let error = parsed.as_ref().map(|body| body.get("error").unwrap_or(body));
    let words = error.and_then(said).unwrap_or_else(|| body.to_owned());
    let by_code = error.and_then(kind_by_code).filter(|kind| agrees(status, *kind));
    let kind = by_code.unwrap_or_else(|| kind_by_status(status, &words));
    ModelError::new(
        kind,
        match status {
            300..=399 | 404 | 405 => format!("HTTP {status} at {place}: {words}"),
            _ => format!("HTTP {status}: {words}"),
        },
    )
}

/// Returns true if the kind that a code names agrees with the status. With 503 or 529, the server is unavailable even
/// if it names a rate limit.
fn agrees(status: u16, by_code: ModelErrorKind) -> bool {
    !(matches!(status, 503 | 529) && by_code == ModelErrorKind::RateLimited)
}

/// Returns the error that the server reported in the middle of its stream.
pub(crate) fn in_stream(error: &Value) -> ModelError {
    if error.is_null() {
        return malformed("a chunk holds an error that says nothing");
    }
    let (kind, words) = meaning(error);
    ModelError::new(kind, format!("in the stream: {words}"))
}

/// Returns the error in a complete body with a successful status, or `None` if it holds no error.
pub(crate) fn in_page(status: u16, body: &str) -> Option<ModelError> {
    let body: Value = serde_json::from_str(body).ok()?;
    let (kind, words) = meaning(body.get("error").filter(|error| !error.is_null())?);
    Some(ModelError::new(kind, format!("HTTP {status}: {words}")))
}

/// Returns the kind and the message of an error object that comes without a status.
fn meaning(error: &Value) -> (ModelErrorKind, String) {
    let words = said(error).unwrap_or_else(|| error.to_string());
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let kind = kind_by_code(error)
        .or_else(|| status.map(|status| kind_by_status(status, &words)))
        .or_else(|| kind_by_words(&words))
        .unwrap_or_else(|| match error.get("type").and_then(Value::as_str) {
            Some("invalid_request_error") => ModelErrorKind::Refused,
            Some(_) | None => ModelErrorKind::Provider,
        });
    (kind, words)
}

/// Returns the message of an error object.
fn said(error: &Value) -> Option<String> {
    let in_field = |field: &&str| error.get(*field)?.as_str();
    let text = error.as_str().or_else(|| ["message", "detail", "error"].iter().find_map(in_field));
    text.map(ToOwned::to_owned)
}

/// Returns the kind for the `code` or `type` of an error, if known.
fn kind_by_code(error: &Value) -> Option<ModelErrorKind> {
    ["code", "type"].iter().find_map(|field| {
        Some(match error.get(field)?.as_str()? {
            "insufficient_quota"
            | "billing_hard_limit_reached"
            | "insufficient_balance"
            | "billing_error" => ModelErrorKind::Quota,
            "context_length_exceeded"
            | "exceed_context_size_error"
            | "string_above_max_length"
            | "request_too_large" => ModelErrorKind::ContextLimit,
            "rate_limit_exceeded" | "rate_limit_error" => ModelErrorKind::RateLimited,
            "overloaded_error" | "overloaded" | "unavailable_error" => ModelErrorKind::Unavailable,
            "invalid_api_key" | "authentication_error" | "permission_error" => ModelErrorKind::Auth,
            "server_error" | "api_error" | "internal_error" => ModelErrorKind::Provider,
            "content_policy_violation" | "model_not_found" | "not_found_error" => ModelErrorKind::Refused,
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
        429 => ModelErrorKind::RateLimited,
        503 | 529 => ModelErrorKind::Unavailable,
        // With 409, the service did not get a lock in time.
        409 | 500..=599 => ModelErrorKind::Provider,
        _ => kind_by_words(words).unwrap_or(ModelErrorKind::Refused),
    }
}

/// Returns the kind for the message, for servers that use one code for all refusals.
fn kind_by_words(words: &str) -> Option<ModelErrorKind> {
    let words = words.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    if says(&[
        "context length",
        "context window",
        "context size",
        "context limit",
        "maximum context",
        "too many tokens",
        "prompt is too long",
    ]) {
        return Some(ModelErrorKind::ContextLimit);
    }
    says(&["credit balance is too low"]).then_some(ModelErrorKind::Quota)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn anthropic(kind: &str, message: &str) -> Value {
        json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
    }

    #[test]
    fn a_status_and_what_comes_with_it_give_the_kind() {
        use ModelErrorKind::{
            Auth, ContextLimit, Network, Provider, Quota, RateLimited, Refused, Unavailable,
        };
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
            (409, json!({ "error": { "type": "invalid_request_error" } }), Provider),
            (503, json!({ "error": { "type": "overloaded_error" } }), Unavailable),
            (503, json!({ "error": { "type": "rate_limit_error" } }), Unavailable),
            // This is llama.cpp's form.
            (503, json!({ "error": { "code": 503, "type": "unavailable_error" } }), Unavailable),
            (529, json!({}), Unavailable),
            // This is Anthropic's form.
            (400, anthropic("invalid_request_error", "max_tokens: field required"), Refused),
            (
                400,
                anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000"),
                ContextLimit,
            ),
            (
                400,
                anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit"),
                ContextLimit,
            ),
            (400, anthropic("invalid_request_error", "Your credit balance is too low to access"), Quota),
            (401, anthropic("authentication_error", "invalid x-api-key"), Auth),
            (402, anthropic("billing_error", "pay"), Quota),
            (403, anthropic("permission_error", "not yours"), Auth),
            (404, anthropic("not_found_error", "model: claude-0"), Refused),
            (413, anthropic("request_too_large", "Request exceeds the maximum size"), ContextLimit),
            (429, anthropic("rate_limit_error", "slow down"), RateLimited),
            (500, anthropic("api_error", "oh"), Provider),
            (504, anthropic("timeout_error", "oh"), Provider),
            (409, anthropic("conflict_error", "a lock"), Provider),
            (529, anthropic("overloaded_error", "Overloaded"), Unavailable),
        ] {
            let found = refused(status, "http://a/", &body.to_string());
            assert_eq!(found.kind, kind, "{status} {body}: {found}");
        }
        let said = |status| refused(status, "http://a/v1/messages", "<html>bad</html>").detail;
        assert_eq!(said(502), "HTTP 502: <html>bad</html>");
        assert_eq!(said(404), "HTTP 404 at http://a/v1/messages: <html>bad</html>");
    }

    #[test]
    fn an_error_in_a_success_gives_the_kind() {
        let body = json!({ "error": { "code": "insufficient_balance", "message": "pay\nfirst" } });
        let error = in_page(200, &body.to_string()).unwrap();
        assert_eq!((error.kind, error.detail.as_str()), (ModelErrorKind::Quota, "HTTP 200: pay\nfirst"));
        for none in ["<html>", "{}", "[]", "{\"error\": null, \"choices\": []}"] {
            assert_eq!(in_page(200, none), None, "{none}");
        }
    }

    #[test]
    fn an_error_in_the_stream_gives_the_kind() {
        use ModelErrorKind::{ContextLimit, Malformed, Provider, RateLimited, Refused, Unavailable};
        for (error, kind) in [
            (json!({ "message": "broken" }), Provider),
            (json!({ "message": "slow", "code": 429 }), RateLimited),
            (json!({ "message": "no", "code": 400 }), Refused),
            (json!({ "message": "overloaded", "type": "overloaded_error" }), Unavailable),
            (json!("the context window is full"), ContextLimit),
            (json!({ "message": "bad field", "type": "invalid_request_error" }), Refused),
            (json!({ "message": "prompt is too long", "type": "invalid_request_error" }), ContextLimit),
            (json!({ "message": "oh", "type": "timeout_error" }), Provider),
            (json!(null), Malformed),
        ] {
            assert_eq!(in_stream(&error).kind, kind, "{error}");
        }
    }
}
