//! Tests of the HTTP gate against servers on loopback.
//!
//! Requirements: C20, U05.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::any;
use holdover_core::gate::{
    ApprovalTerms, Approvers, AtExpiry, Escalation, GateError, GateQuestion, PolicyGate, Verdict,
};
use holdover_core::ids::{CallId, SessionId, SessionKey, TenantId, ToolName};
use holdover_core::payload::Digest;
use holdover_core::tool::{Bound, EffectClass};
use holdover_gates::{ANSWER_BYTES_MAX, HttpGate};
use serde_json::{Value, json};

const ARGUMENTS: &str = r#"{"order": 7, "cents": 12.50}"#;

/// The requests that a server got: each body with its headers.
type Asked = Arc<Mutex<Vec<(String, HeaderMap)>>>;

/// Starts a server that gives the same answer to every request. Returns its address and the requests that it gets.
async fn server(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> (String, Asked) {
    let asked = Asked::default();
    let (status, seen, body) = (StatusCode::from_u16(status).unwrap(), Arc::clone(&asked), body.to_owned());
    let headers: HeaderMap =
        headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
    let answers = move |given: HeaderMap, text: String| {
        seen.lock().unwrap().push((text, given));
        std::future::ready((status, headers.clone(), body.clone()))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/gate", listener.local_addr().unwrap());
    let router = Router::new().fallback(any(answers));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, asked)
}

fn question() -> GateQuestion {
    GateQuestion {
        session: SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new("desk").unwrap()),
        call: CallId::new("c1-0").unwrap(),
        tool: ToolName::new("refund").unwrap(),
        arguments: ARGUMENTS.to_owned(),
        digest: Digest::of(ARGUMENTS.as_bytes()),
        effect: EffectClass::AtMostOnce,
        dangerous: true,
        approved: false,
        approved_on: None,
    }
}

async fn verdict(body: &Value) -> Result<Verdict, GateError> {
    verdict_of(&body.to_string()).await
}

async fn verdict_of(body: &str) -> Result<Verdict, GateError> {
    let (address, _) = server(200, &[], body).await;
    HttpGate::new(&address).unwrap().consult(&question()).await
}

/// Requirements: C20.
#[tokio::test]
async fn its_word_counts() {
    assert_eq!(verdict(&json!({ "verdict": "allow", "more": 1 })).await, Ok(Verdict::Allow));
    let denied = Verdict::Deny { reason: "too much".into(), rule: Some("r1".into()) };
    assert_eq!(verdict(&json!({ "verdict": "deny", "reason": "too much", "rule": "r1" })).await, Ok(denied));
    assert_eq!(verdict(&json!({ "verdict": "deny" })).await, Ok(Verdict::deny("the gate forbids it")));
    assert_eq!(
        verdict(&json!({ "verdict": "needs_approval", "prompt": "Sure?" })).await,
        Ok(Verdict::ask("Sure?"))
    );
}

#[tokio::test]
async fn u05_it_says_whose_approval_a_call_takes() {
    let terms = json!({
        "approvers": { "names": ["ann", "bob", "eve"], "needed": 2 },
        "escalate": [{ "after_ms": 600_000, "to": ["joe"] }],
        "expires_after_ms": "none",
        "at_expiry": { "result": "nobody was there" },
    });
    let said = verdict(&json!({ "verdict": "needs_approval", "prompt": "Sure?", "terms": terms })).await;
    let terms = ApprovalTerms::default()
        .approvers(Approvers::of(["ann", "bob", "eve"], 2))
        .escalate(vec![Escalation::new(600_000, ["joe"])])
        .expires_after_ms(Some(Bound::Never))
        .at_expiry(AtExpiry::Result("nobody was there".into()));
    assert_eq!(said, Ok(Verdict::NeedsApproval { prompt: Some("Sure?".into()), terms }));
    for unclear in [json!({ "approvers": { "needed": "two" } }), json!({ "quorum": 2 }), json!([])] {
        let said = verdict(&json!({ "verdict": "needs_approval", "terms": unclear })).await;
        assert!(said.is_err(), "{unclear}: {said:?}");
    }
}

#[tokio::test]
async fn it_is_told_all_that_the_call_is() {
    let (address, asked) = server(200, &[], r#"{"verdict": "allow"}"#).await;
    let gate = HttpGate::new(&address).unwrap().bearer("s3cret").unwrap();
    assert!(!format!("{gate:?}").contains("s3cret"));
    gate.consult(&question()).await.unwrap();
    let (body, headers) = asked.lock().unwrap()[0].clone();
    assert!(body.contains(ARGUMENTS), "byte for byte: {body}");
    let mut told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(told["arguments"].take()["order"], 7);
    let expected = json!({
        "format": 1, "tenant": "acme", "session": "desk", "call": "c1-0", "tool": "refund", "arguments": null,
        "digest": Digest::of(ARGUMENTS.as_bytes()).to_string(), "effect": "at_most_once", "dangerous": true,
        "approved": false,
    });
    assert_eq!(told, expected);
    assert_eq!(headers["authorization"], "Bearer s3cret");
}

#[tokio::test]
async fn c22_what_is_no_clear_word_is_an_error() {
    let unclear = [
        json!({ "verdict": "perhaps" }),
        json!({ "allow": true }),
        json!(["allow"]),
        json!({ "verdict": "allow", "reason": "x".repeat(ANSWER_BYTES_MAX) }),
    ];
    for body in unclear {
        assert!(verdict(&body).await.is_err(), "{body:.80}");
    }
    for text in ["", "allow", r#"{"verdict": "deny", "verdict": "allow"}"#, r#"{"verdict": "allow"} and"#] {
        assert!(verdict_of(text).await.is_err(), "{text}");
    }
    let allows = r#"{"verdict": "allow"}"#;
    for (status, headers) in [(500, &[][..]), (403, &[]), (201, &[]), (307, &[("location", "/elsewhere")])] {
        let (address, asked) = server(status, headers, allows).await;
        let error = HttpGate::new(&address).unwrap().consult(&question()).await.unwrap_err();
        assert!(error.0.contains(&status.to_string()), "{error}");
        assert_eq!(asked.lock().unwrap().len(), 1, "it is asked once");
    }
}

#[tokio::test]
async fn c22_whoever_cannot_be_reached_or_is_silent_allows_nothing() {
    let address = format!("http://secret:word@127.0.0.1:{}/", holdover_launcher::free_port().unwrap());
    let error = HttpGate::new(&address).unwrap().consult(&question()).await.unwrap_err();
    assert_eq!(error.to_string(), "gate unavailable: it cannot be reached");
    // This server accepts the connection and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", silent.local_addr().unwrap());
    let gate = HttpGate::new(&address).unwrap().within(Duration::from_millis(50));
    assert_eq!(gate.consult(&question()).await.unwrap_err().0, "it was silent");
}

#[test]
fn what_is_no_address_is_refused() {
    for (url, why) in
        [("nowhere", "gate: url: "), ("ftp://host/", "gate: url: ftp: write http:// or https://")]
    {
        let error = HttpGate::new(url).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
    assert!(HttpGate::new("https://host/").unwrap().bearer("a\nb").is_err());
    for (url, takes) in [
        ("https://host/", true),
        ("http://127.0.0.1:9/", true),
        ("http://localhost/", true),
        ("http://host/", false),
    ] {
        assert_eq!(HttpGate::new(url).unwrap().bearer("token").is_ok(), takes, "{url}");
    }
}
