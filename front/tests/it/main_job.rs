//! The main job: a session with an approval, from its start to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_front::{Access, Caller, NoTokens, Tokens};
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::sync::Notify;

use crate::bench::{PATIENCE, Server, callers, chief, tenant, told};

#[tokio::test]
async fn a_session_runs_asks_and_ends() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("refund").await;
    assert_eq!(pending["kind"], "approval");
    assert_eq!(pending["tool"], "refund");
    assert_eq!(pending["prompt"], "money leaves the house");
    assert_eq!(pending["arguments"], r#"{"order":7,"api_key":"[redacted]"}"#, "a secret is not shown");
    let shown = server.get(&session).await;
    assert_eq!(shown["status"], "suspended");
    assert_eq!(shown["outcome"]["kind"], "suspended_client_tool");
    assert_eq!(shown["pending"]["items"][0], pending);

    let approve = format!("{session}/pending/{}/approve", pending["id"].as_str().unwrap());
    let said = json!({ "digest": pending["digest"], "reason": "she called us" });
    let (status, body) = server.post(&approve, &said).await;
    assert_eq!((status, &body["accepted"]), (StatusCode::ACCEPTED, &json!(true)));
    let (status, body) = server.post(&approve, &said).await;
    assert_eq!((status, &body["accepted"]), (StatusCode::OK, &json!(false)), "a repeat changes nothing");

    server.parked(&session).await;
    let shown = server.get(&session).await;
    assert_eq!(shown["status"], "idle");
    assert_eq!(shown["result"]["text"], "It says: order 7 is paid back");
    assert_eq!(shown["usage"]["tokens"]["input"], 6);
    let messages = server.get(&format!("{session}/messages")).await;
    let roles: Vec<_> = messages["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["message"]["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "decision", "tool", "assistant"]);
    let decision = &messages["items"][2]["message"]["decision"];
    assert_eq!((&decision["by"], &decision["reason"]), (&json!("ann"), &json!("she called us")));
    assert!(!messages.to_string().contains("sk-live"), "{messages}");
}

#[tokio::test]
async fn a_session_starts_once_for_its_key_and_for_its_id() {
    let server = Server::start().await;
    let start = |key: Option<&'static str>, body: serde_json::Value| {
        let request = server.ask(Method::POST, "/v1/sessions").json(&body);
        let request = key.into_iter().fold(request, |request, key| request.header("idempotency-key", key));
        async { told(request.send().await.unwrap()).await }
    };
    let body = json!({ "agent": "clerk", "message": "hello" });
    let (first, again) = (start(Some("k1"), body.clone()).await, start(Some("k1"), body.clone()).await);
    assert_eq!((first.0, again.0), (StatusCode::CREATED, StatusCode::OK));
    assert_eq!(first.1["session"], again.1["session"]);
    assert_eq!((&first.1["duplicate"], &again.1["duplicate"]), (&json!(false), &json!(true)));
    let other = start(Some("k1"), json!({ "agent": "clerk", "message": "bye" })).await;
    assert_eq!((other.0, &other.1["code"]), (StatusCode::CONFLICT, &json!("key_conflict")));

    let named = json!({ "agent": "clerk", "message": "hello", "session": "s1", "labels": { "user": "ann" } });
    assert_eq!(start(None, named.clone()).await.0, StatusCode::CREATED);
    assert_eq!(start(None, named).await.0, StatusCode::OK);
    let other = start(None, json!({ "agent": "clerk", "message": "bye", "session": "s1" })).await;
    assert_eq!((other.0, &other.1["code"]), (StatusCode::CONFLICT, &json!("not_first")));

    let found = server.get("/v1/sessions?labels[user]=ann").await;
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    assert_eq!(found["items"][0]["session"], "s1");
    server.parked("/v1/sessions/s1").await;
    let idle = server.get("/v1/sessions?status=idle,failed&limit=1").await;
    assert_eq!(idle["items"].as_array().unwrap().len(), 1);
    assert_eq!(server.get("/v1/sessions?status=aborted").await["items"], json!([]));
    // As clients that were generated send it.
    let of_ann = async |query: &str| server.get(&format!("/v1/sessions?{query}")).await;
    for query in ["status=failed&status=idle&label=user%3Dann", "status=idle&status=failed&label=user=ann"] {
        assert_eq!(of_ann(query).await["items"][0]["session"], "s1", "{query}");
    }
    assert_eq!(of_ann("label=user%3Dbob").await["items"], json!([]));
    let (status, problem) =
        told(server.ask(Method::GET, "/v1/sessions?label=user").send().await.unwrap()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
}

