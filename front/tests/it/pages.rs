//! Situations of pages that both protocols must master.

use holdover_front::FrontOptions;
use holdover_runtime_local::{Agents, Runtime, RuntimeOptions};
use holdover_store_memory::MemoryStore;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::agui::{events, outcome, run, user as said};
use crate::bench::{SENDER, Server, WRITER, boss, callers, told};
use crate::chat::{chat, decided, find, kinds, request, text, user};

/// Returns the decisions about all calls of an answer that wait.
fn all_decided(answer: &[Value], approved: bool) -> Value {
    let mut message = decided(answer, approved, None);
    let asked = answer.iter().filter(|part| part["type"] == "tool-approval-request");
    message["parts"] = asked
        .map(|asked| {
            json!({
                "type": "dynamic-tool",
                "toolCallId": asked["toolCallId"],
                "state": "approval-responded",
                "approval": { "id": asked["approvalId"], "approved": approved },
            })
        })
        .collect();
    message
}

async fn decisions(server: &Server, session: &str) -> usize {
    let messages = server.get(&format!("/v1/sessions/{session}/messages")).await;
    let items = messages["items"].as_array().unwrap().clone();
    items.iter().filter(|entry| entry["message"]["role"] == "decision").count()
}

#[tokio::test]
async fn each_request_needs_the_permissions_for_all_that_it_does() {
    let server = Server::start().await;
    let asks = chat(&server, &request("page-1", user("m1", "refund"))).await;
    let decides = request("page-1", decided(&asks, true, None));
    let id = decides["messages"][0]["parts"][1]["approval"]["id"].clone();
    let resumes = json!({
        "threadId": "page-1",
        "runId": "r",
        "resume": [{ "interruptId": id, "status": "resolved", "payload": true }],
    });
    let says = request("page-2", user("m1", "hello"));
    let runs = run("page-2", "r", json!([said("m1", "hello")]));
    for (path, token, body, may) in [
        ("/api/chat", SENDER, &decides, "decide"),
        ("/api/ag-ui/clerk", SENDER, &resumes, "decide"),
        ("/api/chat", WRITER, &says, "read"),
        ("/api/ag-ui/clerk", WRITER, &runs, "read"),
    ] {
        let refused = server.anonymous(Method::POST, path).bearer_auth(token).json(body).send().await;
        let (status, problem) = told(refused.unwrap()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path} {may}: {problem}");
        assert!(problem["detail"].as_str().unwrap().ends_with(&format!("to {may}")), "{problem}");
    }
    assert_eq!(decisions(&server, "page-1").await, 0);
    assert_eq!(server.get("/v1/sessions/page-2").await["code"], "not_found");
}

/// Of several answers in a request, none is delivered if one is refused.
#[tokio::test]
async fn a_request_with_one_bad_answer_changes_nothing() {
    let server = Server::start().await;
    let asks = chat(&server, &request("page-1", user("m1", "refund twice"))).await;
    let good = all_decided(&asks, true);
    assert_eq!(good["parts"].as_array().unwrap().len(), 2, "{asks:#?}");
    let mut unseen = good.clone();
    let id = unseen["parts"][1]["approval"]["id"].as_str().unwrap();
    let (pending, digest) = id.rsplit_once('.').unwrap();
    unseen["parts"][1]["approval"]["id"] = json!(format!("{pending}.{}", "0".repeat(digest.len())));
    let refused = server.post("/api/chat", &request("page-1", unseen)).await;
    assert_eq!((refused.0, &refused.1["code"]), (StatusCode::CONFLICT, &json!("not_seen")));

    let other = chat(&server, &request("page-2", user("m1", "hello"))).await;
    let mut lost = good.clone();
    lost["metadata"] = other.last().unwrap()["messageMetadata"].clone();
    let refused = server.post("/api/chat", &request("page-1", lost)).await;
    assert_eq!((refused.0, &refused.1["code"]), (StatusCode::GONE, &json!("gone")));
    assert_eq!(server.get("/v1/sessions/page-1").await["pending"]["items"].as_array().unwrap().len(), 2);

    let goes_on = chat(&server, &request("page-1", good)).await;
    let outputs = kinds(&goes_on).iter().filter(|kind| **kind == "tool-output-available").count();
    assert_eq!((outputs, decisions(&server, "page-1").await), (2, 2));
}

