//! Tests of the answers that the events of a stream produce.

use holdover_core::model::{AnswerPart, ModelAnswer, ModelErrorKind, ModelEvent, StopReason, TokenUsage};
use serde_json::{Value, json};

use super::{
    block, block_stop, call_block, check_fails, message_start, message_stop, open, piece, ping, says, stops,
    text, text_block, whole, writes,
};
use crate::testing::server::{Reply, Then};
use crate::testing::{self, answer, written};

fn call(tool: &str, arguments: &str) -> AnswerPart {
    AnswerPart::Call { tool: tool.to_owned(), arguments: arguments.to_owned() }
}

fn reasoning(text: &str, signature: Option<&str>) -> AnswerPart {
    AnswerPart::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

/// Requirements: A39.
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
        // A39: tokens written to the cache are counted separately.
        usage: TokenUsage { input: 2112, output: 25, cached: 2000, cache_written: 100, reasoning: 0 },
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
            "system": [{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }],
            "messages": [{ "role": "user", "content": [
                { "type": "text", "text": "Hello", "cache_control": { "type": "ephemeral" } },
            ] }],
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
            Ok(written(0, "read_file", "{\"path\":  \"b\", \"a\": 1e400}")),
            Ok(ModelEvent::Reasoning("And?".to_owned())),
            started(1, "list_files"),
            Ok(written(1, "list_files", "{}")),
            started(2, "list_files"),
            Ok(written(2, "list_files", "{broken")),
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
async fn a40_a_call_is_told_of_as_written_when_its_block_stops_unless_it_may_have_been_cut_off() {
    use ModelErrorKind::Incomplete;
    let started = |index| ModelEvent::CallStarted { index, tool: "read".to_owned() };
    let read = |index, arguments| written(index, "read", arguments);
    let begun = |blocks: &[Value]| [&[message_start()], blocks].concat();
    let one = |arguments: &str| vec![call_block(0, "read"), writes(0, arguments), block_stop(0)];
    // Each stream is cut after these events, so the calls are reported before the end.
    check_fails(Reply::events(&begun(&one("{\"a\": 1}"))), &[started(0), read(0, "{\"a\": 1}")], Incomplete)
        .await;
    check_fails(Reply::events(&begun(&one("{\"a\": 1}")[..2])), &[started(0)], Incomplete).await;
    // Arguments that are empty or not valid JSON may have been cut off there.
    for arguments in ["{\"a\":", ""] {
        check_fails(Reply::events(&begun(&one(arguments))), &[started(0)], Incomplete).await;
        let cut = Reply::events(&begun(&[one(arguments), vec![stops("max_tokens")]].concat()));
        check_fails(cut, &[started(0)], Incomplete).await;
        let whole = if arguments.is_empty() { "{}" } else { arguments };
        let through = Reply::events(&begun(&[one(arguments), vec![stops("tool_use")]].concat()));
        check_fails(through, &[started(0), read(0, whole)], Incomplete).await;
    }
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
    // A call that was cut off has no arguments yet. A call without arguments has an empty object.
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
    assert_eq!(found.usage, TokenUsage { input: 10, output: 9, cached: 3, cache_written: 0, reasoning: 4 });
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
    // The stream holds all events but the last one.
    check_fails(then(&[block_stop(0), stops("end_turn")]), &[text("Good ")], Incomplete).await;
    check_fails(then(&[stops("end_turn")]).then(Then::Cut), &[text("Good ")], Incomplete).await;
    check_fails(Reply::events(&[]), &[], Incomplete).await;
}

#[tokio::test]
async fn the_first_error_ends_the_stream() {
    use ModelErrorKind::{ContextLimit, Malformed, Provider, Unavailable};
    let after = |bad: Value| {
        let begun = [message_start(), text_block(0), says(0, "Good "), bad];
        Reply::events(&[&begun[..], &[says(0, "day"), stops("end_turn"), message_stop()]].concat())
    };
    let error =
        |kind: &str, message: &str| json!({ "type": "error", "error": { "type": kind, "message": message } });
    for (bad, kind, detail) in [
        (error("overloaded_error", "Overloaded"), Unavailable, "in the stream: Overloaded"),
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
