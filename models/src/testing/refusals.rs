//! Tests of which failures of a server may be retried, for the adapters of all APIs (requirement B37).

use holdover_core::model::ModelErrorKind::{
    self, Auth, ContextLimit, Incomplete, Malformed, Network, Provider, Quota, RateLimited, Refused,
    Unavailable,
};
use serde_json::{Value, json};

use super::server::{Reply, Then};
use super::{Open, exchange};

const LATER: bool = true;
const NEVER: bool = false;

/// Refusals by HTTP status, type and message, with the expected kind. `LATER` means that the request may be retried.
const REFUSALS: &[(u16, &str, &str, ModelErrorKind, bool)] = &[
    (529, "overloaded_error", "Overloaded", Unavailable, LATER),
    (503, "overloaded", "try later", Unavailable, LATER),
    (503, "rate_limit_error", "try later", Unavailable, LATER),
    (503, "unavailable_error", "Loading model", Unavailable, LATER),
    (429, "rate_limit_error", "slow down", RateLimited, LATER),
    (429, "rate_limit_exceeded", "slow down", RateLimited, LATER),
    (429, "", "slow down", RateLimited, LATER),
    (500, "api_error", "oh", Provider, LATER),
    (500, "server_error", "oh", Provider, LATER),
    (502, "", "bad gateway", Provider, LATER),
    (503, "", "unavailable", Unavailable, LATER),
    (504, "timeout_error", "gateway timeout", Provider, LATER),
    (520, "", "of a proxy's own", Provider, LATER),
    (409, "", "conflict", Provider, LATER),
    (409, "invalid_request_error", "conflict", Provider, LATER),
    (409, "conflict_error", "conflict", Provider, LATER),
    (408, "", "request timeout", Network, LATER),
    (401, "authentication_error", "invalid x-api-key", Auth, NEVER),
    (401, "invalid_api_key", "no", Auth, NEVER),
    (403, "permission_error", "not yours", Auth, NEVER),
    (402, "billing_error", "pay", Quota, NEVER),
    (429, "insufficient_quota", "You exceeded your current quota", Quota, NEVER),
    (400, "invalid_request_error", "Your credit balance is too low", Quota, NEVER),
    (400, "context_length_exceeded", "too long", ContextLimit, NEVER),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextLimit, NEVER),
    (413, "request_too_large", "Request exceeds the maximum size", ContextLimit, NEVER),
    (
        400,
        "invalid_request_error",
        "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
        Refused,
        NEVER,
    ),
    (400, "image_too_large", "Image dimensions exceed the limit of 8000 pixels", Refused, NEVER),
    (404, "not_found_error", "model: none", Refused, NEVER),
    (400, "invalid_request_error", "max_tokens: field required", Refused, NEVER),
];

/// Tests all failures with the adapter that `open` makes. `begun` is a stream up to the middle of an answer.
pub(crate) async fn check(open: Open, begun: &str) {
    for (status, of_type, words, kind, again) in REFUSALS {
        let error = json!({ "message": words, "type": of_type, "code": of_type });
        let body: Value = json!({ "type": "error", "error": error });
        let found = fails(open, Reply::error(*status, &body)).await;
        assert_eq!((found, found.is_retryable()), (*kind, *again), "{status} {of_type}: {words}");
    }
    let cut = || Reply::stream([begun]);
    for (reply, kind) in [
        (cut(), Incomplete),
        (cut().then(Then::Cut), Incomplete),
        (cut().then(Then::Reset), Incomplete),
        (Reply::stream([""]).then(Then::Cut), Network),
        (Reply::stream([begun, "data: {\"type\": \n\n"]), Malformed),
        (Reply::page("text/html", "<html>"), Malformed),
    ] {
        let found = fails(open, reply).await;
        assert_eq!((found, found.is_retryable()), (kind, LATER));
    }
    // A stall takes long to notice. The tests in `faults` cover it.
    assert!(ModelErrorKind::Stalled.is_retryable());
}

async fn fails(open: Open, reply: Reply) -> ModelErrorKind {
    let (mut events, _) = exchange(open, reply).await;
    events.pop().expect("something comes").expect_err("it fails").kind
}
