//! Tests of the form in which a transcript is sent.
//!
//! Requirements: A42, A51.

use std::collections::HashSet;

use holdover_core::message::{AssistantMessage, Message, Notice, ResultStatus};
use holdover_core::model::{ModelErrorKind, ModelTool};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::request::to_body;
use super::{block, block_stop, call_block, open, says, text_block, whole, writes};
use crate::testing::server::serve;
use crate::testing::transcript::{Said, as_message, check_name, said, thought, transcript, with_reasoning};
use crate::testing::{self, ask, assistant, mentions, request, result, settings, shows, user};

fn ended(status: ResultStatus, said: Message) -> Message {
    let Message::Tool(mut result) = said else { panic!("a result") };
    result.status = status;
    Message::Tool(result)
}

/// Requirements: A42.
#[tokio::test]
async fn the_transcript_is_sent_as_the_service_wants_it() {
    let (base_url, serving) = serve(whole(&[], "end_turn")).await;
    let long = "x".repeat(70);
    let mut asked = request(vec![
        user("one"),
        with_reasoning(vec![thought("old", Some("c2ln"))], assistant("said", &[])),
        Message::Assistant(AssistantMessage::new(vec![thought("only", Some("c2ln"))])),
        user("two"),
        with_reasoning(
            vec![
                thought("new", Some("bmV3")),
                thought("", Some("redacted:EmwK")),
                thought("bare", None),
                // Another adapter wrote this one, before the agent fell back on this model.
                thought("theirs", Some("openai:{\"model\":\"m\"}")),
            ],
            assistant("\n", &[("1.0", "read", "{\"b\": 1, \"a\": 2}"), (&long, "my.list", "{broken")]),
        ),
        Message::Notice(Notice::new("not for models")),
        ended(ResultStatus::InDoubt, result(&long, "my.list", "")),
        result("1.0", "read", "content"),
        user("three"),
        with_reasoning(vec![thought("last", Some("bGFzdA=="))], assistant("", &[("c2", "read", "[]")])),
        ended(ResultStatus::Error, result("c2", "read", "no such file")),
    ]);
    let tool = |name: &str| ModelTool {
        name: name.to_owned(),
        description: "Ours".to_owned(),
        parameters: json!({ "type": "object", "properties": {} }),
    };
    asked.tools = vec![tool("read"), tool("web_search")].into();
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
                { "type": "tool_result", "tool_use_id": "c2", "content": "no such file", "is_error": true,
                  "cache_control": { "type": "ephemeral" } },
            ] },
        ])
    );
    assert_eq!(
        seen.body["tools"],
        json!([
            { "name": "read", "description": "Ours", "input_schema": { "type": "object", "properties": {} } },
            { "name": "web_search", "description": "Ours", "input_schema": { "type": "object", "properties": {} },
              "cache_control": { "type": "ephemeral" } },
        ])
    );
}

/// The service may run a tool of its own within an answer. The answer then holds a call and a result of that tool, which
/// are nobody's to answer.
#[tokio::test]
async fn a42_what_the_service_called_itself_is_dropped_with_its_result_and_signatures_go_back() {
    let found = json!([{ "type": "web_search_result", "title": "T", "url": "u", "encrypted_content": "EqgfCioIARgB" }]);
    let blocks = [
        block(0, json!({ "type": "thinking", "thinking": "I search.", "signature": "c2ln" })),
        block_stop(0),
        block(1, json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} })),
        writes(1, "{\"query\": \"x\"}"),
        block_stop(1),
        block(2, json!({ "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found })),
        block_stop(2),
        block(3, json!({ "type": "thinking", "thinking": "I read.", "signature": "bmV3" })),
        block_stop(3),
        text_block(4),
        says(4, "Found."),
        block_stop(4),
        call_block(5, "read"),
        block_stop(5),
    ];
    let said = as_message(&testing::answer(open, whole(&blocks, "tool_use")).await);
    let body = to_body("m", &request(vec![user("one"), said, result("c1", "read", "content")])).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body["messages"].as_array().unwrap()[1..],
        [
            json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": "I search.", "signature": "c2ln" },
                { "type": "thinking", "thinking": "I read.", "signature": "bmV3" },
                { "type": "text", "text": "Found." },
                { "type": "tool_use", "id": "c1", "name": "read", "input": {} },
            ] }),
            json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": "content",
                  "cache_control": { "type": "ephemeral" } },
            ] }),
        ]
    );
}

#[test]
fn arguments_go_back_as_they_were_written() {
    let arguments = "{\"n\": 90071992547409930000123,  \"b\":1.50, \"a\": 1e2}";
    let asked = vec![user("go"), assistant("", &[("c1", "t", arguments)]), result("c1", "t", "ok")];
    let body = to_body("m", &request(asked)).unwrap();
    assert!(body.contains(arguments), "{body}");
}

#[tokio::test]
async fn a_call_without_a_result_is_never_sent() {
    let transcript = vec![user("one"), assistant("", &[("c1", "read", "{}")])];
    let events = ask(&*open(settings("http://127.0.0.1:1/v1")), request(transcript)).await;
    let error = testing::one_error(events, &[], ModelErrorKind::Configuration);
    assert_eq!(error.detail, "the transcript has no result of call c1");
}

