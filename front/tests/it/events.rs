//! Streams: order, cursors, and ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::store::StateStore;
use holdover_front::{Access, Caller, NoTokens, Tokens};
use holdover_store_memory::MemoryStore;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::bench::{ANN, Frame, Server, callers, frames, runtime, tenant, told};

fn names(frames: &[Frame]) -> Vec<String> {
    let name = |frame: &Frame| match frame.name.as_str() {
        "event" => frame.data["event"]["type"].as_str().unwrap().to_owned(),
        name => name.to_owned(),
    };
    frames.iter().map(name).collect()
}

#[tokio::test]
async fn a_stream_has_the_whole_turn_and_its_messages() {
    let server = Server::start().await;
    let session = server.session("hello").await;
    let shown = server.parked(&session).await;
    let named = names(&shown);
    assert_eq!(named.first().map(String::as_str), Some("init"));
    assert_eq!(named.last().map(String::as_str), Some("end"));
    assert_eq!(shown.last().unwrap().data["reason"], "reached");
    assert!(named.contains(&"done".to_owned()) && !named.contains(&"history".to_owned()), "{named:?}");
    let texts: Vec<&Value> =
        shown.iter().map(|frame| &frame.data["message"]["message"]).filter(|it| !it.is_null()).collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(texts[1]["parts"][0]["text"], "You said: hello");
    let bare = server.ask(Method::GET, &format!("{session}/events?until=available")).send().await.unwrap();
    assert_eq!(bare.headers()["content-type"], "text/event-stream");
    assert_eq!(bare.headers()["x-accel-buffering"], "no");
    let bare = frames(&bare.text().await.unwrap());
    assert!(bare.iter().all(|frame| frame.data.get("message").is_none()));
    let history = server.ask(Method::GET, &format!("{session}/events?until=available&history=true"));
    let history = frames(&history.send().await.unwrap().text().await.unwrap());
    assert!(names(&history).contains(&"history".to_owned()));
}

#[tokio::test]
async fn a_reader_that_was_cut_anywhere_ends_with_the_same_bytes() {
    let server = Server::start().await;
    let session = server.session("hello").await;
    let path = format!("{session}/events?until=rest&messages=true");
    let whole = server.ask(Method::GET, &path).send().await.unwrap().text().await.unwrap();
    for cut in (1..whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
        let read = frames(&whole[..cut]);
        let last = read.iter().rev().find_map(|frame| frame.id.clone());
        let request = server.ask(Method::GET, &path);
        let request = last.into_iter().fold(request, |request, id| request.header("last-event-id", id));
        let rest = frames(&request.send().await.unwrap().text().await.unwrap());
        let both: Vec<Frame> = read.into_iter().filter(|frame| frame.name != "end").chain(rest).collect();
        assert_eq!(both, frames(&whole), "cut after {cut} bytes");
    }
}

