//! Pages that use the AI SDK: what they send, and the parts that they get. Real clients are in `acceptance/pages.sh`.

use futures::StreamExt;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::bench::{READER, STRANGER, Server, told};

/// Returns a request of `useChat` with this last message.
pub(crate) fn request(session: &str, last: Value) -> Value {
    json!({ "id": session, "messages": [last], "trigger": "submit-message" })
}

pub(crate) fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
}

/// Reads the parts of a stream that has ended as it should.
pub(crate) fn parts(text: &str) -> Vec<Value> {
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (last, parts) = data.split_last().unwrap();
    assert_eq!(*last, "[DONE]", "{text}");
    parts.iter().map(|part| serde_json::from_str(part).unwrap()).collect()
}

/// Sends what a page sends, and returns the parts of the answer.
pub(crate) async fn chat(server: &Server, body: &Value) -> Vec<Value> {
    let answer = server.ask(Method::POST, "/api/chat").json(body).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["x-vercel-ai-ui-message-stream"], "v1");
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    parts(&answer.text().await.unwrap())
}

pub(crate) fn kinds(parts: &[Value]) -> Vec<&str> {
    let kinds = parts.iter().map(|part| part["type"].as_str().unwrap());
    // Only the cursor of a page that goes on later.
    kinds.filter(|kind| *kind != "message-metadata").collect()
}

/// Returns the texts of an answer, as a page shows them.
pub(crate) fn text(parts: &[Value]) -> String {
    let deltas = parts.iter().filter(|part| part["type"] == "text-delta");
    deltas.map(|part| part["delta"].as_str().unwrap()).collect()
}

pub(crate) fn find<'a>(parts: &'a [Value], kind: &str) -> &'a Value {
    parts.iter().find(|part| part["type"] == kind).unwrap_or_else(|| panic!("{kind} in {parts:#?}"))
}

#[tokio::test]
async fn a_message_is_answered_part_by_part() {
    let server = Server::start().await;
    let answer = chat(&server, &request("page-1", user("m1", "hello"))).await;
    let steps = ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"];
    assert_eq!(kinds(&answer), steps);
    assert_eq!(text(&answer), "You said: hello");
    let finish = find(&answer, "finish");
    assert_eq!((&answer[0]["messageId"], &finish["finishReason"]), (&json!("answer-1"), &json!("stop")));
    let shown = server.get("/v1/sessions/page-1").await;
    assert_eq!((&shown["status"], &shown["result"]["text"]), (&json!("idle"), &json!("You said: hello")));
}

#[tokio::test]
async fn a_message_that_is_sent_again_is_answered_again_but_begins_no_turn() {
    let server = Server::start().await;
    let hello = request("page-1", user("m1", "hello"));
    let first = chat(&server, &hello).await;
    let (text_of_first, again) = (text(&first), chat(&server, &hello).await);
    assert_eq!((text(&again), kinds(&again)), (text_of_first, kinds(&first)));
    let second = chat(&server, &request("page-1", user("m2", "more"))).await;
    assert_eq!((text(&second).as_str(), &second[0]["messageId"]), ("You said: more", &json!("answer-3")));
    let again = chat(&server, &hello).await;
    assert_eq!((text(&again).as_str(), &again[0]["messageId"]), ("You said: hello", &json!("answer-1")));
    let messages = server.get("/v1/sessions/page-1/messages").await;
    assert_eq!(messages["items"].as_array().unwrap().len(), 4, "{messages}");
    let other = request("page-1", user("m1", "bye"));
    let refused = server.post("/api/chat", &other).await;
    assert_eq!((refused.0, &refused.1["code"]), (StatusCode::CONFLICT, &json!("key_conflict")));
}

