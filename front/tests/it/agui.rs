//! Pages that speak AG-UI: what they send, and the events that they get. The real client is in `acceptance/pages.sh`.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::bench::{READER, Server, told};

pub(crate) fn run(thread: &str, run: &str, messages: Value) -> Value {
    json!({
        "threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "messages": messages, "tools": [],
        "context": [], "forwardedProps": {},
    })
}

pub(crate) fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "content": text })
}

pub(crate) async fn events(server: &Server, body: &Value) -> Vec<Value> {
    let answer = server.ask(Method::POST, "/api/ag-ui/clerk").json(body).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = answer.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|event| serde_json::from_str(event).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn find<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    events.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("{kind} in {events:#?}"))
}

/// Returns the texts that are streamed.
pub(crate) fn text(events: &[Value]) -> String {
    let parts = events.iter().filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT");
    parts.map(|event| event["delta"].as_str().unwrap()).collect()
}

pub(crate) fn outcome(events: &[Value]) -> &Value {
    let last = events.last().unwrap();
    assert_eq!(last["type"], "RUN_FINISHED", "{events:#?}");
    &last["outcome"]
}

#[tokio::test]
async fn a_message_is_answered_event_by_event() {
    let server = Server::start().await;
    let body = run("thread-1", "run-1", json!([user("m1", "hello")]));
    let answer = events(&server, &body).await;
    let order = [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ];
    assert_eq!(kinds(&answer), order);
    assert_eq!(text(&answer), "You said: hello");
    assert_eq!((&answer[0]["threadId"], &answer[0]["runId"]), (&json!("thread-1"), &json!("run-1")));
    assert_eq!(answer[2]["messages"], json!([{ "id": "message-1", "role": "user", "content": "hello" }]));
    assert_eq!(outcome(&answer), &json!({ "type": "success" }));
    assert_eq!(answer[8]["usage"], json!([{ "inputTokens": 3, "outputTokens": 2 }]));
    let again = events(&server, &body).await;
    assert_eq!((kinds(&again), text(&again)), (order.to_vec(), text(&answer)), "a repeat begins no turn");
    let messages = server.get("/v1/sessions/thread-1/messages").await;
    assert_eq!(messages["items"].as_array().unwrap().len(), 2, "{messages}");
}

