//! Tests of requests that a server answers, against servers on loopback.
//!
//! Requirements: C36.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::any;
use holdover_core::hook::{Carrier, OUTSIDE_ANSWER_BYTES_MAX};
use holdover_gates::HttpCarrier;

/// Starts a server. Returns its address.
async fn start(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Starts a server that repeats the request and its token, with this status and header. Returns its address.
async fn server(status: u16, location: Option<&'static str>) -> String {
    let status = StatusCode::from_u16(status).unwrap();
    let answers = move |given: HeaderMap, body: String| {
        let token = given.get("authorization").map_or("none", |value| value.to_str().unwrap());
        let mut headers = HeaderMap::new();
        if let Some(place) = location {
            headers.insert("location", place.parse().unwrap());
        }
        std::future::ready((status, headers, format!("{body}, {token}")))
    };
    start(Router::new().fallback(any(answers)).layer(axum::extract::DefaultBodyLimit::disable())).await
}

async fn carry(carrier: &HttpCarrier) -> Result<String, String> {
    let answer = carrier.carry("{}".to_owned(), Duration::from_secs(60)).await;
    answer.map(|answer| String::from_utf8(answer).unwrap()).map_err(|error| error.0)
}

#[tokio::test]
async fn c36_a_server_answers_with_its_body_and_gets_the_token() {
    let carrier = HttpCarrier::new(&server(200, None).await).unwrap();
    assert_eq!(carry(&carrier).await.unwrap(), "{}, none");
    let carrier = carrier.bearer("s3cret").unwrap();
    assert_eq!(carry(&carrier).await.unwrap(), "{}, Bearer s3cret");
    assert!(!format!("{carrier:?}").contains("s3cret"));
    let silent = HttpCarrier::new(&server(204, None).await).unwrap();
    assert_eq!(carry(&silent).await.unwrap(), "");
}

#[tokio::test]
async fn c36_only_status_204_comes_without_an_answer() {
    let nothing = "it answered with status 200 without an answer; expected 204";
    for (status, body, read) in [
        (StatusCode::OK, "", Err(nothing)),
        (StatusCode::OK, " \r\n\t", Err(nothing)),
        (StatusCode::OK, " {}\n", Ok(" {}\n")),
        (StatusCode::NO_CONTENT, "", Ok("")),
    ] {
        let answers = move || std::future::ready((status, body));
        let carrier = HttpCarrier::new(&start(Router::new().fallback(any(answers))).await).unwrap();
        let carried = carry(&carrier).await;
        assert_eq!(carried.as_deref().map_err(String::as_str), read, "{status} {body:?}");
    }
}

#[tokio::test]
async fn c36_other_statuses_redirects_and_silence_are_failures() {
    let elsewhere: &'static str = Box::leak(server(200, None).await.into_boxed_str());
    for (status, location) in [(500, None), (404, None), (202, None), (307, Some(elsewhere))] {
        let carrier = HttpCarrier::new(&server(status, location).await).unwrap();
        assert_eq!(carry(&carrier).await.unwrap_err(), format!("it answered with status {status}"));
    }
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let carrier = HttpCarrier::new(&format!("http://{}/", silent.local_addr().unwrap())).unwrap();
    let error = carrier.carry(String::new(), Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.0, "it was silent");
}

#[tokio::test]
async fn c36_an_answer_over_http_that_is_too_long_is_a_failure() {
    let carrier = HttpCarrier::new(&server(200, None).await).unwrap();
    for (more, is_short) in [(0, true), (1, false)] {
        // The server adds six bytes.
        let request = "x".repeat(OUTSIDE_ANSWER_BYTES_MAX - 6 + more);
        let answer = carrier.carry(request, Duration::from_secs(60)).await;
        assert_eq!(answer.is_ok(), is_short);
        if let Err(error) = answer {
            assert_eq!(error.0, format!("its answer is longer than {OUTSIDE_ANSWER_BYTES_MAX} bytes"));
        }
    }
}

#[test]
fn a_token_is_sent_to_another_machine_only_with_encryption() {
    for (url, takes) in [
        ("https://hooks.example/a", true),
        ("http://localhost:3000/a", true),
        ("http://127.0.0.1/a?b=c", true),
        ("http://[::1]:80/", true),
        ("http://hooks.example/a", false),
        ("http://localhost.example/", false),
        ("http://10.0.0.1/", false),
    ] {
        let carrier = HttpCarrier::new(url).unwrap();
        assert_eq!(carrier.takes_token().is_ok(), takes, "{url}");
        assert_eq!(carrier.bearer("token").is_ok(), takes, "{url}");
    }
    for url in ["nowhere", "ftp://host/", "https://user@host/", "https://user:word@host/"] {
        let error = HttpCarrier::new(url).unwrap_err().to_string();
        assert!(error.starts_with("url: ") && !error.contains("word@"), "{error}");
    }
    assert!(HttpCarrier::new("https://host/").unwrap().bearer("a\nb").is_err());
}
