//! Tests of servers that fail or refuse, of their addresses, and of the key.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::StreamExt;
use holdover_core::model::{Model, ModelErrorKind};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::super::Anthropic;
use super::{
    block_stop, call_block, check_fails, message_start, message_stop, open, says, stops, text, text_block,
    writes,
};
use crate::testing::server::{Reply, Seen, Then, serve};
use crate::testing::{self, ask, faults, refusals, request, reuse, settings, user};
use crate::wire::ApiKey;

#[tokio::test]
async fn a_faulty_server_is_known_by_its_fault() {
    let stream = |events: &[Value]| -> String {
        events
            .iter()
            .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
            .collect()
    };
    let wire = faults::Wire {
        begun: stream(&[message_start(), text_block(0), says(0, "Gü")]),
        rest: stream(&[block_stop(0), stops("end_turn"), message_stop()]),
        frame: stream(&[says(0, "more")]),
        call: stream(&[block_stop(0), call_block(1, "t")]),
        piece: stream(&[writes(1, "x")]),
    };
    faults::check(open, &wire).await;
}

#[tokio::test]
async fn b37_what_may_pass_is_tried_again_and_what_will_not_is_not() {
    let begun = [message_start(), text_block(0), says(0, "Gü")];
    let begun: String = begun
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    refusals::check(open, &begun).await;
}

#[tokio::test]
async fn a_request_over_a_connection_that_was_just_closed_is_sent_again_at_once() {
    let events =
        [message_start(), text_block(0), says(0, "Gü"), block_stop(0), stops("end_turn"), message_stop()];
    let whole: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    reuse::check(open, &whole).await;
}

#[tokio::test]
async fn a_base_url_names_the_version_or_leaves_it_out() {
    for version in ["", "/", "/v1", "/v1/"] {
        let whole = [message_start(), text_block(0), block_stop(0), stops("end_turn"), message_stop()];
        let (base_url, serving) = serve(Reply::events(&whole)).await;
        let base_url = base_url.strip_suffix("/v1").unwrap();
        let model = open(settings(&format!("{base_url}{version}")));
        assert_eq!(model.circuit(), format!("anthropic:test-model at {base_url}/v1/"), "one server");
        assert!(ask(&*model, request(vec![user("Hello")])).await.iter().all(Result::is_ok));
        let head = serving.await.unwrap().head;
        assert!(head.starts_with("post /v1/messages http/1.1"), "{version:?}: {head}");
    }
}

#[tokio::test]
async fn what_is_not_found_is_told_with_its_address() {
    let body = json!({ "type": "error", "error": { "type": "not_found_error", "message": "model: none" } });
    let error = check_fails(Reply::error(404, &body), &[], ModelErrorKind::Refused).await;
    assert!(error.detail.starts_with("HTTP 404 at http://127.0.0.1:"), "{error}");
    assert!(error.detail.ends_with("/v1/messages: model: none"), "{error}");
}

/// Starts a server that sends these events, and then only pings.
async fn pings_after(begun: &[Value], stall_timeout: Duration) -> (Arc<dyn Model>, JoinHandle<Seen>) {
    let pings = Then::Repeat("event: ping\ndata: {\"type\": \"ping\"}\n\n".to_owned());
    let (base_url, serving) = serve(Reply::events(begun).then(pings)).await;
    let mut settings = settings(&base_url);
    settings.stall_timeout = stall_timeout;
    (open(settings), serving)
}

#[tokio::test]
async fn a_ping_is_no_sign_of_life() {
    for more in [vec![], vec![block_stop(0), call_block(1, "t"), writes(1, "{}"), block_stop(1)]] {
        let begun = [vec![message_start(), text_block(0), says(0, "Good ")], more].concat();
        let (model, serving) = pings_after(&begun, Duration::from_secs(2)).await;
        let asked = ask(&*model, request(vec![user("Hello")]));
        let events = tokio::time::timeout(faults::NOTICED, asked).await.expect("the silence is noticed");
        assert_eq!(events[0], Ok(text("Good ")));
        assert_eq!(events.last().unwrap().as_ref().unwrap_err().kind, ModelErrorKind::Stalled);
        serving.await.unwrap();
    }
}

