//! The adapter against a server on loopback.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use holdover_core::message::{AssistantMessage, AssistantPart, Message, Notice, ResultStatus};
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelTool, StopReason, TokenUsage,
};
use serde_json::{Value, json};

use super::Anthropic;
use crate::testing::server::{Reply, Then, serve};
use crate::testing::{self, answer, ask, assistant, faults, request, result, settings, user};
use crate::wire::{ApiKey, ServerSettings};

fn open(settings: ServerSettings) -> Arc<dyn Model> {
    Arc::new(Anthropic::new(settings).unwrap())
}

async fn check_fails(reply: Reply, before: &[ModelEvent], kind: ModelErrorKind) -> ModelError {
    testing::check_fails(open, reply, before, kind).await
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn message_start() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "test-model", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": 12, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 2000,
            "cache_creation": { "ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0 },
            "output_tokens": 1, "service_tier": "standard",
        },
    } })
}

fn block(index: u64, content_block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": content_block })
}

fn piece(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn text_block(index: u64) -> Value {
    block(index, json!({ "type": "text", "text": "" }))
}

fn says(index: u64, text: &str) -> Value {
    piece(index, json!({ "type": "text_delta", "text": text }))
}

fn call_block(index: u64, tool: &str) -> Value {
    block(index, json!({ "type": "tool_use", "id": "toolu_same", "name": tool, "input": {} }))
}

fn writes(index: u64, partial_json: &str) -> Value {
    piece(index, json!({ "type": "input_json_delta", "partial_json": partial_json }))
}

fn block_stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn stops(reason: &str) -> Value {
    json!({
        "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": 25 },
    })
}

fn message_stop() -> Value {
    json!({ "type": "message_stop" })
}

fn ping() -> Value {
    json!({ "type": "ping" })
}

/// A whole answer of these blocks.
fn whole(blocks: &[Value], reason: &str) -> Reply {
    Reply::events(&[&[message_start(), ping()], blocks, &[stops(reason), message_stop()]].concat())
}

fn call(tool: &str, arguments: &str) -> AnswerPart {
    AnswerPart::Call { tool: tool.to_owned(), arguments: arguments.to_owned() }
}

