//! What a service reads of its sessions, and their end.

use std::sync::Arc;

use holdover_core::ids::{MessageSeq, SessionId, SessionKey};
use holdover_core::store::{Deletion, OutcomeKind, PageRequest, SessionQuery, Wake};
use holdover_runtime_local::{Deliver, MessageEntry, RuntimeError, RuntimeErrorKind};

use crate::bench::{agent, asking_for, finish, only_pending, runtime, say, settle, store, tenant};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

#[tokio::test(start_paused = true)]
async fn a_run_tells_what_the_agent_said_or_why_it_said_nothing() {
    let model = Script::new(|request| match (results(request).len(), request.messages.len()) {
        (0, _) => Say::Calls(vec![("pay", "{}")]),
        (_, ..10) => Say::Text("It is paid."),
        (_, _) => Say::Nothing,
    });
    let agent = agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay"));
    let agent = Arc::new(agent.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    let waits = run.text().await.unwrap_err();
    assert!(
        matches!(waits, RuntimeError::Unanswered { outcome: OutcomeKind::SuspendedClientTool, .. }),
        "{waits}"
    );
    assert_eq!(runtime.last_text(&key).await.unwrap(), None);
    let asked = only_pending(&runtime, &key).await;
    runtime.approve(&key, &asked, Default::default()).await.unwrap();
    assert_eq!(runtime.resume(&key).await.unwrap().text().await.unwrap(), "It is paid.");

    // However much has been said to it since.
    for at in 0..300 {
        let more = Deliver::message_that(format!("and {at}"), Wake::Quiet);
        runtime.deliver(&key, more).await.unwrap();
    }
    let last = runtime.execute(say(&agent, "and that").in_session(key.id.clone())).await.unwrap();
    settle().await;
    runtime.interrupt(&key, "enough").await.unwrap();
    assert_eq!(last.outcome().await.unwrap().kind(), OutcomeKind::Interrupted);
    let newest = runtime.messages(&key).await.unwrap();
    let unanswered = newest.iter().rev().take_while(|entry| entry.message.role() == "user").count();
    assert!(unanswered > 256, "more than is read at once: {unanswered}");
    assert_eq!(runtime.last_text(&key).await.unwrap().as_deref(), Some("It is paid."));
}

#[tokio::test(start_paused = true)]
async fn a_transcript_is_read_on_from_any_place() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let id = SessionId::new("talk").unwrap();
    for said in ["one", "two", "three"] {
        finish(runtime.execute(say(&agent, said).in_session(id.clone())).await.unwrap()).await;
    }
    let key = SessionKey::new(tenant(), id);
    let whole = runtime.messages(&key).await.unwrap();
    assert_eq!(whole.len(), 6);
    for limit in 1..=7 {
        let mut read = Vec::new();
        loop {
            let after = read.last().map_or(MessageSeq(0), |entry: &MessageEntry| entry.seq);
            let more = runtime.messages_after(&key, after, limit).await.unwrap();
            assert!(more.len() <= limit as usize);
            if more.is_empty() {
                break;
            }
            read.extend(more);
        }
        assert_eq!(read, whole, "{limit} at once");
    }
    assert_eq!(runtime.messages_after(&key, MessageSeq(u64::MAX), u32::MAX).await.unwrap(), []);
    let shown = serde_json::to_value(&whole[0]).unwrap();
    assert_eq!((&shown["seq"], &shown["message"]["text"]), (&1.into(), &"one".into()), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn sessions_are_listed_tell_their_runs_and_are_deleted() {
    let model = Script::new(|request| match request.messages.len() {
        1 => Say::Text("ok"),
        _ => Say::Nothing,
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let listed = runtime.list(&SessionQuery::all(tenant())).await.unwrap().items;
    assert_eq!(listed.iter().map(|session| &session.key).collect::<Vec<_>>(), [&key]);
    let runs = runtime.runs(&key, PageRequest::default()).await.unwrap().items;
    let ends: Vec<_> = runs.iter().map(|run| run.end.as_ref().map(|end| end.outcome)).collect();
    assert_eq!(ends, [Some(OutcomeKind::Completed)]);

    let held = runtime.execute(say(&agent, "more").in_session(key.id.clone())).await.unwrap();
    settle().await;
    let refused = runtime.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Running { .. }), "{refused}");
    runtime.delete(&key, Deletion::FORCE).await.unwrap();
    drop(held);
    assert_eq!(runtime.list(&SessionQuery::all(tenant())).await.unwrap().items, []);
    for error in [
        runtime.delete(&key, Deletion::FORCE).await.unwrap_err(),
        runtime.runs(&key, PageRequest::default()).await.unwrap_err(),
        runtime.interrupt(&key, "stop").await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), RuntimeErrorKind::NotFound, "{error}");
    }
}