#[tokio::test]
async fn a_ping_is_one_while_the_model_writes_a_call_that_is_held_back() {
    let begun = [message_start(), text_block(0), says(0, "Good "), block_stop(0), call_block(1, "t")];
    let stall = Duration::from_secs(2);
    let (model, serving) = pings_after(&begun, stall).await;
    let mut stream = model.stream(request(vec![user("Hello")])).await.unwrap();
    let began = Instant::now();
    while began.elapsed() < stall * 2 {
        stream.next().await.expect("it goes on").expect("it is heard");
    }
    drop(stream);
    serving.await.unwrap();
}

#[tokio::test]
async fn a_refusal_says_why_and_how_long_to_wait() {
    let body = json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow\ndown" } });
    let refused = || Reply::error(429, &body);
    let error = check_fails(refused().header("retry-after", "7"), &[], ModelErrorKind::RateLimited).await;
    assert_eq!(error.detail, "HTTP 429: slow down");
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(600));
    let error = check_fails(refused().header("retry-after", &date), &[], ModelErrorKind::RateLimited).await;
    let wait = error.retry_after.unwrap().as_secs();
    assert!((500..=600).contains(&wait), "{wait}");
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let error = check_fails(Reply::error(529, &overloaded), &[], ModelErrorKind::Unavailable).await;
    assert_eq!(error.retry_after, None);
    // The head is enough to classify the error, even if the rest does not come.
    let stuck = Reply::stream(["slow"]).status(429).header("retry-after", "7").then(Then::Cut);
    let error = check_fails(stuck, &[], ModelErrorKind::RateLimited).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error_without_its_url() {
    let base_url = format!("http://127.0.0.1:{}/v1?token=secret", holdover_launcher::free_port().unwrap());
    let events = ask(&*open(settings(&base_url)), request(vec![user("Hello")])).await;
    let error = testing::one_error(events, &[], ModelErrorKind::Network);
    assert!(error.detail.contains("refused") && !error.detail.contains("secret"), "{error}");
}

#[tokio::test]
async fn dropping_the_stream_stops_the_call() {
    let begun = Reply::events(&[message_start(), text_block(0), says(0, "Good ")]).then(Then::Hang);
    let (base_url, serving) = serve(begun).await;
    let model = open(settings(&base_url));
    let mut stream = model.stream(request(vec![user("Hello")])).await.unwrap();
    while stream.next().await.unwrap() != Ok(text("Good ")) {}
    drop(stream);
    // The server ends only after the connection is closed.
    serving.await.unwrap();
}

#[tokio::test]
async fn the_key_is_sent_and_shown_nowhere() {
    let said = "invalid x-api-key: sk-ant-secret-1";
    let body = json!({ "type": "error", "error": { "type": "authentication_error", "message": said } });
    let in_stream = [message_start(), body.clone()];
    for reply in [Reply::error(401, &body), Reply::events(&in_stream)] {
        let (base_url, serving) = serve(reply).await;
        let mut settings = settings(&base_url);
        settings.model = "claude-max".to_owned();
        settings.api_key = Some(ApiKey::new("sk-ant-secret-1"));
        assert!(!format!("{settings:?}").contains("secret"));
        let model = Anthropic::new(settings).unwrap();
        assert!(!format!("{model:?}").contains("secret"));
        let events = ask(&model, request(vec![user("Hello")])).await;
        let error = testing::one_error(events, &[], ModelErrorKind::Auth);
        assert!(error.detail.ends_with("invalid x-api-key: [key]"), "{error}");
        let seen = serving.await.unwrap();
        assert!(seen.head.contains("\nx-api-key: sk-ant-secret-1"), "{}", seen.head);
        // The model's name is sent unchanged, even if it ends in `-max`.
        assert_eq!(seen.body["model"], "claude-max");
        assert_eq!(seen.body.get("thinking"), None);
    }
    let mut settings = settings("http://127.0.0.1:1/v1");
    settings.api_key = Some(ApiKey::new("secret\nsecret"));
    let error = Anthropic::new(settings).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Configuration);
    assert_eq!(error.detail, "the key cannot be sent in a header");
}