fn reasoning(text: &str, signature: Option<&str>) -> AnswerPart {
    AnswerPart::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

#[tokio::test]
async fn a_streamed_answer_comes_in_pieces_and_then_whole() {
    let blocks = [
        block(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        piece(0, json!({ "type": "thinking_delta", "thinking": "Hm. " })),
        piece(0, json!({ "type": "thinking_delta", "thinking": "So." })),
        piece(0, json!({ "type": "signature_delta", "signature": "EqQB" })),
        piece(0, json!({ "type": "signature_delta", "signature": "CgIY==" })),
        block_stop(0),
        block(1, json!({ "type": "redacted_thinking", "data": "EmwK" })),
        block_stop(1),
        text_block(2),
        ping(),
        says(2, "Good "),
        says(2, "day\n\nto you"),
        block_stop(2),
    ];
    let (events, seen) = testing::exchange(open, whole(&blocks, "end_turn")).await;
    let answer = ModelAnswer {
        parts: vec![
            reasoning("Hm. So.", Some("EqQBCgIY==")),
            reasoning("", Some("redacted:EmwK")),
            AnswerPart::Text("Good day\n\nto you".to_owned()),
        ],
        stop: StopReason::EndTurn,
        usage: TokenUsage { input: 2112, output: 25, cached: 2000, reasoning: 0 },
    };
    let thinks = |text: &str| Ok(ModelEvent::Reasoning(text.to_owned()));
    assert_eq!(
        events,
        [
            thinks("Hm. "),
            thinks("So."),
            Ok(text("Good ")),
            Ok(text("day\n\nto you")),
            Ok(ModelEvent::Finished(answer)),
        ]
    );
    assert!(seen.head.starts_with("post /v1/messages http/1.1"), "{}", seen.head);
    assert!(seen.head.contains("\nanthropic-version: 2023-06-01"), "{}", seen.head);
    assert!(seen.head.contains("\ncontent-type: application/json"), "{}", seen.head);
    assert!(!seen.head.contains("x-api-key"), "no key, nothing sent: {}", seen.head);
    assert_eq!(
        seen.body,
        json!({
            "model": "test-model",
            "stream": true,
            "max_tokens": 100,
            "system": "Be brief.",
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hello" }] }],
        })
    );
}

#[tokio::test]
async fn calls_keep_their_order_and_their_bytes() {
    let blocks = [
        text_block(0),
        says(0, "I look."),
        block_stop(0),
        call_block(1, "read_file"),
        writes(1, ""),
        writes(1, "{\"path\":  "),
        writes(1, "\"b\", \"a\": 1e400}"),
        block_stop(1),
        block(2, json!({ "type": "thinking", "thinking": "And?", "signature": "c2ln" })),
        block_stop(2),
        call_block(3, "list_files"),
        block_stop(3),
        call_block(4, "list_files"),
        writes(4, "{broken"),
        block_stop(4),
    ];
    let (mut events, _) = testing::exchange(open, whole(&blocks, "tool_use")).await;
    let Some(Ok(ModelEvent::Finished(answer))) = events.pop() else { panic!("finished") };
    let started = |index, tool: &str| Ok(ModelEvent::CallStarted { index, tool: tool.to_owned() });
    assert_eq!(
        events,
        [
            Ok(text("I look.")),
            started(0, "read_file"),
            Ok(ModelEvent::Reasoning("And?".to_owned())),
            started(1, "list_files"),
            started(2, "list_files"),
        ]
    );
    assert_eq!(
        answer.parts,
        [
            AnswerPart::Text("I look.".to_owned()),
            call("read_file", "{\"path\":  \"b\", \"a\": 1e400}"),
            reasoning("And?", Some("c2ln")),
            call("list_files", "{}"),
            call("list_files", "{broken"),
        ]
    );
    assert_eq!(answer.stop, StopReason::ToolUse);
}

#[tokio::test]
async fn reasons_to_stop_are_told_apart() {
    for (reason, stop) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("new_reason", StopReason::EndTurn),
    ] {
        assert_eq!(answer(open, whole(&[], reason)).await.stop, stop, "{reason}");
    }
    check_fails(whole(&[], "tool_use"), &[], ModelErrorKind::Malformed).await;
    // A call that was cut off has no arguments yet, which are not none.
    let calls = [call_block(0, "first"), block_stop(0), call_block(1, "last"), block_stop(1)];
    for (reason, last) in [("max_tokens", ""), ("tool_use", "{}"), ("end_turn", "{}")] {
        let found = answer(open, whole(&calls, reason)).await;
        assert_eq!(found.parts, [call("first", "{}"), call("last", last)], "{reason}");
    }
}

#[tokio::test]
async fn other_servers_count_and_call_in_their_own_way() {
    let given = json!({ "type": "tool_use", "id": "a", "name": "read", "input": { "b": 1, "a": 2 } });
    let end = json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": {
        "input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 9,
        "output_tokens_details": { "thinking_tokens": 4 },
    } });
    let start = json!({ "type": "message_start", "message": {} });
    let new = json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "new_delta", "x": 1 } });
    let reply = Reply::sse(&[
        start,
        block(0, given),
        block(1, json!({ "type": "new_block", "text": 1 })),
        new,
        block_stop(1),
        json!({ "type": "new_event" }),
        end,
        message_stop(),
    ]);
    let found = answer(open, reply).await;
    let [AnswerPart::Call { arguments, .. }] = found.parts.as_slice() else { panic!("{found:?}") };
    assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({ "b": 1, "a": 2 }));
    assert_eq!(found.usage, TokenUsage { input: 10, output: 9, cached: 3, reasoning: 4 });
}

