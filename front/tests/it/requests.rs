//! Requests that are not valid. Each gets a problem of one line, and changes nothing.

use reqwest::{Method, StatusCode};
use serde_json::json;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::bench::{ANN, PATIENCE, READER, Server, callers, told};

#[tokio::test]
async fn a_request_that_is_not_valid_gets_a_problem() {
    let server = Server::start().await;
    let session = server.session("hello").await;
    server.parked(&session).await;
    let long = "x".repeat(300);
    let cases = [
        (Method::POST, "/v1/sessions", Some("{"), StatusCode::BAD_REQUEST, "invalid"),
        (Method::POST, "/v1/sessions", Some("{}"), StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        (
            Method::POST,
            "/v1/sessions",
            Some(r#"{"agent":"x","message":"m"}"#),
            StatusCode::NOT_FOUND,
            "agent_unknown",
        ),
        (
            Method::POST,
            "/v1/sessions",
            Some(r#"{"agent":"clerk","message":"m","tenant":"other"}"#),
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
        ),
        (
            Method::POST,
            "/v1/sessions",
            Some(r#"{"agent":"clerk","message":"m","session":"a b"}"#),
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
        ),
        (
            Method::POST,
            "/v1/sessions",
            Some(r#"{"agent":"clerk","message":"m","labels":{"agent":"boss"}}"#),
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
        ),
        (Method::GET, "{session}/messages?limit=0", None, StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        (Method::GET, "/v1/sessions?status=asleep", None, StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        (Method::GET, "/v1/sessions?limit=0", None, StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        (Method::GET, "/v1/sessions?colour=red", None, StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        (Method::GET, "/v1/sessions?after=x", None, StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        (Method::GET, "/v1/sessions/%2e%2e%2fx", None, StatusCode::NOT_FOUND, "not_found"),
        (Method::GET, "/v1/sessions/%ff", None, StatusCode::BAD_REQUEST, "invalid"),
        (Method::GET, "/v1/nothing", None, StatusCode::NOT_FOUND, "no_path"),
        (Method::PATCH, "/v1/sessions", None, StatusCode::METHOD_NOT_ALLOWED, "no_method"),
        (Method::POST, "{session}/interrupt", Some("null"), StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        (Method::POST, "{session}/fork", Some(r#"{"at":99}"#), StatusCode::NOT_FOUND, "no_checkpoint"),
        (Method::POST, "{session}/retry", None, StatusCode::CONFLICT, "not_resumable"),
        (Method::POST, "{session}/calls/c9/stop", None, StatusCode::NOT_FOUND, "not_open"),
        (
            Method::POST,
            "{session}/signals",
            Some(r#"{"name":"a b"}"#),
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
        ),
        (
            Method::POST,
            "{session}/messages",
            Some(r#"{"text":"x","instead_of":1,"policy":"steer"}"#),
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
        ),
        (Method::POST, "{session}/handoff", Some(r#"{"goal":""}"#), StatusCode::UNPROCESSABLE_ENTITY, "goal"),
    ];
    let before = server.get(&session).await;
    for (method, path, body, status, code) in cases {
        let request = server.ask(method, &path.replace("{session}", &session));
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let media = answer.headers()["content-type"].clone();
        let (found, problem) = told(answer).await;
        assert_eq!(media, "application/problem+json", "{path}: {problem}");
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{path}: {problem}");
        assert_eq!(problem["status"], status.as_u16(), "{path}");
        assert!(!problem["detail"].as_str().unwrap().contains('\n'), "{problem}");
    }
    let request = server.ask(Method::POST, "/v1/sessions").header("idempotency-key", &long);
    let request = request.json(&json!({ "agent": "clerk", "message": "m" }));
    assert_eq!(told(request.send().await.unwrap()).await.1["code"], "invalid");
    assert_eq!(server.get(&session).await, before, "nothing was changed");
    assert_eq!(server.get("/v1/sessions").await["items"].as_array().unwrap().len(), 1);
}

/// A client that sends paths as they are. Others resolve `..` before they send.
#[tokio::test]
async fn tricks_in_paths_lead_nowhere() {
    let server = Server::start().await;
    let session = server.session("hello").await;
    let session = session.rsplit('/').next().unwrap();
    let paths = [
        "/v1/../../etc/passwd".to_owned(),
        "/v1/%2e%2e/%2e%2e/etc/passwd".to_owned(),
        "//v1/sessions".to_owned(),
        "/v1/sessions//".to_owned(),
        "/v1/./sessions".to_owned(),
        format!("/v1/sessions/{session}/"),
        format!("/v1/sessions/{session}%00"),
        format!("/v1/sessions/{session}/../../sessions"),
        format!("/v1/sessions/x%2f..%2f{session}"),
    ];
    for path in paths {
        let answer = server.raw(&format!("GET /front{path} HTTP/1.1")).await;
        assert!(
            answer.starts_with("HTTP/1.1 404 ") || answer.starts_with("HTTP/1.1 400 "),
            "{path}: {answer}"
        );
        assert!(!answer.contains("created_at"), "{path}: {answer}");
    }
    let found = server.raw(&format!("GET /front/v1/sessions/{session} HTTP/1.1")).await;
    assert!(found.starts_with("HTTP/1.1 200 ") && found.contains(session), "{found}");
}

#[tokio::test]
async fn a_body_is_bounded() {
    let server = Server::with(callers(), |options| options.body_bytes_max(1_000)).await;
    let body = |bytes: usize| json!({ "agent": "clerk", "message": "m".repeat(bytes) });
    assert_eq!(server.post("/v1/sessions", &body(900)).await.0, StatusCode::CREATED);
    let (status, problem) = server.post("/v1/sessions", &body(1_000)).await;
    assert_eq!((status, &problem["code"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!("too_large")));
    let server = Server::start().await;
    let signal = json!({ "name": "x", "body": "m".repeat(300_000) });
    let (status, problem) = server.post("/v1/sessions/s/signals", &signal).await;
    assert_eq!((status, &problem["code"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!("too_large")));
    let text = server.ask(Method::POST, "/v1/sessions").body(body(1).to_string()).send().await.unwrap();
    assert_eq!(told(text).await.1["code"], "not_json");
}

/// A caller whose requests are not answered, because their bodies do not come, harms nobody but itself.
#[tokio::test]
async fn a_caller_has_a_bounded_number_of_requests_at_once() {
    let server = Server::with(callers(), |options| options.requests_max(2)).await;
    let address = server.base.strip_prefix("http://").unwrap().strip_suffix("/front").unwrap();
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut connection = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /front/v1/sessions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ANN}\r\n\
             content-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        slow.push(connection);
    }
    let status = async || server.ask(Method::GET, "/v1/sessions").send().await.unwrap().status();
    let until = async |wanted: StatusCode| {
        while status().await != wanted {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, until(StatusCode::TOO_MANY_REQUESTS)).await.unwrap();
    let other = server.anonymous(Method::GET, "/v1/sessions").bearer_auth(READER);
    assert_eq!(
        other.send().await.unwrap().status(),
        StatusCode::OK,
        "another caller has requests of its own"
    );
    drop(slow);
    timeout(PATIENCE, until(StatusCode::OK)).await.unwrap();
}