#[tokio::test]
async fn a_stream_follows_what_comes_and_ends_with_its_cursor_when_the_server_stops() {
    let server = Server::start().await;
    let session = server.session("hello").await;
    server.parked(&session).await;
    let stream = server.ask(Method::GET, &format!("{session}/events?deltas=false")).send().await.unwrap();
    let mut bytes = stream.bytes_stream();
    let mut text = String::new();
    let until = async |text: &mut String, bytes: &mut (dyn futures::Stream<Item = _> + Unpin), word: &str| {
        while !text.contains(word) {
            let next: Option<Result<Vec<u8>, reqwest::Error>> = bytes.next().await;
            text.push_str(&String::from_utf8(next.unwrap().unwrap()).unwrap());
        }
    };
    let mut bytes = (&mut bytes).map(|next| next.map(|bytes| bytes.to_vec()));
    until(&mut text, &mut bytes, r#""type":"done","turn":1"#).await;
    server.post(&format!("{session}/messages"), &json!({ "text": "more" })).await;
    until(&mut text, &mut bytes, r#""type":"done","turn":2"#).await;
    server.stop.cancel();
    until(&mut text, &mut bytes, "event: end").await;
    while bytes.next().await.is_some() {}
    let shown = frames(&text);
    let last = shown.last().unwrap();
    assert_eq!(last.data["reason"], "stopping");
    assert_eq!(last.data["cursor"].as_str(), last.id.as_deref());
}

/// A reader sees the words of a model while they come, and is told which message they became. One that is cut after each
/// frame reads the same.
#[tokio::test]
async fn deltas_come_before_their_message_and_can_be_left_out() {
    let server = Server::start().await;
    let session = server.session("speak slowly").await;
    let path = format!("{session}/events?until=rest");
    let live = frames(&server.ask(Method::GET, &path).send().await.unwrap().text().await.unwrap());
    let of = |name: &str| live.iter().filter(|frame| frame.name == name).cloned().collect::<Vec<_>>();
    let deltas = of("delta");
    assert!(deltas.len() >= 2, "{live:#?}");
    let text: String = deltas.iter().map(|frame| frame.data["delta"]["text"].as_str().unwrap()).collect();
    assert!("word 0 word 1 word 2 word 3 word 4 word 5 ".starts_with(&text) && text.len() > 6, "{text}");
    let place = |fits: &dyn Fn(&Frame) -> bool| live.iter().position(fits).unwrap();
    let message = place(&|frame| frame.data["event"]["role"] == "assistant");
    assert_eq!(live[message].data["event"]["stream"], deltas[0].data["stream"]);
    assert!(message > place(&|frame| frame.name == "delta"));
    let bare = server.ask(Method::GET, &format!("{path}&deltas=false")).send().await.unwrap();
    let bare = frames(&bare.text().await.unwrap());
    let committed = |frames: &[Frame]| {
        frames
            .iter()
            .filter(|frame| frame.name == "event")
            .map(|frame| frame.data.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(committed(&bare), committed(&live), "all that is final is there");
    assert!(bare.iter().all(|frame| frame.name != "delta"));
    for frame in &live {
        let request = server.ask(Method::GET, &path).header("last-event-id", frame.id.clone().unwrap());
        let rest = frames(&request.send().await.unwrap().text().await.unwrap());
        let seen = live.iter().take_while(|other| other.id != frame.id).count() + 1;
        let both: Vec<Value> = committed(&live[..seen]).into_iter().chain(committed(&rest)).collect();
        assert_eq!(both, committed(&live), "cut after {frame:?}");
    }
}

/// A stream that is open when its token is revoked ends within seconds.
#[tokio::test]
async fn a_stream_does_not_outlive_its_token() {
    let known = Arc::new(Passing::default());
    let server = Server::with(Access::Tokens(Arc::clone(&known) as Arc<dyn Tokens>), |options| options).await;
    let new = json!({ "agent": "clerk", "message": "wait", "session": "s" });
    let started = server.ask(Method::POST, "/v1/sessions").json(&new).send().await.unwrap();
    assert_eq!(started.status(), StatusCode::CREATED);
    let stream = server.ask(Method::GET, "/v1/sessions/s/events").send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    known.revoked.store(true, Ordering::SeqCst);
    let shown = frames(&stream.text().await.unwrap());
    let last = shown.last().unwrap();
    assert_eq!((last.name.as_str(), &last.data["reason"]), ("end", &json!("unauthorized")));
}

/// One token, until it is revoked.
#[derive(Default)]
struct Passing {
    revoked: AtomicBool,
}

#[async_trait]
impl Tokens for Passing {
    async fn caller(&self, token: &str) -> Result<Option<Caller>, NoTokens> {
        let holds = token == ANN && !self.revoked.load(Ordering::SeqCst);
        Ok(holds.then(|| Caller::of(tenant("acme")).named("ann")))
    }
}

#[tokio::test]
async fn errors_are_told_before_the_stream_begins() {
    let server = Server::start().await;
    let session = server.session("hello").await;
    let cases = [
        ("/v1/sessions/nobody/events", None, StatusCode::NOT_FOUND, "not_found"),
        ("{session}/events?until=never", None, StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        ("{session}/events?after=x", None, StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        ("{session}/events", Some("x"), StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
    ];
    for (path, id, status, code) in cases {
        let request = server.ask(Method::GET, &path.replace("{session}", &session));
        let request = id.into_iter().fold(request, |request, id| request.header("last-event-id", id));
        let (found, problem) = told(request.send().await.unwrap()).await;
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{path}");
    }
    let other = server.session("hello").await;
    server.parked(&other).await;
    let cursor = server.get(&other).await["cursor"].as_str().unwrap().to_owned();
    let request = server.ask(Method::GET, &format!("{session}/events?after={cursor}"));
    let (status, problem) = told(request.send().await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (StatusCode::GONE, &json!("gone")));
}

#[tokio::test]
async fn a_caller_has_a_bounded_number_of_streams() {
    let server = Server::with(callers(), |options| options.streams_max(2)).await;
    let session = server.session("hello").await;
    let open = || server.ask(Method::GET, &format!("{session}/events")).send();
    let (one, two) = (open().await.unwrap(), open().await.unwrap());
    assert!(one.status().is_success() && two.status().is_success());
    let (status, problem) = told(open().await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (StatusCode::TOO_MANY_REQUESTS, &json!("too_many_streams")));
    let reader =
        server.anonymous(Method::GET, &format!("{session}/events")).bearer_auth(crate::bench::READER);
    assert!(reader.send().await.unwrap().status().is_success(), "another caller has streams of its own");
    drop(one);
    let freed = async {
        while !open().await.unwrap().status().is_success() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::bench::PATIENCE, freed).await.unwrap();
}

/// A store that counts what is asked of it.
pub(crate) struct Counted {
    pub(crate) store: Arc<dyn StateStore>,
    pub(crate) requests: Arc<AtomicUsize>,
}

impl Counted {
    fn count(&self) -> &dyn StateStore {
        self.requests.fetch_add(1, Ordering::SeqCst);
        &*self.store
    }
}

holdover_core::store::forward_store! { [] Counted, |counted| *counted.count() }

#[tokio::test]
async fn messages_are_read_many_at_a_time_and_each_is_with_its_event() {
    let requests = Arc::new(AtomicUsize::new(0));
    let store = Counted { store: Arc::new(MemoryStore::new()), requests: Arc::clone(&requests) };
    let server = Server::on(runtime(store), callers(), |options| options).await;
    let session = server.session("number 0").await;
    for number in 1..20 {
        server.parked(&session).await;
        let said = json!({ "text": format!("number {number}") });
        assert_eq!(server.post(&format!("{session}/messages"), &said).await.0, StatusCode::ACCEPTED);
    }
    server.parked(&session).await;
    let read = async |query: &str| {
        let before = requests.load(Ordering::SeqCst);
        let path = format!("{session}/events?until=available{query}");
        let text = server.ask(Method::GET, &path).send().await.unwrap().text().await.unwrap();
        (frames(&text), requests.load(Ordering::SeqCst) - before)
    };
    let (_, bare) = read("").await;
    let (shown, whole) = read("&messages=true").await;
    assert!(whole < bare + 20, "{whole} requests to the store with 40 messages, {bare} without");
    let shown: Vec<&Value> =
        shown.iter().map(|frame| &frame.data["message"]).filter(|message| !message.is_null()).collect();
    let transcript = server.get(&format!("{session}/messages")).await;
    assert_eq!(shown, transcript["items"].as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(shown.len(), 40);
}
