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
use crate::service::{Folder, PATIENCE, Pace, answer_path, eventually};

const POLICY: &str = "Good day. Whatever you bought here";

/// One process streams an answer, runs a tool and waits for an approval, all at once, and is killed.
///
/// Requirements: A15, A60, H14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_on_its_way_when_the_process_was_killed_goes_on_once() {
    let folder = Folder::new();
    let mut service = folder.start(Pace { word_ms: 100, bank_ms: 25_000 }).await;
    for order in ["7", "8"] {
        let asked =
            json!({ "id": format!("order-{order}"), "message": format!("Please refund order {order}.") });
        assert_eq!(service.post("/sessions", asked).await.0, StatusCode::CREATED);
        let (session, genuine) = (format!("order-{order}"), json!({ "content": "genuine" }));
        assert_eq!(service.answer(&session, "scan_receipt", genuine).await, StatusCode::ACCEPTED);
        service.waits_for(&session, "refund").await;
    }
    let approvals = service.approvals().await;
    assert_eq!(approvals.len(), 2, "{approvals:?}");
    assert!(approvals[0]["deadline"].as_i64() < approvals[1]["deadline"].as_i64(), "{approvals:?}");
    assert_eq!(approvals[0]["session"], "order-7");

    // A tool is running.
    let yes = json!({ "approve": true, "by": "ada" });
    assert_eq!(service.post(&answer_path(&approvals[0]), yes).await.0, StatusCode::ACCEPTED);
    eventually("the bank is told", async || folder.ledger() == ["7 1250"]).await;
    // An approval is waiting.
    assert_eq!(service.session("order-8").await["status"], "suspended");
    let mut paid = Follower::of("order-7");
    paid.follow(&service, |seen| seen.iter().any(|shown| shown.is_message_of("decision"))).await;
    let mut waits = Follower::of("order-8");
    waits.follow(&service, |seen| seen.last().is_some_and(|shown| shown.event_type() == "suspended")).await;
    // A model is streaming.
    service.post("/sessions", json!({ "id": "talk", "message": "What are the rules?" })).await;
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
    let yes = json!({ "approve": true, "by": "bo", "reason": "it was broken" });
    service.post(&answer_path(&approvals[0]), yes).await;
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
    let started = service.post("/sessions", json!({ "id": "a", "message": "Please refund order 7." })).await;
    assert_eq!(started, (StatusCode::CREATED, json!({ "session": "a" })));
    let scan = answer_path(&service.waits_for("a", "scan_receipt").await);
    let (approve_scan, yes) =
        (scan.replace("/sessions/a/answers", "/approvals/a"), json!({ "approve": true, "by": "ada" }));
    let genuine = json!({ "content": "genuine" });
    for (path, body, status, why) in [
        ("/nowhere", json!({}), 404, "no such path"),
        ("/sessions/b/messages", json!({ "message": "x" }), 404, "acme/b: there is no such session"),
        ("/sessions/b/interrupt", json!({ "reason": "x" }), 404, "acme/b: there is no such session"),
        ("/sessions/b/fork", json!({}), 404, "acme/b: there is no such session"),
        ("/sessions/b/answers/c2-0", genuine.clone(), 404, "acme/b: there is no such session"),
        ("/approvals/b/c3-0", yes.clone(), 404, "acme/b: there is no such session"),
        ("/approvals/a/c2-0", yes.clone(), 404, "call c2-0: there is no such pending call"),
        (&approve_scan, yes.clone(), 409, "call c2-0: waits for an answer, not for approval"),
        ("/sessions/a/fork", json!({ "at": 99 }), 404, "there is no checkpoint 99"),
        ("/sessions/a/fork", json!({ "to": "a" }), 409, "it exists already"),
        (
            "/sessions",
            json!({ "id": "a", "message": "Something else" }),
            409,
            "it exists already and began with another message",
        ),
        ("/sessions", json!({ "id": "", "message": "x" }), 422, "session id is empty"),
        ("/sessions", json!({ "massage": "x" }), 422, "massage"),
        ("/sessions/a%00/messages", json!({ "message": "x" }), 422, "control character"),
        ("/approvals/a/c2-0", json!({ "approve": true }), 422, "missing field `by`"),
        ("/sessions", json!({ "message": "x".repeat(2 * 1024 * 1024) }), 413, "length limit exceeded"),
    ] {
        let (found, said) = service.post(path, body).await;
        let line = said["error"].as_str().unwrap_or_default();
        assert!(found == status && line.contains(why) && !line.contains('\n'), "{path}: {found} {said}");
    }
    for (path, status) in [
        ("/sessions/b", 404),
        ("/sessions/b/messages", 404),
        ("/sessions/b/events", 404),
        ("/sessions/a/events?after=abc", 422),
        ("/approvals?after=abc", 422),
        ("/approvals?limit=0", 422),
        ("/sessions/a/messages?after=x", 422),
        ("/sessions", 405),
    ] {
        let (found, said) = service.get(path).await;
        assert!(found == status && said["error"].is_string(), "{path}: {found} {said}");
    }

    // A request is accepted once under an idempotency key or an id.
    let again = service.post("/sessions", json!({ "id": "a", "message": "Please refund order 7." })).await;
    assert_eq!(again, (StatusCode::OK, json!({ "session": "a" })));
    let first = service.post_once("/sessions", "k", json!({ "message": "Good day" })).await;
    let second = service.post_once("/sessions", "k", json!({ "message": "Good day" })).await;
    assert_eq!((first.0, second.0), (StatusCode::CREATED, StatusCode::OK));
    assert_eq!(first.1, second.1, "the same session");
    assert_eq!(
        service.post_once("/sessions", "k", json!({ "message": "Bye" })).await.0,
        StatusCode::CONFLICT
    );
    let path = format!("/sessions/{}/messages", first.1["session"].as_str().unwrap());
    let thanks = json!({ "message": "Thanks" });
    assert_eq!(service.post_once(&path, "m", thanks.clone()).await.0, StatusCode::ACCEPTED);
    assert_eq!(service.post_once(&path, "m", thanks).await.0, StatusCode::OK);

    // A key may hold any text that a header can hold, but it must not be empty.
    for (key, status) in [("ü", 202), ("ü", 200), ("", 422)] {
        let (found, said) = service.post_once(&path, key, json!({ "message": "And?" })).await;
        assert_eq!(found, status, "{key}: {said}");
    }

    // A cursor belongs to one session.
    let mut other = Follower::of(first.1["session"].as_str().unwrap());
    other.follow(&service, |seen| !seen.is_empty()).await;
    let (status, said) = service.get(&format!("/sessions/a/events?after={}", other.last_id())).await;
    assert_eq!(status, StatusCode::GONE, "{said}");
    assert!(said["error"].as_str().unwrap().contains("the cursor belongs to another session"), "{said}");

    // Only the first of two different answers is accepted; it may be repeated.
    assert_eq!(service.post(&scan, genuine.clone()).await.0, StatusCode::ACCEPTED);
    let refund = answer_path(&service.waits_for("a", "refund").await);
    assert_eq!(service.post(&scan, genuine).await.0, StatusCode::OK);
    assert_eq!(service.post(&scan, json!({ "content": "forged" })).await.0, StatusCode::CONFLICT);
    let nobody = json!({ "approve": true, "by": " " });
    assert_eq!(service.post(&refund, nobody).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    let no = json!({ "approve": false, "by": "bo", "reason": "too late" });
    assert_eq!(service.post(&refund, no.clone()).await.0, StatusCode::ACCEPTED);
    assert_eq!(service.post(&refund, yes).await.0, StatusCode::CONFLICT);
    service.completes("a").await;
    assert_eq!(service.post(&refund, no).await.0, StatusCode::OK);
    assert_eq!(service.decision("a").await["by"], "bo");
    assert_eq!(folder.ledger(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edited_arguments_run_and_a_fork_of_an_interrupted_session_goes_its_own_way() {
    let folder = Folder::new();
    let service = folder.start(Pace { word_ms: 0, bank_ms: 0 }).await;
    service.post("/sessions", json!({ "id": "a", "message": "Please refund order 7." })).await;
    service.answer("a", "scan_receipt", json!({ "content": "genuine" })).await;
    let asked = service.waits_for("a", "refund").await;
    let (status, forked) = service.post("/sessions/a/fork", json!({ "to": "b" })).await;
    assert_eq!((status, &forked["session"]), (StatusCode::CREATED, &json!("b")));

    let half = json!({ "approve": true, "by": "ada", "arguments": { "order": 7, "cents": 600 } });
    assert_eq!(service.post(&answer_path(&asked), half).await.0, StatusCode::ACCEPTED);
    service.completes("a").await;
    assert_eq!(folder.ledger(), ["7 600"]);

    service.post("/sessions", json!({ "id": "c", "message": "Please refund order 8." })).await;
    service.waits_for("c", "scan_receipt").await;
    let stopped = service.post("/sessions/c/interrupt", json!({ "reason": "never mind" })).await;
    assert_eq!(stopped, (StatusCode::ACCEPTED, json!({ "interrupted": true })));
    assert_eq!(service.session("c").await["outcome"]["kind"], "interrupted");
    for session in ["b", "c"] {
        let path = format!("/sessions/{session}/messages");
        assert_eq!(
            service.post(&path, json!({ "message": "What are the rules?" })).await.0,
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
    first.post("/sessions", json!({ "id": "talk", "message": "What are the rules?" })).await;
    let mut talk = Follower::of("talk");
    talk.follow(&first, |seen| seen.iter().any(|shown| shown.kind == "delta")).await;
    let second = folder.start(Pace { word_ms: 30, bank_ms: 0 }).await;
    let url = format!("{}/sessions/talk/events", first.url());
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
    second.post("/sessions/talk/messages", json!({ "message": "And on Sundays?" })).await;
    eventually("the second turn ends", async || second.transcript("talk").await.len() == 4).await;
}
