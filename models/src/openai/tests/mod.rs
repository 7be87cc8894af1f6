//! Tests of the adapter against a server on loopback.
//!
//! Requirements: A38, A40.

mod transcript;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, StopReason, TokenUsage,
};
use serde_json::{Value, json};

use super::OpenAi;
use crate::testing::server::{Reply, Seen, Then, serve};
use crate::testing::{self, ask, faults, refusals, request, reuse, settings, user, written};
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

/// Requirements: A38, A39.
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
            "prompt_tokens_details": { "cached_tokens": 8, "cache_write_tokens": 3 },
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
        // A39: tokens written to the cache are counted separately.
        usage: TokenUsage { input: 12, output: 5, cached: 8, cache_written: 3, reasoning: 2 },
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

/// Requirements: A38.
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
    let first = written(0, "read_file", "{\"path\":  \"b\", \"a\": 1}");
    assert_eq!(
        events,
        [
            Ok(text("I look.")),
            started(0, "read_file"),
            started(1, "list_files"),
            // The first call continued after the second had begun, so it is known to be complete only at the end.
            Ok(first),
            Ok(written(1, "list_files", "{broken")),
        ]
    );
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
async fn a40_a_call_is_told_of_as_written_once_the_next_one_begins_or_the_model_is_through() {
    use ModelErrorKind::Incomplete;
    let call = |index: usize, arguments: &str| {
        let function = json!({ "name": "read", "arguments": arguments });
        delta(json!({ "tool_calls": [{ "index": index, "id": index.to_string(), "function": function }] }))
    };
    let started = |index| ModelEvent::CallStarted { index, tool: "read".to_owned() };
    let read = |index, arguments| written(index, "read", arguments);
    let two = || vec![call(0, "{\"a\": 1}"), call(1, "{}")];
    let first = [started(0), started(1), read(0, "{\"a\": 1}")];
    // Each stream is cut after these chunks, so the calls are reported before the end.
    check_fails(Reply::sse(&two()), &first, Incomplete).await;
    let ended = |reason: &str| Reply::sse(&[two(), vec![finish(reason)]].concat());
    let both = [first.as_slice(), &[read(1, "{}")]].concat();
    check_fails(ended("tool_calls"), &both, Incomplete).await;
    // The last call may have been cut off. If the model refuses, the call does not count either.
    check_fails(ended("length"), &first, Incomplete).await;
    check_fails(ended("content_filter"), &first, Incomplete).await;
    // The first call has no arguments when the second begins, but they may still come.
    let none = Reply::sse(&[call(0, ""), call(1, "{}")]);
    check_fails(none, &[started(0), started(1)], Incomplete).await;
    let none = Reply::sse(&[call(0, ""), call(1, "{}"), finish("stop")]);
    check_fails(none, &[started(0), started(1), read(0, "{}"), read(1, "{}")], Incomplete).await;
}

#[tokio::test]
async fn reasons_to_stop_are_told_apart() {
    for (reason, stop) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("MAX_TOKENS", StopReason::MaxTokens),
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
async fn a_refusal_is_heard_in_its_own_field() {
    let says = |refusal: &str| delta(json!({ "content": null, "refusal": refusal }));
    let reply = Reply::sse(&[says("I can't "), says("help with that."), finish("stop")]).done();
    let (mut events, _) = exchange(reply).await;
    let ModelEvent::Finished(answer) = events.pop().unwrap().unwrap() else { panic!("finished") };
    assert_eq!(events, [Ok(text("I can't ")), Ok(text("help with that."))]);
    assert_eq!(answer.stop, StopReason::Refusal);
    assert_eq!(answer.parts, [AnswerPart::Text("I can't help with that.".to_owned())]);
}

#[tokio::test]
async fn what_a_server_counts_is_bounded_and_no_error_is_none() {
    let usage =
        json!({ "prompt_tokens": u64::MAX, "completion_tokens": -1, "completion_tokens_details": null });
    let chunk = json!({ "error": null, "choices": [], "usage": usage });
    let answer = testing::answer(open, Reply::sse(&[finish("stop"), chunk]).done()).await;
    assert_eq!(answer.usage, TokenUsage { input: 1_000_000_000, ..TokenUsage::default() });
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
    let base_url = format!("http://127.0.0.1:{}/v1?token=secret", holdover_launcher::free_port().unwrap());
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
        call: format!("data: {}\n\n", delta(json!({ "tool_calls": [{ "function": { "name": "t" } }] }))),
        // Some servers send pieces without an index.
        piece: format!(
            "data: {}\n\n",
            delta(json!({ "tool_calls": [{ "function": { "arguments": "x" } }] }))
        ),
    };
    faults::check(open, &wire).await;
}

#[tokio::test]
async fn b37_what_may_pass_is_tried_again_and_what_will_not_is_not() {
    refusals::check(open, &format!("data: {}\n\n", delta(json!({ "content": "Gü" })))).await;
}

#[tokio::test]
async fn a_request_over_a_connection_that_was_just_closed_is_sent_again_at_once() {
    let frames =
        [delta(json!({ "content": "Gü" })), finish("stop")].map(|frame| format!("data: {frame}\n\n"));
    reuse::check(open, &format!("{}data: [DONE]\n\n", frames.concat())).await;
}

#[tokio::test]
async fn what_is_not_found_is_told_with_its_address() {
    let (events, _) = exchange(Reply::error(404, &json!({ "error": { "message": "no such path" } }))).await;
    let error = testing::one_error(events, &[], ModelErrorKind::Refused);
    assert!(error.detail.starts_with("HTTP 404 at http://127.0.0.1:"), "{error}");
    assert!(error.detail.ends_with("/v1/chat/completions: no such path"), "{error}");
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
    // The server ends only after the connection is closed.
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
    // The model's name is sent unchanged, even if it ends in `-max`.
    assert_eq!(seen.body["model"], "qwen-max");
    assert_eq!(seen.body.get("reasoning_effort"), None);
}
