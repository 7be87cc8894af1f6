//! Tests of requests that the router refuses, and of the form of its errors.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode};
use holdover_core::ids::ID_BYTES_MAX;
use holdover_core::store::{Answer, Layer, Layered, StateStore, StoreError, StoreErrorKind};
use holdover_elsewhere::{BODY_BYTES_MAX, Callers, router};
use holdover_runtime_local::{Agent, Agents, Runtime, RuntimeOptions};
use holdover_store_memory::MemoryStore;
use serde_json::{Value, json};
use tower_service::Service;

use crate::bench::{Script, digs, tenant};

/// Returns a router that is called without a connection, so that no answer is lost while a long body is being sent.
fn app(store: impl StateStore) -> axum::Router {
    let agent = Arc::new(Agent::builder("digger").model(Script::new(digs)).build().unwrap());
    let options = RuntimeOptions::default()
        .effects_override(Some("memory".into()))
        .operation_timeout(Duration::from_millis(50));
    let runtime = Runtime::new(store, Arc::new(Agents::new().with(Arc::clone(&agent))), options);
    router(runtime, [agent], Callers::anyone(tenant("acme")))
}

async fn ask(app: &axum::Router, request: Request<Body>) -> (Response<()>, Value) {
    let answer = app.clone().call(request).await.unwrap();
    let (parts, body) = answer.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    (Response::from_parts(parts, ()), serde_json::from_slice(&body).unwrap_or_default())
}

fn post(path: &str, body: impl Into<Body>) -> Request<Body> {
    let request = Request::post(path).header("content-type", "application/json; charset=utf-8");
    request.body(body.into()).unwrap()
}

const TASKS: &str = "/agents/digger/tasks";

/// Asserts that the answer is a problem with this status, and returns its detail.
async fn refused(app: &axum::Router, request: Request<Body>, status: u16) -> String {
    let (answer, body) = ask(app, request).await;
    assert_eq!(answer.status(), status, "{body}");
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let title = StatusCode::from_u16(status).unwrap().canonical_reason();
    let detail = body["detail"].as_str().unwrap().to_owned();
    assert_eq!(body, json!({ "type": "about:blank", "title": title, "status": status, "detail": detail }));
    assert!(!detail.is_empty() && !detail.contains('\n'), "{detail}");
    detail
}

#[tokio::test]
async fn a_body_that_is_no_task_is_refused() {
    let app = app(MemoryStore::new());
    for (status, body, why) in [
        (400, String::new(), "no JSON object"),
        (400, "[\"t1\",\"north\"]".into(), "no JSON object"),
        (400, "{\"id\":\"t1\"".into(), "no JSON"),
        (422, "{}".into(), "id"),
        (422, json!({ "id": "t1" }).to_string(), "task"),
        (422, json!({ "id": "", "task": "north" }).to_string(), "id"),
        (422, json!({ "id": "a\nb", "task": "north" }).to_string(), "id"),
        (422, json!({ "id": "x".repeat(ID_BYTES_MAX + 1), "task": "north" }).to_string(), "id"),
        (422, json!({ "id": "t1", "task": "" }).to_string(), "task: it is empty"),
        (422, json!({ "id": "t1", "task": " \n" }).to_string(), "task: it is empty"),
        (422, json!({ "id": "t1", "task": "north", "limits": { "steps": -1 } }).to_string(), "-1"),
        (422, json!({ "id": "t1", "task": "north", "reply_to": "file:///x" }).to_string(), "reply_to"),
        (
            422,
            json!({ "id": "t1", "task": "north", "reply_to": "https://".repeat(2000) }).to_string(),
            "reply_to",
        ),
    ] {
        let detail = refused(&app, post(TASKS, body.clone()), status).await;
        assert!(detail.contains(why), "{body:.60}: {detail}");
    }
    let task = || json!({ "id": "t1", "task": "north", "more": 1 }).to_string();
    let detail = refused(&app, post("/agents/nobody/tasks", task()), 404).await;
    assert_eq!(detail, "no agent of this name is offered");
    let plain = Request::post(TASKS).header("content-type", "text/plain").body(task().into()).unwrap();
    refused(&app, plain, 415).await;
    refused(&app, Request::post(TASKS).body(task().into()).unwrap(), 415).await;
    let mut other_key = post(TASKS, task());
    other_key.headers_mut().insert("idempotency-key", "t2".parse().unwrap());
    refused(&app, other_key, 422).await;
    refused(&app, Request::get(format!("{TASKS}/t1")).body(Body::empty()).unwrap(), 410).await;
    refused(&app, Request::get(format!("{TASKS}/a%00b")).body(Body::empty()).unwrap(), 422).await;
    refused(&app, Request::get(format!("{TASKS}/%ff")).body(Body::empty()).unwrap(), 400).await;
    // The same request without these faults is accepted.
    let (answer, body) = ask(&app, post(TASKS, task())).await;
    assert_eq!((answer.status().as_u16(), body), (200, json!({ "task": "open" })));
    assert_eq!(answer.headers()["cache-control"], "no-store");
}

#[tokio::test]
async fn a_body_is_read_up_to_its_longest_length() {
    let app = app(MemoryStore::new());
    let of = |bytes: usize| {
        let task = json!({ "id": "t1", "task": "north" }).to_string();
        Bytes::from(format!("{task}{}", " ".repeat(bytes - task.len())))
    };
    let (answer, _) = ask(&app, post(TASKS, of(BODY_BYTES_MAX))).await;
    assert_eq!(answer.status(), 200);
    for path in [TASKS, "/outcomes/x.y"] {
        for bytes in [BODY_BYTES_MAX + 1, 2 * BODY_BYTES_MAX] {
            refused(&app, post(path, of(bytes)), 413).await;
            // Sends the body in chunks, without a length.
            let body = of(bytes);
            let pieces =
                (0..bytes).step_by(1 << 16).map(move |at| body.slice(at..(at + (1 << 16)).min(bytes)));
            let pieces = pieces.map(Ok::<_, Infallible>).collect::<Vec<_>>();
            refused(&app, post(path, Body::from_stream(futures::stream::iter(pieces))), 413).await;
        }
    }
}

/// A layer that fails every call of its store with an error of this kind.
struct Failing(StoreErrorKind);

#[async_trait]
impl Layer for Failing {
    async fn around(
        &self,
        _: holdover_core::store::Request,
        _: Arc<dyn StateStore>,
    ) -> Result<Answer, StoreError> {
        Err(StoreError::new(self.0, "test", "the host db.internal"))
    }
}

#[tokio::test]
async fn a_store_that_fails_is_told_without_its_words() {
    let look = || Request::get(format!("{TASKS}/t1")).body(Body::empty()).unwrap();
    let give = || post(TASKS, json!({ "id": "t1", "task": "north" }).to_string());
    for (kind, status) in [(StoreErrorKind::Unavailable, 503), (StoreErrorKind::Backend, 500)] {
        let app = app(Layered::new(MemoryStore::new(), Failing(kind)));
        for request in [look(), give()] {
            let detail = refused(&app, request, status).await;
            assert!(!detail.contains("db.internal"), "{detail}");
        }
        let (answer, _) = ask(&app, look()).await;
        let retry_after = answer.headers().get("retry-after").map(|value| value.to_str().unwrap());
        assert_eq!(retry_after, (status == 503).then_some("1"));
    }
}
