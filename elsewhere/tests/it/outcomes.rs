//! Tests of outcomes that are sent to a task's reply address, and of the tokens that protect it.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use holdover_core::engine::RunOutcome;
use holdover_core::ids::SessionKey;
use holdover_core::machine::Usage;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::remote::{RemoteTask, TaskOutcome};
use holdover_core::store::{Deletion, OutcomeKind};
use holdover_elsewhere::Callers;
use holdover_runtime_local::{Agent, Elsewhere, Execute, SubAgent};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::bench::{Parrot, Program, Say, Script, TOKEN, listen, tenant, value_of, wire};

/// A program whose agent `chief` has given two tasks to an agent in another program. The other program never sends an
/// outcome.
struct Waiting {
    here: Program,
    key: SessionKey,
    tasks: Vec<RemoteTask>,
}

impl Waiting {
    async fn new(token_env: Option<&str>) -> Self {
        let there = Parrot::saying(200, "", r#"{"task":"open"}"#).await;
        let mut remote = there.remote();
        remote.token_env = token_env.map(str::to_owned);
        let model = Script::new(|_| Say::Gives(r#"{"tasks":["north","south"]}"#));
        let digger = SubAgent::new("digger", "Digs.").elsewhere(remote);
        let chief = Agent::builder("chief").model(model.clone()).sub_agent(digger).build().unwrap();
        let (listener, base) = listen().await;
        let wire = wire().reachable_at(&base).unwrap();
        let nobody = Callers::nobody();
        let here = Program::serve(listener, base, model, Arc::new(chief), nobody, Some(wire));
        let request = Execute::new(tenant("acme"), Arc::clone(&here.agent), "go");
        let mut run = here.runtime.execute(request).await.unwrap();
        let outcome = run.first_outcome().await.unwrap().unwrap();
        assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren);
        // The chief may have asked for the state of the tasks already.
        let given = there.asked().into_iter().filter(|asked| asked.starts_with("POST "));
        let tasks = given.map(|asked| {
            let (_, body) = asked.split_once("\r\n\r\n").unwrap();
            serde_json::from_str(body).unwrap()
        });
        let mut tasks: Vec<RemoteTask> = tasks.collect();
        tasks.sort_by(|one, other| one.task.cmp(&other.task));
        assert_eq!(tasks.len(), 2);
        let key = run.key().clone();
        Self { here, key, tasks }
    }

    fn token(&self, at: usize) -> String {
        self.tasks[at].reply_to.as_ref().unwrap().rsplit('/').next().unwrap().to_owned()
    }

    /// Sends an outcome for the task to the address with this token. Returns the status of the answer.
    async fn tell(&self, token: &str, at: usize, text: &str) -> u16 {
        let body = json!({ "id": self.tasks[at].id, "outcome": { "ok": true, "text": text } });
        self.send(token, &body.to_string()).await
    }

    async fn send(&self, token: &str, body: &str) -> u16 {
        let request = reqwest::Client::new().post(format!("{}/outcomes/{token}", self.here.base));
        let request = request.header("content-type", "application/json").body(body.to_owned());
        request.send().await.unwrap().status().as_u16()
    }

    /// Waits until the chief's turn ends, and returns the result of its call.
    async fn result(&self) -> (ResultStatus, String) {
        let outcome = self.here.runtime.wait(&self.key).await.unwrap();
        assert!(matches!(outcome, RunOutcome::Ended(_)), "{outcome:?}");
        let messages = self.here.runtime.messages(&self.key).await.unwrap();
        let result = messages.into_iter().find_map(|entry| match entry.message {
            Message::Tool(result) => Some((result.status, result.content)),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        });
        result.unwrap()
    }
}

fn found(words: &[&str]) -> (ResultStatus, String) {
    let told: Vec<_> =
        words.iter().enumerate().map(|(at, word)| format!("[{}] done: {word}", at + 1)).collect();
    (ResultStatus::Done, told.join("\n"))
}

/// Returns `token` with its content changed by `change`, signed with `key`.
fn signed(token: &str, key: &str, change: impl FnOnce(&mut Value)) -> String {
    let (place, _) = token.split_once('.').unwrap();
    let mut place: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(place).unwrap()).unwrap();
    change(&mut place);
    // The fields are in the order in which the program writes them.
    let fields = ["tenant", "session", "pending", "index", "fail_fast"];
    let fields: Vec<_> = fields.iter().map(|field| format!("\"{field}\":{}", place[field])).collect();
    let place = format!("{{{}}}", fields.join(","));
    let mut tag = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    tag.update(b"holdover outcome address 1\0");
    tag.update(place.as_bytes());
    format!("{}.{}", URL_SAFE_NO_PAD.encode(place), URL_SAFE_NO_PAD.encode(tag.finalize().into_bytes()))
}

#[tokio::test]
async fn an_outcome_is_taken_once_at_its_address() {
    let waiting = Waiting::new(Some(TOKEN)).await;
    let (first, second) = (waiting.token(0), waiting.token(1));
    assert_eq!(signed(&first, &value_of(TOKEN), |_| {}), first, "the form of a token");
    assert_eq!(waiting.tell(&first, 0, "gold").await, 200);
    // A second outcome changes nothing, even if its text differs.
    assert_eq!(waiting.tell(&first, 0, "lead").await, 200);
    assert_eq!(waiting.tell(&second, 1, "iron").await, 200);
    assert_eq!(waiting.result().await, found(&["gold", "iron"]));
    for (at, token) in [first, second].iter().enumerate() {
        assert_eq!(waiting.tell(token, at, "late").await, 410, "nobody waits any more");
    }
}

#[tokio::test]
async fn an_address_that_was_forged_changed_or_swapped_is_refused() {
    let waiting = Waiting::new(Some(TOKEN)).await;
    let (first, second) = (waiting.token(0), waiting.token(1));
    let (place, tag) = first.split_once('.').unwrap();
    let (other_place, other_tag) = second.split_once('.').unwrap();
    let key = value_of(TOKEN);
    let refused = [
        (format!("{place}.{other_tag}"), 0, 404),
        (format!("{other_place}.{tag}"), 1, 404),
        (format!("{place}."), 0, 404),
        (place.to_owned(), 0, 404),
        (format!("{place}.{}", &tag[..tag.len() - 1]), 0, 404),
        ("nothing".to_owned(), 0, 404),
        (signed(&first, "", |_| {}), 0, 404),
        (signed(&first, "another", |_| {}), 0, 404),
        (signed(&first, "", |place| place["fail_fast"] = json!(true)), 0, 404),
        // The token is valid, but the outcome is for another task.
        (second.clone(), 0, 422),
        (signed(&first, &key, |place| place["index"] = json!(1)), 0, 422),
        // No call waits at this address.
        (signed(&first, &key, |place| place["session"] = json!("other")), 0, 410),
        (signed(&first, &key, |place| place["tenant"] = json!("other")), 0, 410),
        (
            signed(&first, &key, |place| {
                place["pending"] = json!(format!("{}9", place["pending"].as_str().unwrap()))
            }),
            0,
            410,
        ),
    ];
    for (at, (token, task, status)) in refused.iter().enumerate() {
        assert_eq!(waiting.tell(token, *task, "forged").await, *status, "{at}");
    }
    for (body, status) in [("{}", 422), ("[]", 400), ("{", 400)] {
        assert_eq!(waiting.send(&first, body).await, status, "{body}");
    }
    assert_eq!(waiting.tell(&first, 0, "gold").await, 200);
    assert_eq!(waiting.tell(&second, 1, "iron").await, 200);
    assert_eq!(waiting.result().await, found(&["gold", "iron"]));
}

#[tokio::test]
async fn without_a_token_of_the_agent_the_address_is_the_proof() {
    let waiting = Waiting::new(None).await;
    let (first, second) = (waiting.token(0), waiting.token(1));
    assert_eq!(waiting.tell(&signed(&first, "another", |_| {}), 0, "forged").await, 404);
    assert_eq!(waiting.tell(&first, 0, "gold").await, 200);
    assert_eq!(waiting.tell(&second, 1, "iron").await, 200);
    assert_eq!(waiting.result().await, found(&["gold", "iron"]));
}

#[tokio::test]
async fn the_wire_finds_the_address_and_takes_it_well_that_nobody_waits() {
    let waiting = Waiting::new(Some(TOKEN)).await;
    let wire = wire().allow_replies_to(&waiting.here.base).unwrap();
    for (task, text) in waiting.tasks.iter().zip(["gold", "iron"]) {
        let outcome = TaskOutcome { ok: true, text: text.into(), usage: Usage::default() };
        wire.tell(task.reply_to.as_ref().unwrap(), &task.id, &outcome).await.unwrap();
    }
    assert_eq!(waiting.result().await, found(&["gold", "iron"]));
    waiting.here.runtime.delete(&waiting.key, Deletion::UNLESS_ACTIVE).await.unwrap();
    let outcome = TaskOutcome { ok: true, text: "late".into(), usage: Usage::default() };
    wire.tell(waiting.tasks[0].reply_to.as_ref().unwrap(), &waiting.tasks[0].id, &outcome).await.unwrap();
    assert_eq!(waiting.tell(&waiting.token(0), 0, "late").await, 410);
}