/// A page that sends a message while a question is open is told at once that the turn waits.
#[tokio::test]
async fn a_message_behind_a_question_does_not_hang() {
    let server = Server::start().await;
    let asks = chat(&server, &request("page-1", user("m1", "refund"))).await;
    let behind = chat(&server, &request("page-1", user("m2", "hello"))).await;
    assert_eq!(kinds(&behind), ["finish"]);
    let waits = events(&server, &run("page-1", "r", json!([said("m3", "bye")]))).await;
    assert_eq!(outcome(&waits)["interrupts"].as_array().unwrap().len(), 1);
    let goes_on = chat(&server, &request("page-1", decided(&asks, true, None))).await;
    assert_eq!(find(&goes_on, "tool-output-available")["output"], "order 7 is paid back");
}

#[tokio::test]
async fn what_a_turn_that_fails_had_said_is_taken_back() {
    let server = Server::start().await;
    let body = request("page-1", user("m1", "fail slowly"));
    for (version, takes_back) in [("7", "reset-step"), ("6", "data-void")] {
        let path = format!("/api/chat?v={version}");
        let mut body = body.clone();
        body["id"] = json!(format!("page-{version}"));
        let answer = server.ask(Method::POST, &path).json(&body).send().await.unwrap().text().await.unwrap();
        let parts = crate::chat::parts(&answer);
        assert!(text(&parts).starts_with("so "), "{parts:#?}");
        let place =
            |kind: &str| kinds(&parts).iter().rposition(|it| *it == kind).unwrap_or_else(|| panic!("{kind}"));
        assert!(
            place("text-delta") < place("text-end") && place("text-end") < place(takes_back),
            "{parts:#?}"
        );
        assert!(place(takes_back) < place("error"));
    }
    let failed = events(&server, &run("page-8", "r", json!([said("m1", "fail slowly")]))).await;
    let last_snapshot = failed.iter().rfind(|event| event["type"] == "MESSAGES_SNAPSHOT").unwrap();
    assert_eq!(last_snapshot["messages"].as_array().unwrap().len(), 1, "{failed:#?}");
}

/// A client of AG-UI shows each message of a run once: it is in the snapshot or it is told.
#[tokio::test]
async fn a_run_that_answers_tells_only_what_its_snapshot_does_not_have() {
    let server = Server::start().await;
    let asks = events(&server, &run("page-1", "r1", json!([said("m1", "refund")]))).await;
    let mut body = run("page-1", "r2", json!([]));
    let id = &outcome(&asks)["interrupts"][0]["id"];
    body["resume"] = json!([{ "interruptId": id, "status": "resolved", "payload": true }]);
    let goes_on = events(&server, &body).await;
    let snapshot = find(&goes_on, "MESSAGES_SNAPSHOT")["messages"].as_array().unwrap().clone();
    let roles: Vec<_> = snapshot.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant"]);
    find(&goes_on, "TOOL_CALL_RESULT");
    find(&goes_on, "TEXT_MESSAGE_CONTENT");
}

#[tokio::test]
async fn a_message_that_came_from_here_is_not_sent_again() {
    let server = Server::start().await;
    events(&server, &run("page-1", "r1", json!([said("m1", "fail")]))).await;
    let known = json!([{ "id": "message-1", "role": "user", "content": "fail" }]);
    let again = events(&server, &run("page-1", "r2", known)).await;
    assert_eq!(again.last().unwrap()["type"], "RUN_ERROR", "the turn has failed: {again:#?}");
    chat(&server, &request("page-1", user("message-1", "fail"))).await;
    let messages = server.get("/v1/sessions/page-1/messages").await;
    assert_eq!(messages["items"].as_array().unwrap().len(), 1, "{messages}");
}