#[tokio::test]
async fn a_message_is_accepted_once_under_its_key_and_a_correction_names_its_author() {
    let server = Server::start().await;
    let session = server.session("hello").await;
    server.parked(&session).await;
    let path = format!("{session}/messages");
    let send = |text: &'static str| {
        let request = server.ask(Method::POST, &path).header("idempotency-key", "k");
        async move { told(request.json(&json!({ "text": text })).send().await.unwrap()).await }
    };
    assert_eq!(send("again").await.0, StatusCode::ACCEPTED);
    assert_eq!(send("again").await.0, StatusCode::OK);
    assert_eq!(send("other").await.1["code"], "key_conflict");
    server.parked(&session).await;
    let corrected = server.post(&format!("{session}/corrections"), &json!({ "text": "be brief" })).await;
    assert_eq!(corrected.0, StatusCode::ACCEPTED, "{}", corrected.1);
    server.parked(&session).await;
    let messages = server.get(&path).await.to_string();
    assert_eq!(messages.matches("You said: again").count(), 1, "{messages}");
    assert!(messages.contains("course correction by ann, not said by the user] be brief"), "{messages}");
}

/// The client leaves while its token is looked up.
#[tokio::test]
async fn what_a_client_asked_for_is_done_although_it_has_left() {
    let slow = Arc::new(Slow::default());
    let access = Access::Tokens(Arc::clone(&slow) as Arc<dyn Tokens>);
    let server = Server::with(access, |options| options).await;
    let session = server.session("hello").await;
    server.parked(&session).await;
    slow.waits.store(true, Ordering::SeqCst);
    let abort = server.ask(Method::POST, &format!("{session}/abort")).json(&json!({ "reason": "x" }));
    let leaves = tokio::spawn(abort.send());
    slow.asked.notified().await;
    leaves.abort();
    assert!(leaves.await.unwrap_err().is_cancelled());
    // The server sees that the connection is closed, and then learns who the client was.
    tokio::time::sleep(Duration::from_millis(200)).await;
    slow.waits.store(false, Ordering::SeqCst);
    slow.goes_on.notify_one();
    let aborted = async {
        while server.get(&session).await["status"] != "aborted" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, aborted).await.unwrap();
}

/// Tokens that are looked up slowly while `waits` is set.
#[derive(Default)]
struct Slow {
    waits: AtomicBool,
    asked: Notify,
    goes_on: Notify,
}

#[async_trait]
impl Tokens for Slow {
    async fn caller(&self, _token: &str) -> Result<Option<Caller>, NoTokens> {
        if self.waits.load(Ordering::SeqCst) {
            self.asked.notify_one();
            self.goes_on.notified().await;
        }
        Ok(Some(Caller::of(tenant("acme")).named("ann")))
    }
}

