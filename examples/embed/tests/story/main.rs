//! Tests of the service as its clients see it: killed at bad moments, restarted, and sent wrong requests.
//!
//! Requirements: A15, A60, H14.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod follower;
mod life;
mod readme;
mod service;

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::follower::{Follower, is_done};
use crate::service::{Folder, PATIENCE, Pace, eventually, path_of};

const POLICY: &str = "Good day. Whatever you bought here";

/// One process streams an answer, runs a tool and waits for an approval, all at once, and is killed.
///
/// Requirements: A15, A60, H14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_on_its_way_when_the_process_was_killed_goes_on_once() {
    let folder = Folder::new();
    let mut service = folder.start(Pace { word_ms: 100, bank_ms: 25_000 }).await;
    for order in ["7", "8"] {
        let (session, message) = (format!("order-{order}"), format!("Please refund order {order}."));
        assert_eq!(service.begin(&session, &message).await.0, StatusCode::CREATED);
        assert_eq!(service.scan(&session).await, StatusCode::ACCEPTED);
        service.waits_for(&session, "refund").await;
    }
    let approvals = service.approvals().await;
    assert_eq!(approvals.len(), 2, "{approvals:?}");
    assert!(approvals[0]["deadline"].as_i64() < approvals[1]["deadline"].as_i64(), "{approvals:?}");
    assert_eq!(approvals[0]["session"], "order-7");

    // A tool is running.
    assert_eq!(service.approve(&approvals[0], "ada", &json!({})).await.0, StatusCode::ACCEPTED);
    eventually("the bank is told", async || folder.ledger() == ["7 1250"]).await;
    // An approval is waiting.
    assert_eq!(service.session("order-8").await["status"], "suspended");
    let mut paid = Follower::of("order-7");
    paid.follow(&service, |seen| seen.iter().any(|shown| shown.is_message_of("decision"))).await;
    let mut waits = Follower::of("order-8");
    waits.follow(&service, |seen| seen.last().is_some_and(|shown| shown.event_type() == "suspended")).await;
    // A model is streaming.
    service.begin("talk", "What are the rules?").await;
    let mut talk = Follower::of("talk");
    talk.follow(&service, |seen| seen.iter().filter(|shown| shown.kind == "delta").count() >= 3).await;
    assert!(!talk.has_answer(), "killed in the middle of the answer");
    for (session, status) in [("order-7", "active"), ("order-8", "suspended"), ("talk", "active")] {
        assert_eq!(service.session(session).await["status"], status, "{session} when killed");
    }
    service.kill();

    let mut service = folder.start(Pace { word_ms: 20, bank_ms: 0 }).await;
    talk.follow(&service, is_done).await;
    assert_eq!(talk.check(), 1, "the attempt that was shown in part is said to be void, once");
    assert!(service.last_words("talk").await.starts_with(POLICY));
    paid.follow(&service, is_done).await;
    assert_eq!(paid.check(), 0);
    assert_eq!(service.result_of("order-7", "refund").await["status"], "in_doubt");
    let last = service.last_words("order-7").await;
    assert_eq!(last, "The bank had heard me: the money is on its way, once.");
    assert_eq!(service.decision("order-7").await["by"], "ada");

    let approvals = service.approvals().await;
    assert_eq!(approvals.len(), 1, "{approvals:?}");
    service.approve(&approvals[0], "bo", &json!({ "reason": "it was broken" })).await;
    waits.follow(&service, is_done).await;
    assert_eq!(waits.check(), 0);
    assert_eq!(service.last_words("order-8").await, "The money is on its way.");
    assert_eq!(service.result_of("order-8", "refund").await["status"], "done");
    let decision = service.decision("order-8").await;
    assert_eq!((&decision["by"], &decision["reason"]), (&json!("bo"), &json!("it was broken")));
    assert_eq!(folder.ledger(), ["7 1250", "8 1250"], "each refund once");

    // The service is killed at rest and the events are read again from the start: they are the same.
    service.kill();
    let service = folder.start(Pace { word_ms: 0, bank_ms: 0 }).await;
    for before in [talk, paid, waits] {
        let mut again = Follower::of(before.session());
        again.follow(&service, is_done).await;
        assert_eq!(again.check(), 0);
        assert_eq!(again.events(), before.events(), "{}", before.session());
        assert_eq!(service.session(before.session()).await["outcome"]["kind"], "completed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_done_is_refused_in_one_line() {
    let folder = Folder::new();
    let service = folder.start(Pace { word_ms: 0, bank_ms: 0 }).await;
    let (status, started) = service.begin("a", "Please refund order 7.").await;
    assert_eq!((status, &started["session"]), (StatusCode::CREATED, &json!("a")));
    let asked = service.waits_for("a", "scan_receipt").await;
    let genuine = json!({ "digest": asked["digest"], "content": "genuine" });
    let yes = json!({ "digest": asked["digest"] });
    let (answer, approve) = (path_of(&asked, "answer"), path_of(&asked, "approve"));
    for (path, body, status, why) in [
        ("/nowhere", json!({}), 404, "no such path"),
        ("/v1/sessions/b/messages", json!({ "text": "x" }), 404, "acme/b: there is no such session"),
        ("/v1/sessions/b/interrupt", json!({ "reason": "x" }), 404, "acme/b: there is no such session"),
        ("/v1/sessions/b/fork", json!({}), 404, "acme/b: there is no such session"),
        ("/v1/sessions/b/pending/c2-0/answer", genuine.clone(), 404, "acme/b: there is no such session"),
        ("/v1/sessions/b/pending/c3-0/approve", yes.clone(), 404, "acme/b: there is no such session"),
        ("/v1/sessions/a/pending/c2-0/approve", yes.clone(), 404, "call c2-0: there is no such pending call"),
        (&approve, yes.clone(), 409, "waits for an answer, not for approval"),
        ("/v1/sessions/a/fork", json!({ "at": 99 }), 404, "there is no checkpoint 99"),
        ("/v1/sessions/a/fork", json!({ "to": "a" }), 409, "it exists already"),
        ("/v1/sessions", json!({ "agent": "clark", "message": "x" }), 404, "clark"),
    ] {
        let (found, said) = service.post(path, body).await;
        let line = said["detail"].as_str().unwrap_or_default();
        assert!(found == status && line.contains(why) && !line.contains('\n'), "{path}: {found} {said}");
    }

    // A request is accepted once under an idempotency key or an id.
    let again = service.begin("a", "Please refund order 7.").await;
    assert_eq!((again.0, &again.1["session"]), (StatusCode::OK, &json!("a")));
    let other = service.begin("a", "Something else").await;
    assert_eq!((other.0, &other.1["code"]), (StatusCode::CONFLICT, &json!("not_first")));
    let new = json!({ "agent": "clerk", "message": "Good day" });
    let first = service.post_once("/v1/sessions", "k", new.clone()).await;
    let second = service.post_once("/v1/sessions", "k", new).await;
    assert_eq!((first.0, second.0), (StatusCode::CREATED, StatusCode::OK));
    assert_eq!(first.1["session"], second.1["session"], "the same session");
    let path = format!("/v1/sessions/{}/messages", first.1["session"].as_str().unwrap());

    // A key may hold any text that a header can hold, but it must not be empty.
    for (key, status) in [("ü", 202), ("ü", 200), ("", 422)] {
        let (found, said) = service.post_once(&path, key, json!({ "text": "And?" })).await;
        assert_eq!(found, status, "{key}: {said}");
    }

    // A cursor belongs to one session.
    let mut other = Follower::of(first.1["session"].as_str().unwrap());
    other.follow(&service, |seen| !seen.is_empty()).await;
    let (status, said) = service.get(&format!("/v1/sessions/a/events?after={}", other.last_id())).await;
    assert_eq!(status, StatusCode::GONE, "{said}");

    // Only the first of two different answers is accepted; it may be repeated.
    assert_eq!(service.post(&answer, genuine.clone()).await.0, StatusCode::ACCEPTED);
    let refund = service.waits_for("a", "refund").await;
    assert_eq!(service.post(&answer, genuine).await.0, StatusCode::OK);
    let forged = json!({ "digest": asked["digest"], "content": "forged" });
    assert_eq!(service.post(&answer, forged).await.0, StatusCode::CONFLICT);
    assert_eq!(service.approve(&refund, " ", &json!({})).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    let late = json!({ "reason": "too late" });
    assert_eq!(service.decide(&refund, "deny", "bo", &late).await.0, StatusCode::ACCEPTED);
    assert_eq!(service.approve(&refund, "ada", &json!({})).await.0, StatusCode::CONFLICT);
    service.completes("a").await;
    assert_eq!(service.decide(&refund, "deny", "bo", &late).await.0, StatusCode::OK);
    assert_eq!(service.decision("a").await["by"], "bo");
    assert_eq!(folder.ledger(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edited_arguments_run_and_a_fork_of_an_interrupted_session_goes_its_own_way() {
    let folder = Folder::new();
    let service = folder.start(Pace { word_ms: 0, bank_ms: 0 }).await;
    service.begin("a", "Please refund order 7.").await;
    service.scan("a").await;
    let asked = service.waits_for("a", "refund").await;
    let (status, forked) = service.post("/v1/sessions/a/fork", json!({ "to": "b" })).await;
    assert_eq!((status, &forked["session"]), (StatusCode::CREATED, &json!("b")));

    let half = json!({ "arguments": r#"{"order": 7, "cents": 600}"# });
    assert_eq!(service.approve(&asked, "ada", &half).await.0, StatusCode::ACCEPTED);
    service.completes("a").await;
    assert_eq!(folder.ledger(), ["7 600"]);

    service.begin("c", "Please refund order 8.").await;
    service.waits_for("c", "scan_receipt").await;
    let stopped = service.post("/v1/sessions/c/interrupt", json!({ "reason": "never mind" })).await;
    assert_eq!(stopped, (StatusCode::ACCEPTED, json!({ "waits": true, "due": false })));
    assert_eq!(service.session("c").await["outcome"]["kind"], "interrupted");
    for session in ["b", "c"] {
        let path = format!("/v1/sessions/{session}/messages");
        assert_eq!(
            service.post(&path, json!({ "text": "What are the rules?" })).await.0,
            StatusCode::ACCEPTED
        );
        service.completes(session).await;
        assert!(service.last_words(session).await.starts_with(POLICY));
    }
    assert_eq!(folder.ledger(), ["7 600"], "the fork refunds nothing");
}

/// Two processes share one file. One of them is told to stop while its model streams, and lets the model finish.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_soft_stop_loses_nothing_and_another_process_shows_it() {
    let folder = Folder::new();
    let mut first = folder.start(Pace { word_ms: 30, bank_ms: 0 }).await;
    first.begin("talk", "What are the rules?").await;
    let mut talk = Follower::of("talk");
    talk.follow(&first, |seen| seen.iter().any(|shown| shown.kind == "delta")).await;
    let second = folder.start(Pace { word_ms: 30, bank_ms: 0 }).await;
    let url = format!("{}/v1/sessions/talk/events", first.url());
    let mut attached = first.client().get(url).send().await.unwrap();
    first.terminate();
    let let_go = async { while attached.chunk().await.unwrap().is_some() {} };
    timeout(PATIENCE, let_go).await.expect("a follower does not keep the service up");
    talk.follow(&second, is_done).await;
    assert_eq!(talk.check(), 0, "no attempt died");
    assert!(second.last_words("talk").await.starts_with(POLICY));
    let runs: Vec<Value> =
        talk.events().into_iter().filter(|event| event["event"]["type"] == "run_started").collect();
    assert_eq!(runs.len(), 1, "the first process ended the turn: {runs:?}");
    assert!(first.ended_within(Duration::from_secs(20)).await, "ends well");
    // The remaining process answers this message.
    second.post("/v1/sessions/talk/messages", json!({ "text": "And on Sundays?" })).await;
    eventually("the second turn ends", async || second.transcript("talk").await.len() == 4).await;
}
