//! The adapter against a server on loopback.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use holdover_core::message::{AssistantMessage, AssistantPart, Message, Notice};
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelTool, StopReason, TokenUsage,
};
use serde_json::{Value, json};

use super::OpenAi;
use crate::testing::server::{Reply, Seen, Then, serve};
use crate::testing::{self, ask, assistant, faults, request, result, settings, user};
use crate::wire::{ApiKey, ServerSettings};

fn open(settings: ServerSettings) -> Arc<dyn Model> {
    Arc::new(OpenAi::new(settings).unwrap())
}

fn model(base_url: &str) -> Arc<dyn Model> {
    open(settings(base_url))
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

async fn exchange(reply: Reply) -> (Vec<Result<ModelEvent, ModelError>>, Seen) {
    testing::exchange(open, reply).await
}

async fn check_fails(reply: Reply, before: &[ModelEvent], kind: ModelErrorKind) -> ModelError {
    testing::check_fails(open, reply, before, kind).await
}

#[tokio::test]
async fn a_streamed_answer_comes_in_pieces_and_then_whole() {
    let reply = Reply::sse(&[
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "reasoning_content": "Hm. " })),
        delta(json!({ "content": "Good " })),
        delta(json!({ "content": "day\n\nto you" })),
        finish("stop"),
        json!({ "choices": [], "usage": {
            "prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17,
            "prompt_tokens_details": { "cached_tokens": 8 },
            "completion_tokens_details": { "reasoning_tokens": 2 },
        } }),
    ])
    .done();
    let (events, seen) = exchange(reply).await;
    let answer = ModelAnswer {
        parts: vec![
            AnswerPart::Reasoning { text: "Hm. ".to_owned(), signature: None },
            AnswerPart::Text("Good day\n\nto you".to_owned()),
        ],
        stop: StopReason::EndTurn,
        usage: TokenUsage { input: 12, output: 5, cached: 8, reasoning: 2 },
    };
    assert_eq!(
        events,
        [
            Ok(ModelEvent::Reasoning("Hm. ".to_owned())),
            Ok(text("Good ")),
            Ok(text("day\n\nto you")),
            Ok(ModelEvent::Finished(answer)),
        ]
    );
    assert!(seen.head.starts_with("post /v1/chat/completions http/1.1"), "{}", seen.head);
    assert!(!seen.head.contains("authorization"), "no key, nothing sent: {}", seen.head);
    assert_eq!(
        seen.body,
        json!({
            "model": "test-model",
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_tokens": 100,
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Hello" },
            ],
        })
    );
}

#[tokio::test]
async fn calls_in_parallel_keep_their_order_and_their_bytes() {
    let call = |index: usize, id: &str, name: &str| json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } });
    let more = |index: usize, text: &str| json!({ "index": index, "function": { "arguments": text } });
    let reply = Reply::sse(&[
        delta(json!({ "content": "I look." })),
        delta(json!({ "tool_calls": [call(0, "same", "read_file")] })),
        delta(json!({ "tool_calls": [more(0, "{\"path\":  ")] })),
        delta(json!({ "tool_calls": [call(1, "same", "list_files"), more(0, "\"b\", \"a\": 1}")] })),
        delta(json!({ "tool_calls": [more(1, "{broken")] })),
        finish("tool_calls"),
    ])
    .done();
    let (mut events, _) = exchange(reply).await;
    let ModelEvent::Finished(answer) = events.pop().unwrap().unwrap() else { panic!("finished") };
    let started = |index, tool: &str| Ok(ModelEvent::CallStarted { index, tool: tool.to_owned() });
    assert_eq!(events, [Ok(text("I look.")), started(0, "read_file"), started(1, "list_files")]);
    let call = |tool: &str, arguments: &str| AnswerPart::Call {
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
    };
    assert_eq!(
        answer.parts,
        [
            AnswerPart::Text("I look.".to_owned()),
            call("read_file", "{\"path\":  \"b\", \"a\": 1}"),
            call("list_files", "{broken"),
        ]
    );
    assert_eq!(answer.stop, StopReason::ToolUse);
}

#[tokio::test]
async fn reasons_to_stop_are_told_apart() {
    for (reason, stop) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("eos", StopReason::EndTurn),
    ] {
        let (mut events, _) = exchange(Reply::sse(&[finish(reason)]).done()).await;
        let ModelEvent::Finished(answer) = events.pop().unwrap().unwrap() else { panic!("finished") };
        assert_eq!(answer.stop, stop, "{reason}");
    }
    let call = json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "t" } }] });
    let (mut events, _) = exchange(Reply::sse(&[delta(call), finish("stop")]).done()).await;
    let ModelEvent::Finished(answer) = events.pop().unwrap().unwrap() else { panic!("finished") };
    assert_eq!(answer.stop, StopReason::ToolUse);
    check_fails(Reply::sse(&[finish("tool_calls")]).done(), &[], ModelErrorKind::Malformed).await;
    check_fails(Reply::sse(&[finish("error")]).done(), &[], ModelErrorKind::Provider).await;
}