#[tokio::test]
async fn a_cut_stream_is_never_an_answer() {
    use ModelErrorKind::Incomplete;
    let begun = [message_start(), text_block(0), says(0, "Good ")];
    let then = |more: &[Value]| Reply::events(&[&begun, more].concat());
    check_fails(then(&[]), &[text("Good ")], Incomplete).await;
    check_fails(then(&[block_stop(0)]), &[text("Good ")], Incomplete).await;
    check_fails(then(&[message_stop()]), &[text("Good ")], Incomplete).await;
    check_fails(then(&[stops(""), message_stop()]), &[text("Good ")], Incomplete).await;
    // All but the very last event.
    check_fails(then(&[block_stop(0), stops("end_turn")]), &[text("Good ")], Incomplete).await;
    check_fails(then(&[stops("end_turn")]).then(Then::Cut), &[text("Good ")], Incomplete).await;
    check_fails(Reply::events(&[]), &[], Incomplete).await;
}

#[tokio::test]
async fn the_first_error_ends_the_stream() {
    use ModelErrorKind::{ContextLimit, Malformed, Provider, RateLimited};
    let after = |bad: Value| {
        let begun = [message_start(), text_block(0), says(0, "Good "), bad];
        Reply::events(&[&begun[..], &[says(0, "day"), stops("end_turn"), message_stop()]].concat())
    };
    let error =
        |kind: &str, message: &str| json!({ "type": "error", "error": { "type": kind, "message": message } });
    for (bad, kind, detail) in [
        (error("overloaded_error", "Overloaded"), RateLimited, "in the stream: Overloaded"),
        (error("api_error", "oh"), Provider, "in the stream: oh"),
        (
            error("invalid_request_error", "prompt is too long: 9 > 8"),
            ContextLimit,
            "in the stream: prompt is too long: 9 > 8",
        ),
        (json!({ "type": "error" }), Malformed, "a chunk holds an error that says nothing"),
        (says(7, "x"), Malformed, "a piece of block 7, which has not begun"),
        (writes(0, "x"), Malformed, "a piece of another kind than its block 0"),
        (text_block(0), Malformed, "block 0 begins twice"),
        (call_block(1, ""), Malformed, "a tool call names no tool"),
    ] {
        assert_eq!(check_fails(after(bad), &[text("Good ")], kind).await.detail, detail);
    }
}

#[tokio::test]
async fn one_answer_is_bounded() {
    let many = |block: fn(u64) -> Value, count: u64| {
        let blocks: Vec<_> = (0..count).map(block).collect();
        whole(&blocks, "end_turn")
    };
    let (events, _) = testing::exchange(open, many(|at| call_block(at, "t"), 129)).await;
    let error = events.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.detail, "more than 128 tool calls in one answer");
    let error = check_fails(many(text_block, 1025), &[], ModelErrorKind::Malformed).await;
    assert_eq!(error.detail, "more than 1024 blocks in one answer");
    let megabyte = "x".repeat(1024 * 1024);
    let mut blocks = vec![call_block(0, "t")];
    blocks.extend((0..9).map(|_| writes(0, &megabyte)));
    let (events, _) = testing::exchange(open, whole(&blocks, "tool_use")).await;
    let error = events.last().unwrap().as_ref().unwrap_err();
    assert!(error.detail.starts_with("tool calls with more than"), "{error}");
}

#[tokio::test]
async fn a_faulty_server_is_known_by_its_fault() {
    let stream = |events: &[Value]| -> String {
        events
            .iter()
            .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
            .collect()
    };
    let wire = faults::Wire {
        begun: stream(&[message_start(), text_block(0), says(0, "Gü")]),
        rest: stream(&[block_stop(0), stops("end_turn"), message_stop()]),
        frame: stream(&[says(0, "more")]),
        page: ModelErrorKind::Malformed,
        half_frame: ModelErrorKind::Incomplete,
    };
    faults::check(open, &wire).await;
}

