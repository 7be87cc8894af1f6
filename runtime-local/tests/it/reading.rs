//! The ways in which a service reads its sessions, and in which sessions end.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::{MessageSeq, SessionId, SessionKey};
use holdover_core::store::{
    Deletion, Labels, OutcomeKind, Page, PageRequest, SessionQuery, SessionStatus, TimeRange, Wake,
};
use holdover_runtime_local::{Agent, Approval, Deliver, MessageEntry, RuntimeError, RuntimeErrorKind};

use crate::bench::{agent, agentless, asking_for, finish, only_pending, runtime, say, settle, store, tenant};
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
    runtime.approve(&key, &asked, Approval::default()).await.unwrap();
    assert_eq!(runtime.resume(&key).await.unwrap().text().await.unwrap(), "It is paid.");

    // The result stays readable, however many messages arrive afterwards.
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

#[tokio::test(start_paused = true)]
async fn h24_sessions_are_listed_by_agent_status_user_tags_metadata_and_time() {
    let model = Script::new(|_| Say::Text("ok"));
    let first = Arc::new(agent(&model).build().unwrap());
    let second = Arc::new(agent(&model).version("2").build().unwrap());
    let asks = Script::calling(vec![("pay", "{}")]);
    let other = Agent::builder("other").model(asks).tool(Fake::echo("pay")).gate(asking_for("pay"));
    let other = Arc::new(other.build().unwrap());
    let runtime = agentless(&store());
    let mut instants = Vec::new();
    for (id, agent, labels) in [
        ("a", Arc::clone(&first), &[("user", "ada"), ("urgent", ""), ("invoice", "17")][..]),
        ("b", second, &[("user", "ada"), ("urgent", ""), ("billing", "")][..]),
        ("c", other, &[("user", "bob"), ("urgent", "")][..]),
    ] {
        let labels = Labels::from_iter(labels.iter().copied());
        let say =
            say(&agent, "go").served_elsewhere().in_session(SessionId::new(id).unwrap()).labelled(labels);
        let (key, _) = finish(runtime.execute(say).await.unwrap()).await;
        instants.push(runtime.session(&key).await.unwrap().unwrap().created_at);
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let listed = async |query: SessionQuery| -> String {
        let page = runtime.list(&query).await.unwrap();
        page.items.iter().map(|session| session.key.id.to_string()).collect()
    };
    let all = || SessionQuery::all(tenant());
    let with =
        |labels: &[(&str, &str)]| SessionQuery { labels: Labels::from_iter(labels.iter().copied()), ..all() };
    assert_eq!(listed(all()).await, "cba", "newest first");
    // By agent, in any version; then by one version of it.
    assert_eq!(listed(with(&[(Labels::AGENT, "tester")])).await, "ba");
    assert_eq!(listed(with(&[(Labels::AGENT, "other")])).await, "c");
    assert_eq!(listed(SessionQuery { queue: Some("tester@2".parse().unwrap()), ..all() }).await, "b");
    // By user, by all of several tags, and by metadata.
    assert_eq!(listed(with(&[("user", "ada")])).await, "ba");
    assert_eq!(listed(with(&[("urgent", "")])).await, "cba");
    assert_eq!(listed(with(&[("urgent", ""), ("billing", "")])).await, "b");
    assert_eq!(listed(with(&[("invoice", "17")])).await, "a");
    assert_eq!(listed(with(&[("invoice", "18")])).await, "");
    // By time of creation.
    let since_b = TimeRange::since(instants[1]);
    assert_eq!(listed(SessionQuery { created: since_b, ..all() }).await, "cb");
    assert_eq!(listed(SessionQuery { created: since_b, ..with(&[("user", "ada")]) }).await, "b");
    assert_eq!(listed(SessionQuery { created: TimeRange::before(instants[1]), ..all() }).await, "a");
    // By time of the last change, after the oldest session has got a message.
    let before = runtime.now();
    finish(runtime.execute(say(&first, "more").in_session(SessionId::new("a").unwrap())).await.unwrap())
        .await;
    assert_eq!(listed(SessionQuery { changed: TimeRange::since(before), ..all() }).await, "a");
    assert_eq!(listed(SessionQuery { changed: TimeRange::before(before), ..all() }).await, "cb");
    // By status.
    let status = |status| SessionQuery { status: vec![status], ..all() };
    assert_eq!(listed(status(SessionStatus::Suspended)).await, "c");
    assert_eq!(listed(status(SessionStatus::Idle)).await, "ba");
}

#[tokio::test(start_paused = true)]
async fn h24_a_page_has_50_sessions_unless_asked_otherwise_and_200_at_most() {
    const SESSIONS: usize = 450;
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    for number in 0..SESSIONS {
        let say = say(&agent, "go").in_session(SessionId::new(format!("s{number:03}")).unwrap());
        runtime.start(say).await.unwrap();
    }
    for (limit, most) in [(None, 50), (Some(7), 7), (Some(200), 200), (Some(201), 200), (Some(u32::MAX), 200)]
    {
        let limit = limit.map(|limit| limit.try_into().unwrap());
        let page = PageRequest { after: None, limit };
        // The time filter stays in the query together with the cursor from page to page.
        let created = TimeRange::before(runtime.now().after(Duration::from_secs(1)));
        let mut query = SessionQuery { created, page, ..SessionQuery::all(tenant()) };
        let mut seen = Vec::new();
        loop {
            let Page { items, next } = runtime.list(&query).await.unwrap();
            assert_eq!(items.len(), most.min(SESSIONS - seen.len()), "{limit:?} asked for");
            seen.extend(items.into_iter().map(|session| session.key.id));
            match next {
                Some(next) => query.page.after = Some(next),
                None => break,
            }
        }
        assert_eq!(seen.len(), SESSIONS);
        assert!(seen.is_sorted_by(|a, b| a > b), "each once, in one order");
    }
}