#[tokio::test]
async fn a_cut_stream_is_never_an_answer() {
    use ModelErrorKind::Incomplete;
    let begun = || Reply::sse(&[delta(json!({ "content": "Good " }))]);
    check_fails(begun(), &[text("Good ")], Incomplete).await;
    check_fails(begun().done(), &[text("Good ")], Incomplete).await;
    check_fails(begun().then(Then::Cut), &[text("Good ")], Incomplete).await;
    let ended = Reply::sse(&[delta(json!({ "content": "Good " })), finish("stop")]);
    check_fails(ended.then(Then::Cut), &[text("Good ")], Incomplete).await;
    check_fails(Reply::sse(&[]), &[], Incomplete).await;
    check_fails(Reply::sse(&[finish("")]).done(), &[], Incomplete).await;
}

#[tokio::test]
async fn the_first_error_ends_the_stream() {
    let broken = || Reply::sse(&[delta(json!({ "content": "Good " }))]);
    let after = |reply: Reply| reply.then_line(&format!("data: {}", finish("stop"))).done();
    check_fails(
        after(broken().then_line("data: {\"choices\": [")),
        &[text("Good ")],
        ModelErrorKind::Malformed,
    )
    .await;
    let error = check_fails(
        after(broken().then_line("data: {\"error\": {\"message\": \"gone\", \"code\": 502}}")),
        &[text("Good ")],
        ModelErrorKind::Provider,
    )
    .await;
    assert_eq!(error.detail, "in the stream: gone");
}

#[tokio::test]
async fn a_refusal_says_why_and_how_long_to_wait() {
    let slow = Reply::error(429, &json!({ "error": { "message": "slow\ndown" } })).header("retry-after", "7");
    let error = check_fails(slow, &[], ModelErrorKind::RateLimited).await;
    assert_eq!(error.detail, "HTTP 429: slow down");
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    let error = check_fails(Reply::error(500, &json!({})), &[], ModelErrorKind::Provider).await;
    assert_eq!(error.retry_after, None);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error_without_its_url() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1?token=secret", listener.local_addr().unwrap());
    drop(listener);
    let events = ask(&*model(&base_url), request(vec![user("Hello")])).await;
    let [Err(error)] = events.as_slice() else { panic!("one error: {events:?}") };
    assert_eq!(error.kind, ModelErrorKind::Network);
    assert!(error.detail.contains("refused") && !error.detail.contains("secret"), "{error}");
}

#[tokio::test]
async fn a_faulty_server_is_known_by_its_fault() {
    let begun = format!("data: {}\n\n", delta(json!({ "content": "Gü" })));
    let wire = faults::Wire {
        begun,
        rest: format!("data: {}\n\ndata: [DONE]\n\n", finish("stop")),
        frame: format!("data: {}\n\n", delta(json!({ "content": "more" }))),
        // The library reads what is no stream as one without frames.
        page: ModelErrorKind::Incomplete,
        // And the beginning of a frame as a whole one, if the body ends there as it should.
        half_frame: ModelErrorKind::Malformed,
    };
    faults::check(open, &wire).await;
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made_up() {
    let call = |index: usize| json!({ "tool_calls": [{ "index": index, "function": { "name": "t" } }] });
    let chunks = |reason| Reply::sse(&[delta(call(0)), delta(call(1)), finish(reason)]).done();
    for (reason, last) in [("length", ""), ("tool_calls", "{}")] {
        let found = testing::answer(open, chunks(reason)).await.parts;
        let call =
            |arguments: &str| AnswerPart::Call { tool: "t".to_owned(), arguments: arguments.to_owned() };
        assert_eq!(found, [call("{}"), call(last)], "{reason}");
    }
}

#[tokio::test]
async fn dropping_the_stream_stops_the_call() {
    let begun = Reply::sse(&[delta(json!({ "content": "Good " }))]).then(Then::Hang);
    let (base_url, serving) = serve(begun).await;
    let model = model(&base_url);
    let mut stream = model.stream(request(vec![user("Hello")])).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(text("Good "))));
    drop(stream);
    // The server is through only once the connection is closed.
    serving.await.unwrap();
}