#[tokio::test]
async fn a_ping_is_no_sign_of_life() {
    let begun = Reply::events(&[message_start(), text_block(0), says(0, "Good ")]);
    let pings = begun.then(Then::Repeat("event: ping\ndata: {\"type\": \"ping\"}\n\n"));
    let (base_url, serving) = serve(pings).await;
    let mut settings = settings(&base_url);
    settings.stall_timeout = Duration::from_millis(150);
    let events = ask(&*open(settings), request(vec![user("Hello")])).await;
    testing::one_error(events, &[text("Good ")], ModelErrorKind::Stalled);
    serving.await.unwrap();
}

#[tokio::test]
async fn a_refusal_says_why_and_how_long_to_wait() {
    let body = json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow\ndown" } });
    let refused = || Reply::error(429, &body);
    let error = check_fails(refused().header("retry-after", "7"), &[], ModelErrorKind::RateLimited).await;
    assert_eq!(error.detail, "HTTP 429: slow down");
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(600));
    let error = check_fails(refused().header("retry-after", &date), &[], ModelErrorKind::RateLimited).await;
    let wait = error.retry_after.unwrap().as_secs();
    assert!((500..=600).contains(&wait), "{wait}");
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let error = check_fails(Reply::error(529, &overloaded), &[], ModelErrorKind::RateLimited).await;
    assert_eq!(error.retry_after, None);
    // The head tells all that is needed when the rest does not come.
    let stuck = Reply::stream(["slow"]).status(429).header("retry-after", "7").then(Then::Cut);
    let error = check_fails(stuck, &[], ModelErrorKind::RateLimited).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let there = format!("http://{}/v1/messages", elsewhere.local_addr().unwrap());
    let reply = Reply::page("text/plain", "moved").status(307).header("location", &there);
    check_fails(reply, &[], ModelErrorKind::Refused).await;
    let asked = tokio::time::timeout(Duration::ZERO, elsewhere.accept()).await;
    assert!(asked.is_err(), "the key would have gone there");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error_without_its_url() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1?token=secret", listener.local_addr().unwrap());
    drop(listener);
    let events = ask(&*open(settings(&base_url)), request(vec![user("Hello")])).await;
    let error = testing::one_error(events, &[], ModelErrorKind::Network);
    assert!(error.detail.contains("refused") && !error.detail.contains("secret"), "{error}");
}

#[tokio::test]
async fn dropping_the_stream_stops_the_call() {
    let begun = Reply::events(&[message_start(), text_block(0), says(0, "Good ")]).then(Then::Hang);
    let (base_url, serving) = serve(begun).await;
    let model = open(settings(&base_url));
    let mut stream = model.stream(request(vec![user("Hello")])).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(text("Good "))));
    drop(stream);
    // The server is through only once the connection is closed.
    serving.await.unwrap();
}

#[tokio::test]
async fn the_key_is_sent_and_shown_nowhere() {
    let said = "invalid x-api-key: sk-ant-secret-1";
    let body = json!({ "type": "error", "error": { "type": "authentication_error", "message": said } });
    let in_stream = [message_start(), body.clone()];
    for reply in [Reply::error(401, &body), Reply::events(&in_stream)] {
        let (base_url, serving) = serve(reply).await;
        let mut settings = settings(&base_url);
        settings.model = "claude-max".to_owned();
        settings.api_key = Some(ApiKey::new("sk-ant-secret-1"));
        assert!(!format!("{settings:?}").contains("secret"));
        let model = Anthropic::new(settings).unwrap();
        assert!(!format!("{model:?}").contains("secret"));
        let events = ask(&model, request(vec![user("Hello")])).await;
        let error = testing::one_error(events, &[], ModelErrorKind::Auth);
        assert!(error.detail.ends_with("invalid x-api-key: [key]"), "{error}");
        let seen = serving.await.unwrap();
        assert!(seen.head.contains("\nx-api-key: sk-ant-secret-1"), "{}", seen.head);
        // A name is sent as it is, whatever its last syllable.
        assert_eq!(seen.body["model"], "claude-max");
        assert_eq!(seen.body.get("thinking"), None);
    }
    let mut settings = settings("http://127.0.0.1:1/v1");
    settings.api_key = Some(ApiKey::new("secret\nsecret"));
    let error = Anthropic::new(settings).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Configuration);
    assert_eq!(error.detail, "the key cannot be sent in a header");
}

