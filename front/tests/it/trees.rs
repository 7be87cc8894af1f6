//! Streams of trees: the events of a session and of the sessions below it.

use std::collections::BTreeSet;

use holdover_runtime_local::{Agents, Runtime, RuntimeOptions};
use holdover_store_memory::MemoryStore;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::bench::{Frame, Server, callers, chief, frames, told};

/// Starts a server, and a session that has given two tasks. Returns the path of its stream.
async fn followed() -> (Server, String, Vec<Frame>) {
    let runtime = Runtime::new(MemoryStore::new(), Agents::new().with(chief()), RuntimeOptions::default());
    let server = Server::on(runtime, callers(), |options| options.agent(chief())).await;
    let new = json!({ "agent": "chief", "message": "delegate", "session": "root" });
    assert_eq!(server.post("/v1/sessions", &new).await.0, StatusCode::CREATED);
    let path = "/v1/sessions/root/tree/events?until=rest&messages=true&deltas=false".to_owned();
    let text = server.ask(Method::GET, &path).send().await.unwrap().text().await.unwrap();
    (server, path, frames(&text))
}

#[tokio::test]
async fn a_tree_is_followed_as_one_stream_in_which_each_event_names_its_session() {
    let (_server, _, shown) = followed().await;
    let sessions: BTreeSet<&str> = shown.iter().filter_map(|frame| frame.data["session"].as_str()).collect();
    assert_eq!(sessions.len(), 3, "{shown:?}");
    let mut said = Vec::new();
    for frame in shown.iter().filter(|frame| frame.name == "event") {
        let is_root = frame.data["session"] == "root";
        assert_eq!(frame.data["depth"], u32::from(!is_root));
        assert_eq!(frame.data["tool"].as_str(), (!is_root).then_some("helper"));
        assert_eq!(frame.data["place"]["parent"].as_str(), (!is_root).then_some("root"));
        if let Some(text) = frame.data["message"]["message"]["parts"][0]["text"].as_str() {
            said.push(text);
        }
    }
    said.sort_unstable();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("It says: "), "{said:?}");
    assert_eq!(said[1..], ["You said: bye", "You said: hello"]);
    let end = shown.last().unwrap();
    assert_eq!((end.name.as_str(), &end.data["reason"]), ("end", &json!("reached")));
}

#[tokio::test]
async fn a_reader_of_a_tree_goes_on_after_any_item_and_gets_nothing_twice() {
    let (server, path, whole) = followed().await;
    for (at, frame) in whole.iter().enumerate() {
        let id = frame.id.clone().unwrap();
        let request = server.ask(Method::GET, &path).header("last-event-id", &id);
        let rest = frames(&request.send().await.unwrap().text().await.unwrap());
        let mut both = [&whole[..=at], &rest].concat();
        both.retain(|frame| frame.name == "event");
        let mut expected = whole.clone();
        expected.retain(|frame| frame.name == "event");
        // Sessions that run beside each other may come in another order; each has its own.
        let of = |frames: &[Frame], session: &str| {
            let own = frames.iter().filter(|frame| frame.data["session"] == session);
            own.map(|frame| frame.data.clone()).collect::<Vec<_>>()
        };
        let sessions: BTreeSet<&str> =
            expected.iter().filter_map(|frame| frame.data["session"].as_str()).collect();
        assert_eq!(both.len(), expected.len(), "after item {at}");
        for session in sessions {
            assert_eq!(of(&both, session), of(&expected, session), "after item {at}");
        }
    }
    let wrong = server.ask(Method::GET, &path).header("last-event-id", "x").send().await.unwrap();
    assert_eq!(told(wrong).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    let none = server.ask(Method::GET, "/v1/sessions/none/tree/events").send().await.unwrap();
    assert_eq!(told(none).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_tree_is_shown_within_a_limit_and_its_children_are_listed_by_pages() {
    let (server, ..) = followed().await;
    let tree = async |query: &str| {
        let tree = server.get(&format!("/v1/sessions/root/tree?ended=true{query}")).await;
        (tree["items"].as_array().unwrap().len(), tree["is_whole"].clone())
    };
    assert_eq!(tree("").await, (3, json!(true)));
    assert_eq!(tree("&limit=3").await, (3, json!(true)));
    assert_eq!(tree("&limit=2").await, (2, json!(false)));
    assert_eq!(tree("&limit=1").await, (1, json!(false)));
    let page = server.get("/v1/sessions?label=parent%3Droot&limit=1").await;
    let next = format!("/v1/sessions?label=parent%3Droot&limit=1&after={}", page["next"].as_str().unwrap());
    let rest = server.get(&next).await;
    let children = [&page, &rest].map(|page| page["items"][0]["session"].clone());
    assert!(children[0] != children[1] && rest["next"].is_null(), "{page} {rest}");
}