/// Returns the message of an assistant with a decision, as a page sends it.
pub(crate) fn decided(answer: &[Value], approved: bool, reason: Option<&str>) -> Value {
    let (asked, call) = (find(answer, "tool-approval-request"), find(answer, "tool-input-available"));
    let part = json!({
        "type": "dynamic-tool",
        "toolCallId": asked["toolCallId"],
        "toolName": call["toolName"],
        "state": "approval-responded",
        "input": call["input"],
        "approval": { "id": asked["approvalId"], "approved": approved, "reason": reason },
    });
    let finish = answer.last().unwrap();
    let (id, metadata) = (&answer[0]["messageId"], &finish["messageMetadata"]);
    json!({ "id": id, "role": "assistant", "parts": [{ "type": "step-start" }, part], "metadata": metadata })
}

#[tokio::test]
async fn a_call_is_approved_and_its_answer_goes_on_in_the_same_message() {
    let server = Server::start().await;
    let asks = chat(&server, &request("page-1", user("m1", "refund"))).await;
    let waits = ["start", "start-step", "tool-input-available", "tool-approval-request", "finish"];
    assert_eq!(kinds(&asks), waits);
    assert_eq!(asks[2]["input"], json!({ "order": 7, "api_key": "[redacted]" }));
    assert_eq!((&asks[2]["dynamic"], &asks[3]["reason"]), (&json!(true), &json!("money leaves the house")));
    assert_eq!(find(&asks, "finish")["finishReason"], "tool-calls");

    let approves = request("page-1", decided(&asks, true, None));
    let goes_on = chat(&server, &approves).await;
    let rest = [
        "start",
        "tool-output-available",
        "finish-step",
        "start-step",
        "text-start",
        "text-delta",
        "text-end",
        "finish-step",
        "finish",
    ];
    assert_eq!(kinds(&goes_on), rest);
    assert_eq!(goes_on[0]["messageId"], asks[0]["messageId"]);
    assert_eq!(goes_on[1]["output"], "order 7 is paid back");
    assert_eq!(text(&goes_on), "It says: order 7 is paid back");
    let again = chat(&server, &approves).await;
    assert_eq!(
        text(&again),
        text(&goes_on),
        "a decision that is sent again decides nothing, and is answered"
    );
    let messages = server.get("/v1/sessions/page-1/messages").await;
    let decision = &messages["items"][2]["message"]["decision"];
    assert_eq!((&decision["by"], &decision["approve"]), (&json!("ann"), &json!(true)));
}

#[tokio::test]
async fn a_call_is_denied_with_a_reason() {
    let server = Server::start().await;
    let asks = chat(&server, &request("page-1", user("m1", "refund"))).await;
    let goes_on = chat(&server, &request("page-1", decided(&asks, false, Some("too much")))).await;
    find(&goes_on, "tool-output-denied");
    assert!(text(&goes_on).contains("too much"), "{goes_on:#?}");
}

