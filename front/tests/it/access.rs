//! Who may do what, on every route that the description names.

use holdover_front::{Access, Caller, May, openapi};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::bench::{ANN, READER, STRANGER, Server, callers_and, tenant, told};

/// An operation of the description.
struct Operation {
    method: Method,
    path: String,
    /// The permission that it needs.
    needs: Option<String>,
    has_body: bool,
}

/// Returns every operation, with the values of a session that exists in its path.
fn operations(session: &str, pending: &str) -> Vec<Operation> {
    let document = openapi();
    let mut all = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let needs = operation["security"][0]["bearer"][0].as_str().map(str::to_owned);
            let path = path.replace("{session}", session).replace("{pending}", pending);
            all.push(Operation {
                method: Method::from_bytes(method.to_uppercase().as_bytes()).unwrap(),
                path: path.replace("{item}", "1").replace("{call}", "c1"),
                needs,
                has_body: operation.get("requestBody").is_some(),
            });
        }
    }
    assert!(all.len() > 30, "{}", all.len());
    all
}

async fn sent(server: &Server, operation: &Operation, token: Option<&str>) -> (StatusCode, Value) {
    let request = server.anonymous(operation.method.clone(), &operation.path);
    let request = token.into_iter().fold(request, |request, token| request.bearer_auth(token));
    let request = if operation.has_body { request.json(&json!({})) } else { request };
    told(request.send().await.unwrap()).await
}

#[tokio::test]
async fn every_route_but_two_needs_a_token_that_is_known() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("refund").await;
    let session = session.rsplit('/').next().unwrap();
    let mut open = Vec::new();
    for operation in operations(session, pending["id"].as_str().unwrap()) {
        if operation.needs.is_none() {
            open.push(operation.path);
            continue;
        }
        for token in [None, Some("unknown"), Some(""), Some("token-of-ann2"), Some("Token-of-ann")] {
            let (status, problem) = sent(&server, &operation, token).await;
            let what = format!("{} {} {token:?}: {problem}", operation.method, operation.path);
            assert_eq!(
                (status, &problem["code"]),
                (StatusCode::UNAUTHORIZED, &json!("unauthorized")),
                "{what}"
            );
        }
        let (status, problem) = sent(&server, &operation, Some("out-of-order")).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{}", operation.path);
        assert!(!problem.to_string().contains("disk"), "{problem}");
    }
    assert_eq!(open, ["/v1/health", "/v1/ready"]);
    for path in open {
        assert_eq!(server.anonymous(Method::GET, &path).send().await.unwrap().status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn every_route_needs_its_permission() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("refund").await;
    let (path, session) = (session.clone(), session.rsplit('/').next().unwrap());
    for operation in operations(session, pending["id"].as_str().unwrap()) {
        let Some(needs) = &operation.needs else { continue };
        assert!(May::ALL.iter().any(|may| may.as_str() == needs), "{needs}");
        assert_eq!(
            operation.method == Method::GET,
            needs == "read",
            "{} {}",
            operation.method,
            operation.path
        );
        if needs != "read" {
            let (status, problem) = sent(&server, &operation, Some(READER)).await;
            let what = format!("{} {}: {problem}", operation.method, operation.path);
            assert_eq!((status, &problem["code"]), (StatusCode::FORBIDDEN, &json!("forbidden")), "{what}");
        }
    }
    assert_eq!(server.get(&path).await["pending"]["items"][0], pending, "nothing was changed");
}

/// The answer to a caller of another tenant is that for a session that does not exist, to the byte.
#[tokio::test]
async fn nobody_sees_or_changes_sessions_of_another_tenant() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("refund").await;
    let (path, session) = (session.clone(), session.rsplit('/').next().unwrap());
    let bodies = |operation: &Operation| {
        let last = operation.path.rsplit('/').next().unwrap_or_default();
        let digest = &pending["digest"];
        match last {
            "messages" | "corrections" => json!({ "text": "hello" }),
            "approve" | "deny" => json!({ "digest": digest }),
            "answer" => json!({ "digest": digest, "content": "x" }),
            "settle" => json!({ "digest": digest, "done": true }),
            "interrupt" | "abort" => json!({ "reason": "x" }),
            "handoff" => json!({ "goal": "x" }),
            "signals" => json!({ "name": "x" }),
            "1" => json!({ "text": "x" }),
            _ => json!({}),
        }
    };
    let mut tried = 0;
    for operation in operations(session, pending["id"].as_str().unwrap()) {
        if !operation.path.contains(session) {
            continue;
        }
        let body = bodies(&operation);
        let send = async |token: &str, path: &str| {
            let request = server.anonymous(operation.method.clone(), path).bearer_auth(token);
            let request = if operation.has_body { request.json(&body) } else { request };
            told(request.send().await.unwrap()).await
        };
        let (status, problem) = send(STRANGER, &operation.path).await;
        let what = format!("{} {}: {problem}", operation.method, operation.path);
        // A page may ask for an answer before its first message.
        let resumes = operation.path.starts_with("/api/chat/") && operation.path.ends_with("/stream");
        let wanted = if resumes { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND };
        assert_eq!(status, wanted, "{what}");
        let elsewhere = operation.path.replace(session, "nobody");
        let (_, unknown) = send(STRANGER, &elsewhere).await;
        assert_eq!(problem.to_string().replace(session, "nobody"), unknown.to_string(), "{what}");
        tried += 1;
    }
    assert!(tried > 25, "{tried}");
    assert_eq!(server.get(&path).await["pending"]["items"][0], pending, "nothing was changed");
    for list in ["/v1/sessions", "/v1/pending", "/v1/dead-letters"] {
        let request = server.anonymous(Method::GET, list).bearer_auth(STRANGER);
        assert_eq!(told(request.send().await.unwrap()).await.1["items"], json!([]), "{list}");
    }
}

#[tokio::test]
async fn nobody_acts_as_the_tenant_of_the_engines_records() {
    let engine = Caller::of(tenant("holdover")).named("eve");
    for access in [Access::Anyone(engine.clone()), callers_and(engine)] {
        let server = Server::with(access, |options| options).await;
        let answer =
            server.anonymous(Method::GET, "/v1/sessions").bearer_auth("token-of-the-engine").send().await;
        assert_eq!(answer.unwrap().status(), StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_service_can_name_its_callers_itself() {
    let given = Server::with(Access::Given, |options| options).await;
    let refused = given.anonymous(Method::GET, "/v1/sessions").bearer_auth(ANN).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "no layer in front named a caller");
    let me = Caller::of(tenant("acme")).named("ann").only([May::Read]);
    let anyone = Server::with(Access::Anyone(me), |options| options).await;
    assert_eq!(anyone.anonymous(Method::GET, "/v1/sessions").send().await.unwrap().status(), StatusCode::OK);
    let request =
        anyone.anonymous(Method::POST, "/v1/sessions").json(&json!({ "agent": "clerk", "message": "hello" }));
    assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN);
}