#[tokio::test]
async fn a_turn_that_failed_or_was_stopped_goes_on_by_a_worker() {
    let server = Server::start().await;
    let session = server.session("fail").await;
    server.parked(&session).await;
    assert_eq!(server.get(&session).await["status"], "failed");
    let runs = async || server.get(&format!("{session}/runs")).await["items"].as_array().unwrap().len();
    let before = runs().await;
    let retried = server.post(&format!("{session}/retry"), &json!({})).await;
    assert_eq!((retried.0, &retried.1["accepted"]), (StatusCode::ACCEPTED, &json!(true)));
    server.parked(&session).await;
    assert_eq!((runs().await, &server.get(&session).await["status"]), (before + 1, &json!("failed")));
    let sent = server.post(&format!("{session}/messages"), &json!({ "text": "hello" })).await;
    assert_eq!(sent.0, StatusCode::ACCEPTED);
    server.parked(&session).await;
    let compacted = server.post(&format!("{session}/compact"), &json!({})).await;
    assert_eq!(compacted.0, StatusCode::ACCEPTED, "{}", compacted.1);
    server.parked(&session).await;
    let resumed = server.post(&format!("{session}/resume"), &json!({})).await;
    assert_eq!((resumed.0, &resumed.1["code"]), (StatusCode::CONFLICT, &json!("not_resumable")));
}

