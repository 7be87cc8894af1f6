//! The continuation of each session of the corpus, to the end of its turn.

use std::path::Path;

use holdover::pending::ClientAnswer;
use holdover::runtime::Runtime;
use holdover::session::{Deliver, Message, OutcomeKind, ResultStatus, SessionQuery, SessionStatus};

use crate::agent::{Sent, When, agent};
use crate::cast::{SEALED, SESSIONS, key, runtime, say, sealed, transcript};
use crate::leaves::approve;
use crate::places::Place;

pub(crate) async fn all<P: Place>(place: &P, release: &Path) {
    let left = std::fs::read_to_string(release.with_file_name(SESSIONS)).unwrap();
    for id in left.lines() {
        let sent = Sent::default();
        let agent = agent(When::GoingOn, &sent);
        let store = place.open().await;
        let runtime = if id == SEALED { sealed(&store, &agent) } else { runtime(&store, &agent) };
        if left.starts_with(id) {
            let all = SessionQuery::all(key(id).tenant);
            assert_eq!(runtime.would_break(&all).await.unwrap(), [], "{}: nothing breaks", release.display());
        }
        goes_on(&runtime, id, &agent, &sent).await;
        drop(runtime);
        place.close(store).await;
    }
}

/// Asserts that a session of a release goes on to the end of its turn, and that its history still rebuilds its state. A
/// deleted or aborted session must stay so.
async fn goes_on(runtime: &Runtime, id: &str, agent: &std::sync::Arc<holdover::agent::Agent>, sent: &Sent) {
    let key = key(id);
    if id == "deleted" {
        assert_eq!(runtime.session(&key).await.unwrap(), None, "it stays deleted");
        let run = runtime.execute(say(agent, id, "again")).await.unwrap();
        assert_eq!(run.outcome().await.unwrap().kind(), OutcomeKind::Completed, "its name is free");
        return;
    }
    assert!(runtime.replay(&key).await.unwrap().agrees(), "{id}: as it was left");
    let before = transcript(runtime, id).await;
    let mut ends = OutcomeKind::Completed;
    match id {
        "rests" | "forked" | "fork" | "edited" | "shortened" => {
            drop(runtime.execute(say(agent, id, "more")).await.unwrap().outcome().await.unwrap());
        }
        "approval" | "queued" => approve(runtime, id, "ann").await,
        "one-of-two" => approve(runtime, id, "bob").await,
        SEALED => approve(runtime, id, "ann").await,
        "client" => {
            let pending = runtime.pending(&key).await.unwrap();
            let answer = Deliver::client_answer(&pending[0].call, ClientAnswer::done("42"));
            runtime.deliver(&key, answer).await.unwrap();
        }
        "failed" | "interrupted" => drop(runtime.retry(&key).await.unwrap().outcome().await.unwrap()),
        "to-abort" => ends = OutcomeKind::Aborted,
        "aborted" => {
            assert!(runtime.execute(say(agent, id, "more")).await.is_err(), "{id}: it is final");
            ends = OutcomeKind::Aborted;
        }
        _ => {}
    }
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), ends, "{id}");
    let after = transcript(runtime, id).await;
    assert_eq!(after[..before.len()], before[..], "{id}: what was said stays");
    let results = after.iter().filter_map(|message| match message {
        Message::Tool(result) => Some((result.tool.as_str(), result.status)),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    let acted: Vec<_> = results.filter(|(tool, _)| !["look", "ask", "sleep"].contains(tool)).collect();
    let expected: &[(&str, ResultStatus)] = match id {
        "approval" | "queued" | SEALED => &[("pay", ResultStatus::Done)],
        "one-of-two" => &[("grant", ResultStatus::Done)],
        "in-the-middle" => &[("pay", ResultStatus::InDoubt)],
        "staged" => &[("book", ResultStatus::Done), ("hold", ResultStatus::InDoubt)],
        _ => &[],
    };
    assert_eq!(acted, expected, "{id}");
    // Calls that had begun are not sent again, nor are calls with staged results.
    let sent = sent.lock().unwrap().iter().filter(|tool| *tool != "look").cloned().collect::<Vec<_>>();
    let expected: &[&str] = match id {
        "approval" | "queued" | SEALED => &["pay"],
        "one-of-two" => &["grant"],
        _ => &[],
    };
    assert_eq!(sent, expected, "{id}");
    match id {
        "queued" => {
            let said = |message: &&Message| matches!(message, Message::User(said) if said.text == "later");
            assert!(
                after.iter().any(|message| said(&message)),
                "what waited in the inbox is told: {after:?}"
            );
        }
        "fork" => {
            let session = runtime.session(&key).await.unwrap().unwrap();
            assert_eq!(session.labels.0.get("from").map(String::as_str), Some("forked"));
            assert_eq!(session.status, SessionStatus::Idle);
        }
        _ => {}
    }
    assert!(runtime.replay(&key).await.unwrap().agrees(), "{id}: at the end");
}