fn blocks<'a>(message: &'a Value, kind: &str) -> Vec<&'a Value> {
    let content = message["content"].as_array().expect("blocks");
    content.iter().filter(|block| block["type"] == kind).collect()
}

/// Checks that `messages` meet the requirements of the service.
fn check_accepted(messages: &[Value]) {
    let mut ids = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "roles alternate, the first is user");
        assert!(!message["content"].as_array().unwrap().is_empty(), "somebody says nothing");
        for text in blocks(message, "text") {
            assert!(!text["text"].as_str().unwrap().trim().is_empty(), "a text says nothing");
        }
        let results = blocks(message, "tool_result");
        let asked = if at == 0 { Vec::new() } else { blocks(&messages[at - 1], "tool_use") };
        assert_eq!(results.len(), asked.len(), "each call has its result in the next message");
        for (place, (result, call)) in results.iter().zip(&asked).enumerate() {
            assert_eq!(result["tool_use_id"], call["id"]);
            check_name(call["name"].as_str().unwrap());
            assert!(call["input"].is_object());
            assert_eq!(message["content"][place], **result, "results come first");
            assert!(ids.insert(call["id"].to_string()), "an id twice");
        }
        let thoughts = blocks(message, "thinking").len() + blocks(message, "redacted_thinking").len();
        assert!(thoughts == 0 || message["content"].as_array().unwrap().len() > thoughts);
    }
    assert_eq!(messages.last().expect("a message")["role"], "user", "it is the model's turn");
    // A turn begins with a user message that carries no results, except our "[go on]".
    let begins = |message: &Value| {
        message["role"] == "user"
            && blocks(message, "tool_result").is_empty()
            && message["content"][0]["text"] != "[go on]"
    };
    let turn = messages.iter().rposition(begins).unwrap_or(0);
    for message in &messages[..turn] {
        assert!(blocks(message, "thinking").is_empty(), "reasoning of a turn that is over");
    }
}

fn sent(all: &[Said]) -> Vec<Value> {
    let body: Value = serde_json::from_str(&to_body("m", &request(transcript(all))).unwrap()).unwrap();
    body["messages"].as_array().unwrap().clone()
}

#[test]
fn a51_pictures_stand_before_the_words_about_them_and_in_the_results_that_show_them() {
    let asked = request(vec![
        shows(user("what is it?")),
        assistant("", &[("c1", "look", "{}"), ("c2", "look", "{}")]),
        shows(result("c1", "look", "a plan")),
        result("c2", "look", "nothing"),
    ]);
    let body: Value = serde_json::from_str(&to_body("m", &asked).unwrap()).unwrap();
    let image = json!({ "type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=",
    } });
    assert_eq!(body["messages"][0]["content"], json!([image, { "type": "text", "text": "what is it?" }]));
    let results = &body["messages"][2]["content"];
    assert_eq!(results[0]["content"], json!([{ "type": "text", "text": "a plan" }, image]));
    assert_eq!(results[1]["content"], "nothing");
}

#[test]
fn b09_the_model_is_told_of_mentioned_files_behind_the_words_of_the_user() {
    let asked = request(vec![mentions(user("look at @src/main.rs"))]);
    let body: Value = serde_json::from_str(&to_body("m", &asked).unwrap()).unwrap();
    let content = &body["messages"][0]["content"];
    assert_eq!(content[0]["text"], "look at @src/main.rs");
    assert_eq!(content[1]["text"], "[mentioned files: src/main.rs (12 bytes); docs (is a folder)]");
    assert_eq!(content.as_array().unwrap().len(), 2);
}

proptest! {
    #[test]
    fn every_transcript_is_one_that_the_service_accepts(all in prop::collection::vec(said(), 0..12)) {
        check_accepted(&sent(&all));
    }

    /// Requirements: A42.
    #[test]
    fn signed_reasoning_goes_back_while_its_turn_lasts(
        before in prop::collection::vec(said(), 0..6),
        steps in prop::collection::vec((prop::sample::select(vec!["c2ln", "redacted:EmwK"]), 1..3_usize, any::<bool>()), 1..5),
    ) {
        let mut all = before;
        // This message ends any turn before it.
        all.push(Said::Assistant { text: "done", signature: None, calls: Vec::new() });
        all.push(Said::User("next"));
        for (signature, calls, steered) in &steps {
            all.push(Said::Assistant { text: "", signature: Some(signature), calls: vec!["read"; *calls] });
            if *steered {
                all.push(Said::User("and another thing"));
            }
        }
        let messages = sent(&all);
        check_accepted(&messages);
        let firsts: Vec<_> = messages.iter().filter(|message| message["role"] == "assistant").rev().take(steps.len())
            .map(|message| message["content"][0]["type"].as_str().unwrap().to_owned()).collect();
        let expect: Vec<_> = steps.iter().rev()
            .map(|(signature, ..)| if signature.starts_with("redacted:") { "redacted_thinking" } else { "thinking" }).collect();
        prop_assert_eq!(firsts, expect);
    }
}
