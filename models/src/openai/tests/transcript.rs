//! Tests of the form in which a transcript is sent.
//!
//! Requirements: A35, A42, A51.

use std::collections::HashSet;

use holdover_core::message::{Message, Notice};
use holdover_core::model::{ModelErrorKind, ModelEvent, ModelTool};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::request::to_body;
use super::{delta, finish, model};
use crate::testing::server::{Reply, serve};
use crate::testing::transcript::{as_message, check_name, said, thought, transcript, with_reasoning};
use crate::testing::{ask, assistant, mentions, request, result, shows, user};

/// Requirements: A35.
#[tokio::test]
async fn the_transcript_is_sent_as_servers_want_it() {
    let (base_url, serving) = serve(Reply::sse(&[finish("stop")]).done()).await;
    let long = "x".repeat(60);
    let exact = "{\"a\": 1, \"n\": 90071992547409930000123}";
    let with_thought = |text: &str, said: Message| with_reasoning(vec![thought(text, None)], said);
    let mut asked = request(vec![
        user("one"),
        with_thought("old", assistant("said", &[])),
        with_thought("only", assistant("", &[])),
        user("two"),
        with_thought("new", assistant("", &[("1.0", "functions.read", exact), (&long, "list", "{broken")])),
        Message::Notice(Notice::new("not for models")),
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
                call("call_0_1_0", "functions_read", "{\"a\": 1, \"n\": 90071992547409930000123}"),
                call(&made, "list", "{broken"),
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
    let said = with_reasoning(vec![thought("I must read", None)], assistant("", &[("c1", "read", "{}")]));
    let transcript = vec![user("one"), said, result("c1", "read", "content")];
    ask(&*model(&base_url), request(transcript)).await;
    assert_eq!(serving.await.unwrap().body["messages"][2]["reasoning_content"], "I must read");
}

/// Returns the answer to this stream, as a message of the transcript. Its calls get the ids `c1`, `c2` and so on.
async fn answered(chunks: &[Value]) -> Message {
    let (base_url, serving) = serve(Reply::sse(chunks).done()).await;
    let events = ask(&*model(&base_url), request(vec![user("one")])).await;
    serving.await.unwrap();
    let Some(Ok(ModelEvent::Finished(answer))) = events.last() else { panic!("{events:?}") };
    as_message(answer)
}

#[tokio::test]
async fn a42_the_data_of_calls_and_of_reasoning_comes_back_to_the_model_that_wrote_it() {
    let extra = |mark: &str| json!({ "google": { "thought_signature": mark } });
    let call = |index: u32, extra: Value| {
        let function = json!({ "name": "read", "arguments": "{}" });
        delta(
            json!({ "tool_calls": [{ "index": index, "id": "x", "function": function, "extra_content": extra }] }),
        )
    };
    let google = answered(&[call(0, extra("first")), call(1, Value::Null), finish("tool_calls")]).await;
    let detail = |text: &str| json!([{ "type": "reasoning.text", "index": 0, "text": text }]);
    let router = answered(&[
        delta(json!({ "reasoning": "I must ", "reasoning_details": detail("I must ") })),
        delta(json!({ "reasoning": "read", "reasoning_details": detail("read") })),
        call(0, Value::Null),
        finish("tool_calls"),
    ])
    .await;
    let said =
        answered(&[delta(json!({ "content": "Hm", "extra_content": extra("text") })), finish("stop")]).await;
    let results = |many: usize| (1..=many).map(|at| result(&format!("c{at}"), "read", "content"));
    let transcript =
        |said: &Message, many| [vec![user("one"), said.clone()], results(many).collect()].concat();

    let body = to_body("test-model", &request(transcript(&google, 2))).unwrap();
    assert_eq!(body["messages"][2]["tool_calls"][0]["extra_content"], extra("first"));
    assert_eq!(body["messages"][2]["tool_calls"][1]["extra_content"], Value::Null);
    let body = to_body("test-model", &request(transcript(&router, 1))).unwrap();
    assert_eq!(body["messages"][2]["reasoning_details"], detail("I must read"));
    assert_eq!(body["messages"][2]["reasoning_content"], Value::Null, "not twice");
    let body = to_body("test-model", &request(transcript(&said, 0))).unwrap();
    assert_eq!(body["messages"][2]["extra_content"], extra("text"));

    // Another model gets the reasoning alone, and after the turn nobody gets anything.
    let other = to_body("other-model", &request(transcript(&router, 1))).unwrap();
    assert_eq!(other["messages"][2]["reasoning_content"], "I must read");
    let later =
        to_body("test-model", &request([transcript(&google, 2), vec![user("two")]].concat())).unwrap();
    for body in [other, later] {
        let sent = body.to_string();
        assert!(!sent.contains("extra_content") && !sent.contains("reasoning_details"), "{sent}");
    }
}

/// Some servers run tools of their own while they answer, and tell of it beside the answer.
#[tokio::test]
async fn a42_what_a_server_called_itself_is_no_call_and_the_data_beside_it_comes_back() {
    let extra = json!({ "google": { "thought_signature": "first" } });
    let found = json!([{ "index": 0, "type": "search", "arguments": "{}", "output": "a placeholder" }]);
    let said = answered(&[
        delta(json!({ "executed_tools": found, "role": "assistant" })),
        delta(json!({ "content": "Found.", "annotations": [{ "type": "url_citation", "url": "a placeholder" }] })),
        delta(json!({ "tool_calls": [{
            "index": 0, "id": "x", "function": { "name": "read", "arguments": "{}" }, "extra_content": extra,
            "output": "a placeholder",
        }] })),
        finish("tool_calls"),
    ])
    .await;
    let body =
        to_body("test-model", &request(vec![user("one"), said, result("c1", "read", "content")])).unwrap();
    assert_eq!(
        body["messages"].as_array().unwrap()[2..],
        [
            json!({ "role": "assistant", "content": "Found.", "tool_calls": [{
                "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{}" }, "extra_content": extra,
            }] }),
            json!({ "role": "tool", "tool_call_id": "c1", "content": "content" }),
        ]
    );
}

#[tokio::test]
async fn a_call_without_a_result_is_never_sent() {
    let transcript = vec![user("one"), assistant("", &[("c1", "read", "{}")])];
    let events = ask(&*model("http://127.0.0.1:1/v1"), request(transcript)).await;
    let [Err(error)] = events.as_slice() else { panic!("one error: {events:?}") };
    assert_eq!(error.kind, ModelErrorKind::Configuration);
    assert_eq!(error.detail, "the transcript has no result of call c1");
}

#[test]
fn the_cap_on_tokens_has_the_name_that_a_model_knows() {
    for (model, field) in
        [("gpt-5-mini", "max_completion_tokens"), ("o3", "max_completion_tokens"), ("qwen3:4b", "max_tokens")]
    {
        let body = to_body(model, &request(vec![user("go")])).unwrap();
        assert_eq!(body[field], 100, "{model}");
    }
}

/// Checks that `messages` meet OpenAI's requirements.
fn check_accepted(messages: &[Value]) {
    assert_eq!(messages[0]["role"], "system");
    let mut ids = HashSet::new();
    let mut owed = Vec::new();
    for message in &messages[1..] {
        if message["role"] == "tool" {
            assert_eq!(owed.pop().as_ref(), Some(&message["tool_call_id"]), "results in call order");
            assert!(!message["content"].as_str().unwrap().trim().is_empty(), "a result says nothing");
            continue;
        }
        assert!(owed.is_empty(), "every call has its result before anybody speaks: {owed:?}");
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        for call in calls.iter().rev() {
            check_name(call["function"]["name"].as_str().unwrap());
            assert!(!call["function"]["arguments"].as_str().unwrap().is_empty());
            assert!(ids.insert(call["id"].to_string()), "an id twice");
            owed.push(call["id"].clone());
        }
        let says = !message["content"].as_str().unwrap().is_empty() || !calls.is_empty();
        assert!(says || message["role"] == "user", "the assistant says nothing");
    }
    assert!(owed.is_empty(), "every call has its result: {owed:?}");
    assert_ne!(messages.last().unwrap()["role"], "assistant", "it is the model's turn");
}

#[test]
fn a51_pictures_are_shown_with_the_words_of_a_user_and_those_of_results_behind_all_of_them() {
    let asked = request(vec![
        shows(user("what is it?")),
        assistant("", &[("c1", "look", "{}"), ("c2", "look", "{}")]),
        shows(result("c1", "look", "a plan")),
        result("c2", "look", "nothing"),
    ]);
    let body = to_body("m", &asked).unwrap();
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } });
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[1]["content"], json!([{ "type": "text", "text": "what is it?" }, image]));
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!(messages[3]["content"], "a plan");
    let shown = json!([{ "type": "text", "text": "[what look showed, call c1]" }, image]);
    assert_eq!(messages[5]["content"], shown);
    let body = to_body("m", &request(vec![shows(user(" "))])).unwrap();
    assert_eq!(body["messages"][1]["content"], json!([image]), "beside a picture nothing need be said");
}

#[test]
fn b09_the_model_is_told_of_mentioned_files_behind_the_words_of_the_user() {
    let told = "[mentioned files: src/main.rs (12 bytes); docs (is a folder)]";
    let body = to_body("m", &request(vec![mentions(user("look"))])).unwrap();
    assert_eq!(body["messages"][1]["content"], format!("look\n\n{told}"));
    let body = to_body("m", &request(vec![shows(mentions(user("look")))])).unwrap();
    let part = |text: &str| json!({ "type": "text", "text": text });
    let content = &body["messages"][1]["content"];
    assert_eq!(
        (&content[0], &content[1], &content[2]["type"]),
        (&part("look"), &part(told), &json!("image_url"))
    );
}

proptest! {
    #[test]
    fn every_transcript_is_one_that_the_service_accepts(all in prop::collection::vec(said(), 0..12)) {
        let body = to_body("m", &request(transcript(&all))).unwrap();
        check_accepted(body["messages"].as_array().unwrap());
    }
}
