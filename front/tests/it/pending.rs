//! Calls that wait for an answer: what binds an answer, and who gave it.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::bench::Server;

const OTHER: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn path(session: &str, pending: &Value, verb: &str) -> String {
    format!("{session}/pending/{}/{verb}", pending["id"].as_str().unwrap())
}

#[tokio::test]
async fn an_answer_names_the_arguments_that_were_seen() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("refund").await;
    for verb in ["approve", "deny", "answer", "settle"] {
        let whole = json!({ "digest": OTHER, "content": "x", "done": true });
        let fields: &[&str] = match verb {
            "answer" => &["digest", "content"],
            "settle" => &["digest", "done"],
            _ => &["digest"],
        };
        let said: Value = fields.iter().map(|field| ((*field).to_owned(), whole[field].clone())).collect();
        let (status, problem) = server.post(&path(&session, &pending, verb), &said).await;
        assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("not_seen")), "{verb}");
        let mut unseen = said;
        unseen.as_object_mut().unwrap().remove("digest");
        let (status, _) = server.post(&path(&session, &pending, verb), &unseen).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{verb} without a digest");
    }
    let shown = server.get(&session).await;
    assert_eq!(shown["pending"]["items"][0], pending, "nothing was decided");
}

#[tokio::test]
async fn a_denial_reaches_the_model_with_its_reason_and_its_author() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("refund").await;
    let said = json!({ "digest": pending["digest"], "reason": "it was paid back last week" });
    let (status, _) = server.post(&path(&session, &pending, "deny"), &said).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    server.parked(&session).await;
    let messages = server.get(&format!("{session}/messages")).await;
    assert_eq!(messages["items"][2]["message"]["decision"]["by"], "ann");
    let text = server.get(&session).await["result"]["text"].to_string();
    assert!(text.contains("it was paid back last week"), "{text}");
    let (status, problem) =
        server.post(&path(&session, &pending, "approve"), &json!({ "digest": pending["digest"] })).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("not_pending")));
}

#[tokio::test]
async fn an_edit_runs_with_the_new_arguments() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("refund").await;
    let said = json!({ "digest": pending["digest"], "arguments": r#"{"order":8}"# });
    let (status, body) = server.post(&path(&session, &pending, "approve"), &said).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{body}");
    server.parked(&session).await;
    assert_eq!(server.get(&session).await["result"]["text"], "It says: order 8 is paid back");
}

#[tokio::test]
async fn a_name_in_the_body_is_refused() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("refund").await;
    let said = json!({ "digest": pending["digest"], "by": "the boss" });
    let (status, problem) = server.post(&path(&session, &pending, "approve"), &said).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
}

#[tokio::test]
async fn a_client_answers_its_tool() {
    let server = Server::start().await;
    let (session, pending) = server.waiting("scan").await;
    assert_eq!(pending["kind"], "client_tool");
    let listed = server.get("/v1/pending?kind=client_tool").await;
    assert_eq!(listed["items"], json!([pending]));
    assert_eq!(server.get("/v1/pending?kind=approval").await["items"], json!([]));
    let (status, problem) =
        server.post(&path(&session, &pending, "approve"), &json!({ "digest": pending["digest"] })).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("other_answer")));
    let said = json!({ "digest": pending["digest"], "content": "total: 12.50" });
    let (status, _) = server.post(&path(&session, &pending, "answer"), &said).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    server.parked(&session).await;
    assert_eq!(server.get(&session).await["result"]["text"], "It says: total: 12.50");
}