#[tokio::test]
async fn a_decision_counts_only_for_the_arguments_that_were_shown_and_from_those_who_may() {
    let server = Server::start().await;
    let asks = chat(&server, &request("page-1", user("m1", "refund"))).await;
    let mut unseen = decided(&asks, true, None);
    let id = unseen["parts"][1]["approval"]["id"].as_str().unwrap().to_owned();
    let (pending, digest) = id.rsplit_once('.').unwrap();
    unseen["parts"][1]["approval"]["id"] = json!(format!("{pending}.{}", "0".repeat(digest.len())));
    let refused = server.post("/api/chat", &request("page-1", unseen.clone())).await;
    assert_eq!((refused.0, &refused.1["code"]), (StatusCode::CONFLICT, &json!("not_seen")));
    unseen["parts"][1]["approval"]["id"] = json!("x");
    let refused = server.post("/api/chat", &request("page-1", unseen)).await;
    assert_eq!((refused.0, &refused.1["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("invalid")));
    let reads = server.anonymous(Method::POST, "/api/chat").bearer_auth(READER);
    let refused =
        told(reads.json(&request("page-1", decided(&asks, true, None))).send().await.unwrap()).await;
    assert_eq!(refused.0, StatusCode::FORBIDDEN);
    for path in ["/api/chat", "/api/ag-ui/clerk"] {
        let stranger = server.anonymous(Method::POST, path).bearer_auth(STRANGER);
        let body = match path {
            "/api/chat" => request("page-1", decided(&asks, true, None)),
            _ => json!({
                "threadId": "page-1",
                "runId": "r",
                "resume": [{ "interruptId": id, "status": "resolved", "payload": true }],
            }),
        };
        let refused = told(stranger.json(&body).send().await.unwrap()).await;
        assert_eq!((refused.0, &refused.1["code"]), (StatusCode::NOT_FOUND, &json!("not_found")), "{path}");
    }
    assert_eq!(server.get("/v1/sessions/page-1").await["status"], "suspended");
}

#[tokio::test]
async fn a_page_runs_a_tool_of_its_own() {
    let server = Server::start().await;
    let asks = chat(&server, &request("page-1", user("m1", "scan"))).await;
    assert_eq!(kinds(&asks), ["start", "start-step", "tool-input-available", "finish"]);
    let call = &asks[2];
    let part = json!({
        "type": "dynamic-tool",
        "toolCallId": call["toolCallId"],
        "toolName": "scan",
        "state": "output-available",
        "input": call["input"],
        "output": { "total": 12.5 },
    });
    let metadata = &find(&asks, "finish")["messageMetadata"];
    let message =
        json!({ "id": asks[0]["messageId"], "role": "assistant", "parts": [part], "metadata": metadata });
    let goes_on = chat(&server, &request("page-1", message)).await;
    assert_eq!(text(&goes_on), r#"It says: {"total":12.5}"#);
}

#[tokio::test]
async fn an_answer_is_made_again_and_a_message_is_edited() {
    let server = Server::start().await;
    chat(&server, &request("page-1", user("m1", "hello"))).await;
    let mut again = request("page-1", user("m1", "hello"));
    again["trigger"] = json!("regenerate-message");
    for turn in 2..=3 {
        let answer = chat(&server, &again).await;
        assert_eq!(text(&answer), "You said: hello");
        let shown = server.get("/v1/sessions/page-1").await;
        assert_eq!(shown["usage"]["model_calls"], turn, "{shown}");
    }
    let mut edits = request("page-1", user("m1", "good bye"));
    edits["messageId"] = json!("m1");
    assert_eq!(text(&chat(&server, &edits).await), "You said: good bye");
    let shown = server.get("/api/chat/page-1/messages").await;
    let texts: Vec<&Value> = shown["messages"].as_array().unwrap().iter().map(|it| &it["parts"]).collect();
    assert_eq!(texts.len(), 2, "{shown}");
    assert_eq!(texts[0][0]["text"], "good bye");
    assert_eq!(texts[1][1]["text"], "You said: good bye");
    // The ids of the transcript lead to the message, too.
    let id = shown["messages"][0]["id"].as_str().unwrap();
    let mut edits = request("page-1", user(id, "see you"));
    edits["messageId"] = json!(id);
    assert_eq!(text(&chat(&server, &edits).await), "You said: see you");
    let unknown =
        |id: &str| json!({ "id": "page-1", "messages": [user(id, "x")], "trigger": "regenerate-message" });
    let refused = server.post("/api/chat", &unknown("message-99")).await;
    assert_eq!((refused.0, &refused.1["code"]), (StatusCode::NOT_FOUND, &json!("message_unknown")));
    assert_eq!(text(&chat(&server, &unknown("m9")).await), "You said: x", "a message that had not arrived");
    // What was taken back is not on an earlier page, either.
    let shown = server.get("/api/chat/page-1/messages").await;
    assert_eq!((shown["messages"].as_array().unwrap().len(), shown.get("before")), (4, None), "{shown}");
}

#[tokio::test]
async fn a_page_stops_a_turn() {
    let server = Server::start().await;
    let body = request("page-1", user("m1", "wait"));
    let request = server.ask(Method::POST, "/api/chat").json(&body).send().await.unwrap();
    server.runs("/v1/sessions/page-1").await;
    let stopped = server.ask(Method::POST, "/api/chat/page-1/stop").send().await.unwrap();
    assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
    let answer = parts(&request.text().await.unwrap());
    let (finish, abort) = (answer.last().unwrap(), find(&answer, "abort"));
    assert_eq!(
        (&finish["finishReason"], &abort["reason"]),
        (&json!("other"), &json!("the turn was stopped"))
    );
    assert_eq!(server.get("/v1/sessions/page-1").await["status"], "interrupted");
}

#[tokio::test]
async fn a_turn_that_fails_says_why() {
    let server = Server::start().await;
    let answer = chat(&server, &request("page-1", user("m1", "fail"))).await;
    let error = find(&answer, "error")["errorText"].as_str().unwrap();
    assert!(error.contains("it is told to fail"), "{error}");
}

#[tokio::test]
async fn pictures_are_attached_and_nothing_else_is_fetched() {
    let server = Server::start().await;
    let picture = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
    let with = |url: &str| {
        let mut message = user("m1", "what is this?");
        message["parts"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "type": "file", "mediaType": "image/gif", "url": url }));
        request("page-1", message)
    };
    for url in ["http://127.0.0.1:1/x.gif", "file:///etc/passwd", "data:text/plain;base64,aGVsbG8=", ""] {
        let refused = server.post("/api/chat", &with(url)).await;
        assert_eq!(
            (refused.0, &refused.1["code"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!("invalid")),
            "{url}"
        );
    }
    assert_eq!(text(&chat(&server, &with(picture)).await), "You said: what is this?");
    let shown = server.get("/api/chat/page-1/messages").await;
    assert_eq!(shown["messages"][0]["parts"][0]["url"], picture);
}

#[tokio::test]
async fn bad_requests_are_refused_and_change_nothing() {
    let server = Server::start().await;
    let assistant = json!({ "id": "a", "role": "assistant", "parts": [] });
    let cases = [
        (json!({ "id": "page-1", "messages": [] }), "invalid"),
        (json!({ "id": "page 1", "messages": [user("m", "x")] }), "invalid"),
        (json!({ "id": "", "messages": [user("m", "x")] }), "invalid"),
        (json!({ "id": "page-1", "messages": [user("", "x")] }), "invalid"),
        (json!({ "id": "page-1", "messages": [{ "id": "m", "role": "system", "parts": [] }] }), "invalid"),
        (json!({ "id": "page-1", "messages": [{ "id": "m", "role": "user", "parts": [] }] }), "invalid"),
        (json!({ "id": "page-1", "messages": [user("m", "x")], "agent": "nobody" }), "agent_unknown"),
        (json!({ "id": "page-1", "messages": [assistant], "trigger": "submit-message" }), "not_found"),
        (
            json!({ "id": "page-1", "messages": [user("message-1", "x")], "trigger": "regenerate-message" }),
            "message_unknown",
        ),
        (json!({ "id": "page-1", "messages": [user("message-1", "x")] }), "not_found"),
        (json!({ "id": "page-1", "messages": [user("m", "x")], "trigger": "dance" }), "invalid"),
    ];
    for (body, code) in cases {
        let (status, problem) = server.post("/api/chat", &body).await;
        assert!(status.is_client_error(), "{body}: {status}");
        assert_eq!(problem["code"], code, "{body}: {problem}");
    }
    assert_eq!(server.get("/v1/sessions").await["items"], json!([]));
}

/// A page that was reloaded gets what it missed: nothing if nothing runs, or else the newest answer from its start.
#[tokio::test]
async fn the_newest_answer_is_resumed() {
    let server = Server::start().await;
    let resume = |query: &str| server.ask(Method::GET, &format!("/api/chat/page-1/stream{query}"));
    assert_eq!(resume("").send().await.unwrap().status(), StatusCode::NO_CONTENT, "before the first message");
    let body = request("page-1", user("m1", "speak slowly"));
    let live = server.ask(Method::POST, "/api/chat").json(&body).send().await.unwrap();
    let before = server.get("/api/chat/page-1/messages").await;
    assert_eq!(before["running"], true, "{before}");
    let resumed = resume("").send().await.unwrap();
    assert_eq!(resumed.status(), StatusCode::OK);
    let (live, resumed) = (parts(&live.text().await.unwrap()), parts(&resumed.text().await.unwrap()));
    let whole = "word 0 word 1 word 2 word 3 word 4 word 5 ";
    assert_eq!((text(&live).as_str(), text(&resumed).as_str()), (whole, whole));
    assert!(kinds(&live).iter().filter(|kind| **kind == "text-delta").count() >= 2, "{live:#?}");
    assert_eq!(live[0]["messageId"], resumed[0]["messageId"]);
    assert_eq!(resume("").send().await.unwrap().status(), StatusCode::NO_CONTENT, "nothing runs");
    // A page that read its messages before the answer was there gets it.
    let cursor = before["cursor"].as_str().unwrap();
    let late = resume(&format!("?after={cursor}")).send().await.unwrap();
    assert_eq!(text(&parts(&late.text().await.unwrap())), whole);
    let after = server.get("/api/chat/page-1/messages").await;
    assert_eq!(
        (&after["running"], &after["messages"][1]["parts"][1]["text"]),
        (&json!(false), &json!(whole))
    );
    let seen = resume(&format!("?after={}", after["cursor"].as_str().unwrap())).send().await.unwrap();
    assert_eq!(seen.status(), StatusCode::NO_CONTENT);
}

/// When its process stops, a stream does not end as if it were complete.
#[tokio::test]
async fn a_stream_breaks_when_its_process_stops() {
    let server = Server::start().await;
    let body = request("page-1", user("m1", "wait"));
    let answer = server.ask(Method::POST, "/api/chat").json(&body).send().await.unwrap();
    let mut bytes = answer.bytes_stream();
    bytes.next().await.unwrap().unwrap();
    server.stop.cancel();
    let rest: Vec<_> = bytes.collect().await;
    assert!(rest.last().is_some_and(Result::is_err), "{rest:?}");
}

#[tokio::test]
async fn a_page_shows_calls_as_they_stand() {
    let server = Server::start().await;
    let asks = chat(&server, &request("page-1", user("m1", "refund"))).await;
    let shown = server.get("/api/chat/page-1/messages").await;
    let part = &shown["messages"][1]["parts"][1];
    assert_eq!(
        (&part["state"], &part["input"]["api_key"]),
        (&json!("approval-requested"), &json!("[redacted]"))
    );
    assert_eq!(part["approval"]["id"], find(&asks, "tool-approval-request")["approvalId"]);
    let message = &shown["messages"][1];
    assert_eq!((&message["id"], &shown["running"]), (&asks[0]["messageId"], &json!(false)));
    // A page that was reloaded decides with what it was shown.
    let mut message = message.clone();
    message["parts"][1]["state"] = json!("approval-responded");
    message["parts"][1]["approval"]["approved"] = json!(true);
    let goes_on = chat(&server, &request("page-1", message)).await;
    assert_eq!(text(&goes_on), "It says: order 7 is paid back");
    let shown = server.get("/api/chat/page-1/messages").await;
    let part = &shown["messages"][1]["parts"][1];
    assert_eq!(
        (&part["state"], &part["output"]),
        (&json!("output-available"), &json!("order 7 is paid back"))
    );
    assert_eq!(part["approval"]["approved"], true);
}
