//! A client that follows events, is cut off, and reconnects with the last id it saw.

use std::collections::HashMap;

use serde_json::Value;
use tokio::time::timeout;

use crate::service::{PATIENCE, Service};

/// One event of the stream.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    id: String,
    pub(crate) kind: String,
    data: Value,
}

impl Item {
    pub(crate) fn event_type(&self) -> &str {
        self.data["event"]["type"].as_str().unwrap_or_default()
    }

    pub(crate) fn is_message_of(&self, role: &str) -> bool {
        self.data["event"]["role"] == role
    }

    /// Returns the stream of deltas that this event ends, if any.
    fn ends(&self) -> Option<&str> {
        match self.kind.as_str() {
            "dropped" => self.data["stream"].as_str(),
            _ => self.data["event"]["stream"].as_str(),
        }
    }
}

/// Returns true if the turn is over.
pub(crate) fn is_done(seen: &[Item]) -> bool {
    seen.last().is_some_and(|shown| shown.event_type() == "done")
}

pub(crate) struct Follower {
    session: String,
    seen: Vec<Item>,
}

impl Follower {
    pub(crate) fn of(session: &str) -> Self {
        Self { session: session.to_owned(), seen: Vec::new() }
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Follows from the last event until `enough` returns true, then disconnects.
    pub(crate) async fn follow(&mut self, service: &Service, enough: impl Fn(&[Item]) -> bool) {
        let followed = timeout(PATIENCE, self.read(service, &enough)).await;
        assert!(followed.is_ok(), "{}: waited for more than {:#?}", self.session, self.seen.last());
    }

    async fn read(&mut self, service: &Service, enough: &impl Fn(&[Item]) -> bool) {
        let url = format!("{}/v1/sessions/{}/events", service.url(), self.session);
        let mut request = service.client().get(url);
        if let Some(last) = self.seen.last() {
            request = request.header("Last-Event-ID", &last.id);
        }
        let mut response = request.send().await.unwrap().error_for_status().unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut text = String::new();
        while !enough(&self.seen) {
            let chunk = response.chunk().await.unwrap().expect("a follower is not left alone");
            text += std::str::from_utf8(&chunk).expect("whole characters");
            while let Some((block, rest)) = text.split_once("\n\n") {
                self.seen.extend(item(block));
                text = rest.to_owned();
                if enough(&self.seen) {
                    return;
                }
            }
        }
    }

    /// Returns the cursor of the last event.
    pub(crate) fn last_id(&self) -> &str {
        &self.seen.last().expect("something was seen").id
    }

    pub(crate) fn has_answer(&self) -> bool {
        self.seen.iter().any(|shown| shown.is_message_of("assistant"))
    }

    /// Returns the committed events, in the order of the stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.seen.iter().filter(|shown| shown.kind == "event").map(|shown| shown.data.clone()).collect()
    }

    /// Checks that no event is shown twice (comparisons show that none is missing), and that each stream of deltas is
    /// shown in order, without gap or repeat, to its end: its message, or the notice that the stream is void. Returns
    /// the number of void streams.
    pub(crate) fn check(&self) -> usize {
        let session = &self.session;
        // The engine's internal rows also have sequence numbers, but are not shown.
        let seqs: Vec<u64> = self.events().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert!(seqs.is_sorted_by(|one, next| one < next), "{session}: no event is there twice: {seqs:?}");
        let types: Vec<&str> = self.seen.iter().map(Item::event_type).collect();
        assert!(!types.contains(&"history"), "{session}: {types:?}");
        let mut open: HashMap<String, u64> = HashMap::new();
        let mut ended: Vec<&str> = Vec::new();
        let mut dropped = 0;
        for shown in &self.seen {
            if shown.kind == "delta" {
                let stream = shown.data["stream"].as_str().unwrap();
                assert!(!ended.contains(&stream), "{session}: {stream} goes on after its end");
                let place = open.entry(stream.to_owned()).or_default();
                *place += 1;
                assert_eq!(shown.data["place"].as_u64(), Some(*place), "{session}: {stream}");
            }
            if let Some(stream) = shown.ends() {
                assert!(!ended.contains(&stream), "{session}: {stream} ends twice");
                let void = shown.kind == "dropped";
                assert!(!void || open.contains_key(stream), "{session}: {stream} was never shown");
                dropped += usize::from(void);
                open.remove(stream);
                ended.push(stream);
            }
        }
        assert!(open.is_empty(), "{session}: no end of {open:?}");
        dropped
    }
}

/// Parses a block of the stream. Returns `None` for a block that only keeps the connection open.
fn item(block: &str) -> Option<Item> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let kind = field("event")?.to_owned();
    assert_ne!(kind, "error", "{block}");
    let data = serde_json::from_str(field("data").unwrap()).unwrap();
    Some(Item { id: field("id").unwrap().to_owned(), kind, data })
}