fn with_reasoning(mut parts: Vec<AssistantPart>, said: Message) -> Message {
    let Message::Assistant(said) = said else { panic!("an assistant message") };
    parts.extend(said.parts);
    Message::Assistant(AssistantMessage { parts })
}

fn thought(text: &str, signature: Option<&str>) -> AssistantPart {
    AssistantPart::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

fn ended(status: ResultStatus, said: Message) -> Message {
    let Message::Tool(mut result) = said else { panic!("a result") };
    result.status = status;
    Message::Tool(result)
}

#[tokio::test]
async fn the_transcript_is_sent_as_the_service_wants_it() {
    let (base_url, serving) = serve(whole(&[], "end_turn")).await;
    let long = "x".repeat(70);
    let mut asked = request(vec![
        user("one"),
        with_reasoning(vec![thought("old", Some("c2ln"))], assistant("said", &[])),
        Message::Assistant(AssistantMessage { parts: vec![thought("only", Some("c2ln"))] }),
        user("two"),
        with_reasoning(
            vec![thought("new", Some("bmV3")), thought("", Some("redacted:EmwK")), thought("bare", None)],
            assistant("\n", &[("1.0", "read", "{\"b\": 1, \"a\": 2}"), (&long, "my.list", "{broken")]),
        ),
        Message::Notice(Notice { text: "not for models".to_owned() }),
        ended(ResultStatus::InDoubt, result(&long, "my.list", "")),
        result("1.0", "read", "content"),
        user("three"),
        with_reasoning(vec![thought("last", Some("bGFzdA=="))], assistant("", &[("c2", "read", "[]")])),
        ended(ResultStatus::Error, result("c2", "read", "no such file")),
    ]);
    asked.tools = vec![ModelTool {
        name: "web_search".to_owned(),
        description: "Ours".to_owned(),
        parameters: json!({ "type": "object", "properties": {} }),
    }]
    .into();
    let events = ask(&*open(settings(&base_url)), asked).await;
    assert!(events[0].is_ok(), "{events:?}");
    let seen = serving.await.unwrap();
    let text = |text: &str| json!({ "type": "text", "text": text });
    let made = format!("call_1_{}", "x".repeat(33));
    assert_eq!(
        seen.body["messages"],
        json!([
            { "role": "user", "content": [text("one")] },
            { "role": "assistant", "content": [text("said")] },
            { "role": "user", "content": [text("two")] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "new", "signature": "bmV3" },
                { "type": "redacted_thinking", "data": "EmwK" },
                { "type": "tool_use", "id": "call_0_1_0", "name": "read", "input": { "b": 1, "a": 2 } },
                { "type": "tool_use", "id": made, "name": "my_list",
                  "input": { "unreadable_arguments": "{broken" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "call_0_1_0", "content": "content" },
                { "type": "tool_result", "tool_use_id": made, "content": "[no output]", "is_error": true },
                text("three"),
            ] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "last", "signature": "bGFzdA==" },
                { "type": "tool_use", "id": "c2", "name": "read",
                  "input": { "unreadable_arguments": "[]" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c2", "content": "no such file", "is_error": true },
            ] },
        ])
    );
    assert_eq!(
        seen.body["tools"],
        json!([{
            "name": "web_search", "description": "Ours",
            "input_schema": { "type": "object", "properties": {} },
        }])
    );
}

#[tokio::test]
async fn a_call_without_a_result_is_never_sent() {
    let transcript = vec![user("one"), assistant("", &[("c1", "read", "{}")])];
    let events = ask(&*open(settings("http://127.0.0.1:1/v1")), request(transcript)).await;
    let error = testing::one_error(events, &[], ModelErrorKind::Configuration);
    assert_eq!(error.detail, "the transcript has no result of call c1");
}