#[tokio::test]
async fn a_session_takes_messages_edits_and_stops() {
    let server = Server::start().await;
    let session = server.session("wait").await;
    let sent = server
        .post(&format!("{session}/messages"), &json!({ "text": "and this", "policy": "enqueue" }))
        .await;
    assert_eq!(sent.0, StatusCode::ACCEPTED, "{}", sent.1);
    let queue = async || {
        let queue = server.get(&format!("{session}/queue")).await;
        let items = queue["items"].as_array().unwrap().clone();
        // The first message stays until the first commit of its turn.
        items.into_iter().filter(|item| item["text"] != "wait").collect::<Vec<_>>()
    };
    let queued = queue().await;
    assert_eq!(queued[0]["text"], "and this");
    let item = format!("{session}/queue/{}", queued[0]["item"]);
    let replaced = server.ask(Method::PUT, &item).json(&json!({ "text": "or that" })).send().await.unwrap();
    assert_eq!(replaced.status(), StatusCode::NO_CONTENT);
    assert_eq!(queue().await[0]["text"], "or that");
    let withdrawn = server.ask(Method::DELETE, &item).send().await.unwrap();
    assert_eq!(withdrawn.status(), StatusCode::NO_CONTENT);
    assert!(queue().await.is_empty());
    let again = server.ask(Method::DELETE, &item).send().await.unwrap();
    assert_eq!(told(again).await.1["code"], "not_queued");

    server.runs(&session).await;
    let stopped = server.post(&format!("{session}/interrupt"), &json!({ "reason": "enough" })).await;
    assert!(stopped.0.is_success(), "{}", stopped.1);
    server.parked(&session).await;
    assert_eq!(server.get(&session).await["status"], "interrupted");
    let sent =
        server.post(&format!("{session}/messages"), &json!({ "text": "hello", "instead_of": 1 })).await;
    assert_eq!(sent.0, StatusCode::ACCEPTED, "{}", sent.1);
    server.parked(&session).await;
    let shown = server.get(&session).await;
    assert_eq!((&shown["status"], &shown["result"]["text"]), (&json!("idle"), &json!("You said: hello")));

    let fork =
        server.post(&format!("{session}/fork"), &json!({ "to": "copy", "labels": { "why": "test" } })).await;
    assert_eq!((fork.0, &fork.1["session"]), (StatusCode::CREATED, &json!("copy")));
    let once = |method: Method, path: &str| server.ask(method, path).header("idempotency-key", "k");
    let path = format!("{session}/fork");
    let first = told(once(Method::POST, &path).json(&json!({})).send().await.unwrap()).await;
    server.post(&format!("{session}/messages"), &json!({ "text": "more" })).await;
    server.parked(&session).await;
    let again = told(once(Method::POST, &path).json(&json!({})).send().await.unwrap()).await;
    assert_eq!(first.0, StatusCode::CREATED, "{}", first.1);
    assert_eq!(first, again, "one fork under one key, although the source went on");
    let aborted = server.post("/v1/sessions/copy/abort", &json!({ "reason": "it was a test" })).await;
    assert!(aborted.0.is_success());
    assert_eq!(server.get("/v1/sessions/copy").await["status"], "aborted");
    let refused = server.post("/v1/sessions/copy/messages", &json!({ "text": "hello" })).await;
    assert_eq!((refused.0, &refused.1["code"]), (StatusCode::CONFLICT, &json!("aborted")));
    let deleted = server.ask(Method::DELETE, "/v1/sessions/copy").send().await.unwrap();
    assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get("/v1/sessions/copy").await["code"], "not_found");
    assert_eq!(server.get(&format!("{session}/tree")).await["items"].as_array().unwrap().len(), 1);
    let runs = server.get(&format!("{session}/runs")).await;
    assert!(runs["items"].as_array().unwrap().len() >= 2, "{runs}");
    assert!(!server.get(&format!("{session}/checkpoints")).await["items"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn signals_that_no_call_has_taken_are_listed() {
    let server = Server::start().await;
    let session = server.session("hello").await;
    server.parked(&session).await;
    let path = format!("{session}/signals");
    assert_eq!(server.get(&path).await["items"], json!([]));
    let signal = json!({ "name": "paid", "body": { "order": 7, "api_key": "sk-live" } });
    assert_eq!(server.post(&path, &signal).await.0, StatusCode::ACCEPTED);
    assert_eq!(server.post(&path, &json!({ "name": "sent" })).await.0, StatusCode::ACCEPTED);
    let held = server.get(&path).await["items"].clone();
    assert_eq!((&held[0]["name"], &held[1]["name"]), (&json!("paid"), &json!("sent")));
    assert_eq!(held[0]["body"], json!({ "order": 7, "api_key": "[redacted]" }));
    assert_eq!(held[1]["body"], json!(null));
    assert!(held[0]["item"].as_u64() < held[1]["item"].as_u64() && held[0]["at"].is_u64(), "{held}");
}

#[tokio::test]
async fn a_stop_before_a_turn_begins_says_that_one_is_due_and_its_message_can_be_withdrawn() {
    // No worker here runs this agent.
    let server = Server::with(callers(), |options| options.agent(chief()).served_elsewhere()).await;
    let new = json!({ "agent": "chief", "message": "delegate", "session": "s" });
    let started = server.post("/v1/sessions", &new).await.1;
    let stop = async || server.post("/v1/sessions/s/interrupt", &json!({ "reason": "enough" })).await;
    assert_eq!(stop().await, (StatusCode::OK, json!({ "waits": false, "due": true })));
    let queue = "/v1/sessions/s/queue";
    assert_eq!(server.get(queue).await["items"][0]["text"], "delegate", "it was not harmed");
    let item = format!("{queue}/{}", started["item"]);
    let withdrawn = server.ask(Method::DELETE, &item).send().await.unwrap();
    assert_eq!(withdrawn.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get(queue).await["items"], json!([]));

    for text in ["one", "two", "three"] {
        server.post("/v1/sessions/s/messages", &json!({ "text": text })).await;
    }
    let page = server.get(&format!("{queue}?limit=2")).await;
    assert_eq!((&page["items"][0]["text"], &page["items"][1]["text"]), (&json!("one"), &json!("two")));
    assert_eq!(page["next"], page["items"][1]["item"]);
    let rest = server.get(&format!("{queue}?limit=2&after={}", page["next"])).await;
    assert_eq!(
        (&rest["items"][0]["text"], &rest["items"][1], &rest["next"]),
        (&json!("three"), &json!(null), &json!(null))
    );

    let session = server.session("hello").await;
    server.parked(&session).await;
    let stopped = server.post(&format!("{session}/interrupt"), &json!({ "reason": "enough" })).await;
    assert_eq!(stopped, (StatusCode::OK, json!({ "waits": false, "due": false })));
}
