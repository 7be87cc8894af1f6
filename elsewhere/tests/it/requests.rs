//! Tests of the requests that the client sends, and of the addresses to which it sends no token or no outcome.

use holdover_core::machine::Usage;
use holdover_core::remote::{Remote, TaskOutcome, TaskStanding};
use holdover_elsewhere::BODY_BYTES_MAX;
use holdover_runtime_local::Elsewhere;
use serde_json::{Value, json};

use crate::bench::{Parrot, TOKEN, id, task, value_of, wire};

fn done() -> TaskOutcome {
    TaskOutcome { ok: true, text: "found".into(), usage: Usage { model_calls: 1, ..Usage::default() } }
}

fn head_and_body(request: &str) -> (Vec<String>, Value) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (head.lines().map(str::to_owned).collect(), serde_json::from_str(body).unwrap_or_default())
}

#[tokio::test]
async fn requests_have_this_form() {
    let parrot = Parrot::saying(200, "", r#"{"task":"open"}"#).await;
    let remote = parrot.remote().token_env(TOKEN);
    wire().begin(&remote, &task("t/1", "north")).await.unwrap();
    wire().look(&remote, &id("t/1")).await.unwrap();
    wire().stop(&remote, &id("t/1")).await.unwrap();
    let wire = wire().allow_replies_to(&parrot.origin).unwrap();
    wire.tell(&format!("{}/outcomes/x.y", parrot.origin), &id("t/1"), &done()).await.unwrap();
    let asked: Vec<_> = parrot.asked().iter().map(|asked| head_and_body(asked)).collect();
    let first: Vec<_> = asked.iter().map(|(head, _)| head[0].as_str()).collect();
    assert_eq!(
        first,
        [
            "POST /agents/digger/tasks HTTP/1.1",
            "GET /agents/digger/tasks/t%2F1 HTTP/1.1",
            "DELETE /agents/digger/tasks/t%2F1 HTTP/1.1",
            "POST /outcomes/x.y HTTP/1.1",
        ]
    );
    let has = |at: usize, header: &str| asked[at].0.iter().any(|line| line == header);
    assert!(has(0, "idempotency-key: t/1"), "{asked:?}");
    assert!(has(0, "content-type: application/json") && has(3, "content-type: application/json"));
    let bearer = format!("authorization: Bearer {}", value_of(TOKEN));
    assert_eq!([0, 1, 2, 3].map(|at| has(at, &bearer)), [true, true, true, false], "{asked:?}");
    assert_eq!(asked[0].1, json!({ "id": "t/1", "task": "north" }));
    let outcome = json!({ "ok": true, "text": "found", "usage": { "model_calls": 1 } });
    assert_eq!(asked[3].1, json!({ "id": "t/1", "outcome": outcome }));
}

#[test]
fn standings_have_this_form() {
    assert_eq!(serde_json::to_value(TaskStanding::Open).unwrap(), json!({ "task": "open" }));
    let ended = json!({ "task": "ended", "ok": true, "text": "found", "usage": { "model_calls": 1 } });
    assert_eq!(serde_json::to_value(TaskStanding::Ended(done())).unwrap(), ended);
}

#[tokio::test]
async fn other_programs_may_say_less_and_more() {
    let answer = r#" {"ok":false,"more":{"x":[1]},"text":"no","task":"ended"}"#;
    let parrot = Parrot::saying(201, "", answer).await;
    let standing = wire().begin(&parrot.remote(), &task("t1", "north")).await.unwrap();
    let ended = TaskOutcome { ok: false, text: "no".into(), usage: Usage::default() };
    assert_eq!(standing, TaskStanding::Ended(ended));
    let parrot = Parrot::saying(200, "", r#"{"task":"open","since":"today"}"#).await;
    assert_eq!(wire().look(&parrot.remote(), &id("t1")).await.unwrap(), Some(TaskStanding::Open));
}

#[tokio::test]
async fn a_token_is_sent_over_http_only_to_this_machine() {
    // A resolver may map the second name to this machine.
    for host in ["192.0.2.1", "localhost.example", "127.0.0.1.example"] {
        let remote = Remote::new(format!("http://{host}/agents/digger/tasks")).token_env(TOKEN);
        let errors = [
            wire().begin(&remote, &task("t1", "north")).await.unwrap_err(),
            wire().look(&remote, &id("t1")).await.unwrap_err(),
            wire().stop(&remote, &id("t1")).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.detail, "a token is sent only over https://, or to this machine");
            assert!(!error.again);
        }
    }
    let parrot = Parrot::saying(200, "", r#"{"task":"open"}"#).await;
    let remote = Remote::new(parrot.remote().url.replace("127.0.0.1", "localhost")).token_env(TOKEN);
    wire().look(&remote, &id("t1")).await.unwrap();
    assert!(parrot.asked()[0].contains(&value_of(TOKEN)));
}

#[tokio::test]
async fn a_variable_that_is_not_set_is_named() {
    let parrot = Parrot::saying(200, "", r#"{"task":"open"}"#).await;
    let remote = parrot.remote().token_env("HOLDOVER_NO_SUCH_VARIABLE");
    let error = wire().look(&remote, &id("t1")).await.unwrap_err();
    assert_eq!(error.detail, "token_env: the environment variable HOLDOVER_NO_SUCH_VARIABLE is not set");
    assert!(!error.again);
    assert_eq!(parrot.asked().len(), 0);
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_not_shown() {
    for url in ["nowhere s3cret", "ftp://s3cret/", "http://me:s3cret@127.0.0.1/", "http://s3cret@127.0.0.1/"]
    {
        let error = wire().look(&Remote::new(url), &id("t1")).await.unwrap_err();
        assert!(error.detail.starts_with("url: it ") && !error.detail.contains("s3cret"), "{error}");
        assert!(!error.again);
        assert!(wire().reachable_at(url).is_err() && wire().allow_replies_to(url).is_err());
    }
    assert!(wire().reachable_at("https://here.example/?x").is_err());
}

#[tokio::test]
async fn a_task_that_is_too_long_is_not_sent() {
    let parrot = Parrot::saying(200, "", r#"{"task":"open"}"#).await;
    let error =
        wire().begin(&parrot.remote(), &task("t1", &"x".repeat(2 * BODY_BYTES_MAX))).await.unwrap_err();
    assert!(!error.again && error.detail.starts_with("the task has 20971"), "{error}");
    assert_eq!(parrot.asked().len(), 0);
}

#[tokio::test]
async fn an_outcome_is_sent_only_where_that_is_allowed() {
    let parrot = Parrot::saying(200, "", "").await;
    let url = format!("{}/outcomes/s3cret", parrot.origin);
    let wire = wire().allow_replies_to(&format!("{}/other", parrot.origin)).unwrap();
    let error = wire.tell(&url, &id("t1"), &done()).await.unwrap_err();
    assert!(!error.again);
    let why = "outcomes are not sent to this address: allow_replies_to does not allow it";
    assert_eq!(error.detail, format!("{}: {why}", parrot.origin));
    assert_eq!(parrot.asked().len(), 0);
    wire.allow_replies_to(&format!("{}/outcomes", parrot.origin))
        .unwrap()
        .tell(&url, &id("t1"), &done())
        .await
        .unwrap();
    assert_eq!(parrot.asked().len(), 1);
}