#[tokio::test]
async fn a_run_that_waits_names_its_interrupts_and_a_new_run_answers_them() {
    let server = Server::start().await;
    let asks = events(&server, &run("thread-1", "run-1", json!([user("m1", "refund")]))).await;
    let order = [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "STEP_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ];
    assert_eq!(kinds(&asks), order);
    assert_eq!(asks[5]["delta"], r#"{"order":7,"api_key":"[redacted]"}"#);
    let interrupt = &outcome(&asks)["interrupts"][0];
    assert_eq!(outcome(&asks)["type"], "interrupt");
    assert_eq!(
        (&interrupt["reason"], &interrupt["toolCallId"]),
        (&json!("approval"), &asks[4]["toolCallId"])
    );
    assert_eq!(interrupt["message"], "money leaves the house");
    assert_eq!(interrupt["metadata"]["arguments"], asks[5]["delta"]);

    let answers = |payload: Value| {
        let mut body = run("thread-1", "run-2", json!([]));
        let entry = json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": payload });
        body["resume"] = json!([entry]);
        body
    };
    let reads = server.anonymous(Method::POST, "/api/ag-ui/clerk").bearer_auth(READER);
    let refused = told(reads.json(&answers(json!(true))).send().await.unwrap()).await;
    assert_eq!(refused.0, StatusCode::FORBIDDEN);
    let edited = answers(json!({ "approved": true, "arguments": { "order": 8 } }));
    let goes_on = events(&server, &edited).await;
    assert_eq!(find(&goes_on, "TOOL_CALL_RESULT")["content"], "order 8 is paid back");
    assert_eq!(text(&goes_on), "It says: order 8 is paid back");
    assert_eq!(outcome(&goes_on), &json!({ "type": "success" }));
    let shown = find(&goes_on, "MESSAGES_SNAPSHOT")["messages"].as_array().unwrap();
    assert_eq!(shown[1]["toolCalls"][0]["id"], interrupt["toolCallId"]);
    let decision = &server.get("/v1/sessions/thread-1/messages").await["items"][2]["message"]["decision"];
    assert_eq!(decision["by"], "ann");
}

#[tokio::test]
async fn an_interrupt_is_cancelled_or_denied() {
    let server = Server::start().await;
    for (thread, status, payload, why) in [
        ("thread-1", "cancelled", Value::Null, "cancelled"),
        ("thread-2", "resolved", json!({ "approved": false, "reason": "too much" }), "too much"),
    ] {
        let asks = events(&server, &run(thread, "run-1", json!([user("m1", "refund")]))).await;
        let interrupt = &outcome(&asks)["interrupts"][0]["id"];
        let mut body = run(thread, "run-2", json!([]));
        body["resume"] = json!([{ "interruptId": interrupt, "status": status, "payload": payload }]);
        let goes_on = events(&server, &body).await;
        assert!(text(&goes_on).contains(why), "{goes_on:#?}");
    }
}

#[tokio::test]
async fn a_page_runs_a_tool_of_its_own() {
    let server = Server::start().await;
    let asks = events(&server, &run("thread-1", "run-1", json!([user("m1", "scan")]))).await;
    let call = &find(&asks, "TOOL_CALL_START")["toolCallId"];
    assert_eq!(outcome(&asks), &json!({ "type": "success", "pendingToolCallIds": [call] }));
    let messages = json!([
        user("m1", "scan"),
        { "id": "a1", "role": "assistant", "toolCalls": [{ "id": call, "type": "function", "function": {} }] },
        { "id": "t1", "role": "tool", "toolCallId": call, "content": "12.50" },
    ]);
    let goes_on = events(&server, &run("thread-1", "run-2", messages)).await;
    assert_eq!(text(&goes_on), "It says: 12.50");
}

#[tokio::test]
async fn the_custom_state_is_sent_with_its_changes() {
    let server = Server::start().await;
    let answer = events(&server, &run("thread-1", "run-1", json!([user("m1", "note")]))).await;
    // The snapshot has what there is when the run is told; the turn may be ahead of it.
    let mut state = find(&answer, "STATE_SNAPSHOT")["snapshot"].as_object().unwrap().clone();
    for delta in answer.iter().filter(|event| event["type"] == "STATE_DELTA") {
        for change in delta["delta"].as_array().unwrap() {
            assert_eq!(change["op"], "add");
            let path = change["path"].as_str().unwrap().strip_prefix('/').unwrap();
            assert!(state.insert(path.to_owned(), change["value"].clone()).is_none());
        }
    }
    assert_eq!(Value::Object(state), json!({ "noted": 7, "api_key": "[redacted]" }));
    let next = events(&server, &run("thread-1", "run-2", json!([user("m2", "hello")]))).await;
    assert_eq!(find(&next, "STATE_SNAPSHOT")["snapshot"], json!({ "noted": 7, "api_key": "[redacted]" }));
    assert!(!kinds(&next).contains(&"STATE_DELTA"));
}

#[tokio::test]
async fn runs_that_fail_or_are_stopped_say_so() {
    let server = Server::start().await;
    let failed = events(&server, &run("thread-1", "run-1", json!([user("m1", "fail")]))).await;
    let last = failed.last().unwrap();
    assert_eq!(last["type"], "RUN_ERROR");
    assert!(last["message"].as_str().unwrap().contains("it is told to fail"), "{last}");
    let body = run("thread-2", "run-1", json!([user("m1", "wait")]));
    let waits = events(&server, &body);
    let stops = async {
        server.runs("/v1/sessions/thread-2").await;
        server.post("/v1/sessions/thread-2/interrupt", &json!({ "reason": "enough" })).await
    };
    let (stopped, _) = futures::join!(waits, stops);
    assert_eq!(outcome(&stopped), &json!({ "type": "cancelled" }));
}

/// A page that was reloaded runs without a message, and gets what there is and what comes.
#[tokio::test]
async fn a_run_without_a_message_attaches_to_what_runs() {
    let server = Server::start().await;
    let body = run("thread-1", "run-1", json!([user("m1", "speak slowly")]));
    let live = events(&server, &body);
    let attaches = async {
        server.runs("/v1/sessions/thread-1").await;
        events(&server, &run("thread-1", "run-2", json!([]))).await
    };
    let (live, attached) = futures::join!(live, attaches);
    let whole = "word 0 word 1 word 2 word 3 word 4 word 5 ";
    assert_eq!((text(&live).as_str(), text(&attached).as_str()), (whole, whole));
    let rested = events(&server, &run("thread-1", "run-3", json!([]))).await;
    assert_eq!(kinds(&rested), ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert_eq!(rested[2]["messages"][1]["content"], whole);
}

#[tokio::test]
async fn bad_requests_are_refused_and_change_nothing() {
    let server = Server::start().await;
    let file = json!([{ "type": "image", "source": { "type": "url", "value": "http://127.0.0.1:1/x.png" } }]);
    let message = json!([{ "id": "m1", "role": "user", "content": file }]);
    let mut answers = run("thread-1", "run-1", json!([]));
    answers["resume"] = json!([{ "interruptId": "x", "status": "resolved" }]);
    let cases = [
        (run("thread 1", "r", json!([user("m1", "x")])), "invalid"),
        (run("thread-1", "r", json!([user("", "x")])), "invalid"),
        (run("thread-1", "r", json!([user("m1", "")])), "invalid"),
        (run("thread-1", "r", message), "invalid"),
        (run("thread-1", "r", json!([])), "not_found"),
        (json!({ "runId": "r" }), "invalid"),
        (answers, "invalid"),
    ];
    for (body, code) in cases {
        let (status, problem) = server.post("/api/ag-ui/clerk", &body).await;
        assert!(status.is_client_error(), "{body}: {status}");
        assert_eq!(problem["code"], code, "{body}: {problem}");
    }
    let nobody = server.post("/api/ag-ui/nobody", &run("thread-1", "r", json!([user("m1", "x")]))).await;
    assert_eq!((nobody.0, &nobody.1["code"]), (StatusCode::NOT_FOUND, &json!("agent_unknown")));
    assert_eq!(server.get("/v1/sessions").await["items"], json!([]));
}
