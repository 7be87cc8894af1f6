//! Servers that fail or refuse, and the key.

use std::time::{Duration, SystemTime};

use futures::StreamExt;
use holdover_core::model::ModelErrorKind;
use serde_json::{Value, json};

use super::super::Anthropic;
use super::{block_stop, check_fails, message_start, message_stop, open, says, stops, text, text_block};
use crate::testing::server::{Reply, Then, serve};
use crate::testing::{self, ask, faults, request, settings, user};
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
        page: ModelErrorKind::Malformed,
        half_frame: ModelErrorKind::Incomplete,
    };
    faults::check(open, &wire).await;
}

#[tokio::test]
async fn a_ping_is_no_sign_of_life() {
    let begun = Reply::events(&[message_start(), text_block(0), says(0, "Good ")]);
    let pings = begun.then(Then::Repeat("event: ping\ndata: {\"type\": \"ping\"}\n\n".to_owned()));
    let (base_url, serving) = serve(pings).await;
    let mut settings = settings(&base_url);
    settings.stall_timeout = Duration::from_millis(150);
    let model = open(settings);
    let asked = ask(&*model, request(vec![user("Hello")]));
    let events = tokio::time::timeout(faults::NOTICED, asked).await.expect("the silence is noticed");
    testing::one_error(events, &[text("Good ")], ModelErrorKind::Stalled);
    serving.await.unwrap();
}

#[tokio::test]
async fn a_stream_is_bounded_whatever_is_in_it() {
    let comment = format!(":{}\n", "x".repeat(4 * 1024 * 1024));
    let reply = Reply::stream([""]).then(Then::Repeat(comment));
    let error = check_fails(reply, &[], ModelErrorKind::Malformed).await;
    assert_eq!(error.detail, "a stream of more than 134217728 bytes");
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
    let error = check_fails(Reply::error(529, &overloaded), &[], ModelErrorKind::RateLimited).await;
    assert_eq!(error.retry_after, None);
    // The head tells all that is needed when the rest does not come.
    let stuck = Reply::stream(["slow"]).status(429).header("retry-after", "7").then(Then::Cut);
    let error = check_fails(stuck, &[], ModelErrorKind::RateLimited).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let there = format!("http://{}/v1/messages", elsewhere.local_addr().unwrap());
    let reply = Reply::page("text/plain", "moved").status(307).header("location", &there);
    let (base_url, _serving) = serve(reply).await;
    let mut settings = settings(&base_url);
    settings.stall_timeout = Duration::from_secs(5);
    let events = ask(&*open(settings), request(vec![user("Hello")])).await;
    testing::one_error(events, &[], ModelErrorKind::Refused);
    let asked = tokio::time::timeout(Duration::ZERO, elsewhere.accept()).await;
    assert!(asked.is_err(), "the key would have gone there");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error_without_its_url() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1?token=secret", listener.local_addr().unwrap());
    drop(listener);
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
    assert_eq!(stream.next().await, Some(Ok(text("Good "))));
    drop(stream);
    // The server is through only once the connection is closed.
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
        // A name is sent as it is, whatever its last syllable.
        assert_eq!(seen.body["model"], "claude-max");
        assert_eq!(seen.body.get("thinking"), None);
    }
    let mut settings = settings("http://127.0.0.1:1/v1");
    settings.api_key = Some(ApiKey::new("secret\nsecret"));
    let error = Anthropic::new(settings).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Configuration);
    assert_eq!(error.detail, "the key cannot be sent in a header");
}