#[tokio::test]
async fn the_key_is_sent_and_shown_nowhere() {
    let refusal = json!({ "error": { "message": "Incorrect API key provided: sk-secret-1" } });
    let (base_url, serving) = serve(Reply::error(401, &refusal)).await;
    let mut settings = ServerSettings::openai("qwen-max");
    settings.base_url = base_url;
    settings.api_key = Some(ApiKey::new("sk-secret-1"));
    assert!(!format!("{settings:?}").contains("secret"));
    let model = OpenAi::new(settings).unwrap();
    assert!(!format!("{model:?}").contains("secret"));
    let events = ask(&model, request(vec![user("Hello")])).await;
    let [Err(error)] = events.as_slice() else { panic!("one error: {events:?}") };
    assert_eq!(error.kind, ModelErrorKind::Auth);
    assert_eq!(error.detail, "HTTP 401: Incorrect API key provided: [key]");
    let seen = serving.await.unwrap();
    assert!(seen.head.contains("authorization: bearer sk-secret-1"));
    // A name is sent as it is, whatever its last syllable.
    assert_eq!(seen.body["model"], "qwen-max");
    assert_eq!(seen.body.get("reasoning_effort"), None);
}

#[tokio::test]
async fn the_transcript_is_sent_as_servers_want_it() {
    let (base_url, serving) = serve(Reply::sse(&[finish("stop")]).done()).await;
    let long = "x".repeat(60);
    let thought = |text: &str| AssistantPart::Reasoning { text: text.to_owned(), signature: None };
    let with_thought = |thoughts: &str, message: Message| {
        let Message::Assistant(mut said) = message else { panic!("an assistant message") };
        said.parts.insert(0, thought(thoughts));
        Message::Assistant(said)
    };
    let mut asked = request(vec![
        user("one"),
        with_thought("old", assistant("said", &[])),
        Message::Assistant(AssistantMessage { parts: vec![thought("only")] }),
        user("two"),
        with_thought("new", assistant("", &[("1.0", "read", "{\"a\": 1}"), (&long, "list", "{broken")])),
        Message::Notice(Notice { text: "not for models".to_owned() }),
        result(&long, "list", ""),
        result("1.0", "read", "content"),
        user("three"),
        assistant("", &[("c2", "read", "{}")]),
        result("c2", "read", "more"),
    ]);
    asked.tools = vec![ModelTool {
        name: "read".to_owned(),
        description: "Reads".to_owned(),
        parameters: json!({ "type": "object", "properties": {} }),
    }]
    .into();
    let events = ask(&*model(&base_url), asked).await;
    assert!(events[0].is_ok(), "{events:?}");
    let seen = serving.await.unwrap();
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let made = format!("call_1_{}", "x".repeat(33));
    assert_eq!(
        seen.body["messages"],
        json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": "said" },
            { "role": "user", "content": "two" },
            { "role": "assistant", "content": "", "tool_calls": [
                call("call_0_1_0", "read", "{\"a\":1}"), call(&made, "list", "\"{broken\""),
            ] },
            { "role": "tool", "tool_call_id": "call_0_1_0", "content": "content" },
            { "role": "tool", "tool_call_id": made, "content": "[no output]" },
            { "role": "user", "content": "three" },
            { "role": "assistant", "content": "", "tool_calls": [call("c2", "read", "{}")] },
            { "role": "tool", "tool_call_id": "c2", "content": "more" },
        ])
    );
    assert_eq!(
        seen.body["tools"],
        json!([{ "type": "function", "function": {
            "name": "read", "description": "Reads", "strict": false,
            "parameters": { "type": "object", "properties": {} },
        } }])
    );
}

#[tokio::test]
async fn reasoning_goes_back_while_its_turn_lasts() {
    let (base_url, serving) = serve(Reply::sse(&[finish("stop")]).done()).await;
    let Message::Assistant(mut said) = assistant("", &[("c1", "read", "{}")]) else { panic!("assistant") };
    said.parts.insert(0, AssistantPart::Reasoning { text: "I must read".to_owned(), signature: None });
    let transcript = vec![user("one"), Message::Assistant(said), result("c1", "read", "content")];
    ask(&*model(&base_url), request(transcript)).await;
    assert_eq!(serving.await.unwrap().body["messages"][2]["reasoning_content"], "I must read");
}

#[tokio::test]
async fn a_call_without_a_result_is_never_sent() {
    let transcript = vec![user("one"), assistant("", &[("c1", "read", "{}")])];
    let events = ask(&*model("http://127.0.0.1:1/v1"), request(transcript)).await;
    let [Err(error)] = events.as_slice() else { panic!("one error: {events:?}") };
    assert_eq!(error.kind, ModelErrorKind::Configuration);
    assert_eq!(error.detail, "the transcript has no result of call c1");
}