#[tokio::test]
async fn a_result_and_a_message_in_one_run_are_both_delivered() {
    let server = Server::start().await;
    let asks = events(&server, &run("page-1", "r1", json!([said("m1", "scan")]))).await;
    let call = &find(&asks, "TOOL_CALL_START")["toolCallId"];
    let messages = json!([
        { "id": "t1", "role": "tool", "toolCallId": call, "content": "12.50" },
        said("m2", "hello"),
    ]);
    let answer = events(&server, &run("page-1", "r2", messages)).await;
    assert!(crate::agui::text(&answer).ends_with("You said: hello"), "{answer:#?}");
    let messages = server.get("/v1/sessions/page-1/messages").await.to_string();
    assert!(messages.contains(r#""content":"12.50""#), "{messages}");
}

#[tokio::test]
async fn a_turn_that_is_tried_again_is_told_although_nobody_asks_again() {
    let server = Server::start().await;
    chat(&server, &request("page-1", user("m1", "fail"))).await;
    let cursor = server.get("/v1/sessions/page-1").await["cursor"].as_str().unwrap().to_owned();
    let retried = server.post("/v1/sessions/page-1/retry", &json!({})).await;
    assert!(retried.0.is_success(), "{}", retried.1);
    let path = format!("/api/chat/page-1/stream?after={cursor}");
    let resumed = server.ask(Method::GET, &path).send().await.unwrap();
    assert_eq!(resumed.status(), StatusCode::OK);
    let parts = crate::chat::parts(&resumed.text().await.unwrap());
    assert_eq!(parts[0]["messageId"], "answer-1", "{parts:#?}");
    find(&parts, "error");
}

/// The calls of children have the same ids as those of the session. A question of a child is shown at the call for which the
/// child works, and nowhere else.
#[tokio::test]
async fn a_question_of_a_sub_agent_is_answered_from_a_page() {
    let options = RuntimeOptions::default().effects_override(Some("memory".into()));
    let runtime = Runtime::new(MemoryStore::new(), Agents::new().with(boss()), options);
    let server = Server::on(runtime, callers(), |options: FrontOptions| options.agent(boss())).await;
    let mut body = request("page-1", user("m1", "delegate a refund"));
    body["agent"] = json!("boss");
    let asks = chat(&server, &body).await;
    let (call, asked) = (find(&asks, "tool-input-available"), find(&asks, "tool-approval-request"));
    assert_eq!((&call["toolName"], &call["toolCallId"]), (&json!("helper"), &asked["toolCallId"]));
    let reason = asked["reason"].as_str().unwrap();
    assert!(reason.contains("refund") && reason.contains("money leaves the house"), "{reason}");
    assert!(reason.contains("[redacted]") && !reason.contains("sk-live"), "{reason}");
    let children = find(&asks, "data-children")["data"]["children"].as_array().unwrap().clone();
    assert_eq!(children.len(), 1);

    // A page that was reloaded shows the same.
    let shown = server.get("/api/chat/page-1/messages").await;
    let part = &shown["messages"][1]["parts"][1];
    assert_eq!((&part["toolName"], &part["state"]), (&json!("helper"), &json!("approval-requested")));
    assert_eq!(part["approval"]["id"], asked["approvalId"]);

    let attached = events(&server, &run("page-1", "r1", json!([]))).await;
    let interrupts = outcome(&attached)["interrupts"].as_array().unwrap();
    assert_eq!((interrupts.len(), interrupts[0].get("toolCallId")), (1, None), "{interrupts:?}");
    assert_eq!(interrupts[0]["metadata"]["session"], children[0]);

    let goes_on = chat(&server, &request("page-1", decided(&asks, true, None))).await;
    assert!(text(&goes_on).starts_with("It says: "), "{goes_on:#?}");
    find(&goes_on, "tool-output-available");
    let child = server.get(&format!("/v1/sessions/{}", children[0].as_str().unwrap())).await;
    assert_eq!(child["result"]["text"], "It says: order 7 is paid back");
    let subs = run("page-2", "r1", json!([said("m1", "delegate a refund")]));
    let begun = server.ask(Method::POST, "/api/ag-ui/boss").json(&subs).send().await.unwrap();
    let begun = begun.text().await.unwrap();
    assert!(
        begun.contains("SUBAGENT_STARTED") && begun.contains(r#""outcome":{"type":"suspended"}"#),
        "{begun}"
    );
}
