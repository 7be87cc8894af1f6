//! A session seen from outside: its standing, the result of its turn, and waiting with a time limit.
//!
//! Requirements: A13, B12, C10, C58, C59, D16, H04.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use holdover_core::engine::RunKind;
use holdover_core::event::Event;
use holdover_core::machine::glance::{Classic, Ended};
use holdover_core::machine::{DoneReason, Glance, StateKind};
use holdover_core::message::ClientAnswer;
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{EventCursor, OutcomeKind, PageRequest, SessionStatus, Wake};
use holdover_runtime_local::{Approval, Deliver, Follow, Runtime, RuntimeError, WorkerOptions, machine_of};
use tracing::field::{Field, Visit};

use crate::bench::{
    agent, agentless, asking_for, completes, finish, only_pending, runtime, say, settle, store, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::{Fake, spec};

#[tokio::test(start_paused = true)]
async fn a13_c58_who_looks_on_from_elsewhere_is_shown_the_machine_whenever_it_changed_and_never_twice_the_same()
 {
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay"));
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runs = runtime(&store, &agent);
    let run = runs.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    let looks = agentless(&store);
    let seen: Arc<Mutex<Vec<Glance>>> = Arc::default();
    let watching = tokio::spawn({
        let (seen, mut glances) = (Arc::clone(&seen), looks.glances(&key));
        async move {
            while let Some(glance) = glances.next().await {
                seen.lock().unwrap().push(glance.unwrap());
            }
        }
    });
    assert_eq!(run.outcome().await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    // The watcher polls slowly, so give it time to look again.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let waits = looks.glance(&key).await.unwrap();
    assert_eq!((waits.state, waits.calls.blocked, waits.approvals.len()), (StateKind::Confirming, 1, 1));
    assert_eq!(waits.max_steps, Some(agent.spec().limits.max_steps));
    let before = seen.lock().unwrap().len();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(seen.lock().unwrap().len(), before, "nothing has changed in a minute");
    let asked = only_pending(&runs, &key).await;
    runs.approve(&key, &asked, Approval::default()).await.unwrap();
    completes(runs.resume(&key).await.unwrap()).await;
    watching.await.unwrap();
    let seen = seen.lock().unwrap().clone();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:#?}");
    assert!(seen.contains(&waits), "{seen:#?}");
    let last = seen.last().unwrap();
    assert_eq!(
        (last.status, last.state, last.ended),
        (SessionStatus::Idle, StateKind::Done, Some(Ended::Stopped))
    );
    assert_eq!(runs.resumes(&key).await.unwrap(), 1);
}

/// Requirements: C58, D02.
#[tokio::test(start_paused = true)]
async fn c58_d02_a_watcher_that_looks_rarely_is_shown_every_change_in_the_order_of_the_log() {
    let model = Script::calling(vec![("pay", "{}"), ("look", "{}")]);
    let built = agent(&model).tool(Fake::echo("pay")).tool(Fake::echo("look")).gate(asking_for("pay"));
    let agent = Arc::new(built.build().unwrap());
    let store = store();
    let (runs, looks) = (runtime(&store, &agent), agentless(&store));
    let run = runs.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    run.outcome().await.unwrap();
    let mut glances = looks.glances(&key);
    let first = glances.next().await.unwrap().unwrap();
    assert_eq!(first.state, StateKind::Confirming);
    let seen_until = looks.session(&key).await.unwrap().unwrap().last_event;
    // The watcher sleeps while the turn ends and another one begins and ends.
    let asked = only_pending(&runs, &key).await;
    runs.approve(&key, &asked, Approval::default()).await.unwrap();
    completes(runs.resume(&key).await.unwrap()).await;
    completes(runs.execute(say(&agent, "more").in_session(key.id.clone())).await.unwrap()).await;
    let mut seen = vec![first];
    while let Some(glance) = glances.next().await {
        seen.push(glance.unwrap());
    }
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:#?}");

    let mut events = looks.events(&key, EventCursor::START, Follow::Available);
    let mut moves = Vec::new();
    while let Some(entry) = events.next().await {
        let entry = entry.unwrap();
        if let Event::History { rows } = entry.event
            && entry.seq > seen_until
        {
            moves.extend(rows.into_iter().map(|row| row.from));
        }
    }
    moves.push(StateKind::Done);
    moves.dedup();
    let mut states: Vec<StateKind> = seen.iter().map(|glance| glance.state).collect();
    states.dedup();
    assert!(states.len() > 8, "{states:?}");
    assert_eq!(states, moves, "no state between the first look and the end is left out");
    let turns: Vec<u64> = seen.iter().map(|glance| glance.turn.0).collect();
    assert!(turns.is_sorted() && turns.last() == Some(&2), "{turns:?}");
    let ends = seen.iter().filter(|glance| glance.ended.is_some()).map(|glance| glance.turn.0);
    assert!(ends.collect::<Vec<_>>().contains(&1), "the end of the first turn is shown: {seen:#?}");
    let mut classic: Vec<Classic> = seen.iter().map(|glance| glance.classic).collect();
    classic.dedup();
    use Classic::{Acting, Idle, Observing, Responding, Thinking};
    assert!(classic.windows(3).any(|three| three == [Acting, Observing, Thinking]), "{classic:?}");
    assert!(classic.windows(3).any(|three| three == [Thinking, Responding, Idle]), "{classic:?}");
}

#[tokio::test(start_paused = true)]
async fn c59_a_response_says_how_the_turn_stopped_what_was_said_in_it_and_in_how_many_steps() {
    let model = Script::new(|request| {
        let asked = request.messages.iter().filter(|message| message.role() == "user").count();
        match (asked, results(request).len()) {
            (1, 0) => Say::Calls(vec![("note", "{}")]),
            (1, _) => Say::Text("It is noted."),
            (_, _) => Say::Fail(ModelError::new(ModelErrorKind::Auth, "no such key")),
        }
    });
    let agent = Arc::new(agent(&model).tool(Fake::echo("note")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    assert_eq!(runtime.response(&key).await.unwrap(), None, "it runs");
    let response = run.response().await.unwrap();
    let shown = serde_json::to_value(&response).unwrap();
    let used =
        serde_json::json!({ "tokens": { "input": 2, "output": 2 }, "model_calls": 2, "tool_calls": 1 });
    let expected = serde_json::json!({
        "turn": 1, "stop_reason": "stopped", "reason": "model_stop", "text": "It is noted.", "steps": 2, "error": null,
        "usage": used, "session_usage": used,
    });
    assert_eq!(shown, expected);
    let again = runtime.execute(say(&agent, "more").in_session(key.id.clone())).await.unwrap();
    let failed = again.response().await.unwrap();
    assert_eq!((failed.stop_reason, failed.reason, failed.steps), (Ended::Failed, DoneReason::Error, 0));
    assert_eq!(failed.text, None, "what an earlier turn said is no answer to this one");
    assert_eq!(failed.error.unwrap().code, "model.auth");
    assert_eq!(runtime.glance(&key).await.unwrap().classic, Classic::Error);
}

#[tokio::test(start_paused = true)]
async fn c10_a_wait_has_a_bound_and_changes_nothing_when_it_is_over() {
    let slow = |_: &_| Say::Slowly {
        pieces: vec!["slow".into(), "ly".into()],
        apart: Duration::from_secs(100),
        whole: true,
    };
    let model = Script::new(slow);
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runs = runtime(&store, &agent);
    let mut run = runs.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    let bound = Duration::from_secs(120);
    let looks = runtime(&store, &agent);
    for _ in 0..2 {
        assert_eq!(run.outcome_within(bound).await.unwrap(), None);
    }
    let before = runs.session(&key).await.unwrap().unwrap();
    assert_eq!(looks.wait_at_most(&key, Duration::ZERO).await.unwrap(), None);
    let after = runs.session(&key).await.unwrap().unwrap();
    assert_eq!(
        (before.version, before.epoch, before.status),
        (after.version, after.epoch, SessionStatus::Active)
    );
    let over = run.outcome_within(bound).await.unwrap().expect("it has ended by now");
    assert_eq!(over.kind(), OutcomeKind::Completed);
    assert_eq!(looks.wait_at_most(&key, bound).await.unwrap(), Some(over));
    assert_eq!(model.asked().len(), 1, "it was asked once");

    // Waiting for a session that no process has taken up does not take it up.
    let left = runs.start(say(&agent, "later")).await.unwrap().key;
    assert_eq!(looks.wait_at_most(&left, bound).await.unwrap(), None);
    assert_eq!(runs.session(&left).await.unwrap().unwrap().epoch.0, 0);
    let _working = worker(&runs, WorkerOptions::default());
    let done = looks.wait_at_most(&left, Duration::from_secs(3600)).await.unwrap();
    assert_eq!(done.map(|outcome| outcome.kind()), Some(OutcomeKind::Completed));
}

#[tokio::test(start_paused = true)]
async fn d16_each_move_says_where_it_led_and_refers_to_what_the_machine_was_then() {
    let model = Script::calling(vec![("note", "{}")]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("note")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let moves = runtime.moves(&key).await.unwrap();
    assert_eq!((moves[0].from, moves[0].to), (StateKind::Idle, StateKind::Provisioning));
    assert_eq!(moves.last().unwrap().to, StateKind::Done);
    for (at, pair) in moves.windows(2).enumerate() {
        assert_eq!((pair[0].number, pair[0].to), (at + 1, pair[1].from));
        assert!(pair[0].at <= pair[1].at);
    }
    for moved in &moves {
        let then = runtime.machine_after(&key, moved.number).await.unwrap().unwrap();
        assert_eq!(then.state.kind(), moved.to);
    }
    let session = runtime.session(&key).await.unwrap().unwrap();
    let last = runtime.machine_after(&key, moves.len()).await.unwrap();
    assert_eq!(last, machine_of(&session).unwrap());
    assert_eq!(runtime.machine_after(&key, moves.len() + 1).await.unwrap(), None);
    assert_eq!(runtime.machine_after(&key, 0).await.unwrap(), Some(Default::default()));
}

#[tokio::test(start_paused = true)]
async fn d16_h19_each_stored_row_says_where_it_led_and_the_last_of_a_step_refers_to_its_checkpoint() {
    let model = Script::calling(vec![("note", "{}")]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("note")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let events: Vec<_> = runtime.events(&key, EventCursor::START, Follow::Available).collect().await;
    let mut stored = Vec::new();
    for entry in events {
        if let Event::History { rows } = entry.unwrap().event {
            stored.extend(rows);
        }
    }
    let moves = runtime.moves(&key).await.unwrap();
    let led: Vec<_> = moves.iter().map(|moved| (moved.from, Some(moved.to), moved.checkpoint)).collect();
    assert_eq!(stored.iter().map(|row| (row.from, row.to, row.checkpoint)).collect::<Vec<_>>(), led);

    // Every checkpoint is named by one move, and holds the machine after that move.
    let checkpoints = runtime.checkpoints(&key, PageRequest::default()).await.unwrap().items;
    assert_eq!(checkpoints.len(), 2, "one of the step, one of the end");
    let named: Vec<_> = moves.iter().filter_map(|moved| Some((moved.checkpoint?, moved.number))).collect();
    assert_eq!(named.len(), checkpoints.len());
    for (id, number) in named {
        let kept = checkpoints.iter().find(|entry| entry.checkpoint.id == id).unwrap();
        assert_eq!(runtime.machine_after(&key, number).await.unwrap().as_ref(), Some(&kept.machine));
    }
}

/// A subscriber that keeps every warning and error.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, of: &tracing::Metadata<'_>) -> bool {
        *of.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = String::new();
        event.record(&mut Words(&mut line));
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn b12_an_answer_to_a_call_that_nobody_knows_is_ignored_and_logged() {
    let model = Script::calling(vec![("ask", "{}")]);
    let agent = agent(&model).client_tool(spec("ask"));
    let agent = Arc::new(agent.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let known = only_pending(&runtime, &key).await;
    let before = runtime.session(&key).await.unwrap().unwrap();
    let log = Log::default();
    let unknown = ["nobody.asked".to_owned(), known.as_str().replace("c1-0", "c9-9")];
    let listening = tracing::subscriber::set_default(log.clone());
    for id in &unknown {
        let answer = ClientAnswer::done("data");
        let refused = runtime.answer(&key, &id.parse().unwrap(), answer).await.unwrap_err();
        assert!(
            matches!(refused, RuntimeError::NotAsked { .. } | RuntimeError::NotPending { .. }),
            "{refused}"
        );
    }
    drop(listening);
    let lines = log.0.lock().unwrap().clone();
    for id in &unknown {
        let of_it: Vec<&String> = lines.iter().filter(|line| line.contains(id.as_str())).collect();
        assert_eq!(of_it.len(), 1, "{lines:#?}");
        assert!(of_it[0].contains("is ignored"), "{of_it:?}");
    }
    let after = runtime.session(&key).await.unwrap().unwrap();
    assert_eq!((before.version, before.unread), (after.version, after.unread));
    let answer = ClientAnswer::done("blue");
    runtime.answer(&key, &known, answer).await.unwrap();
    completes(runtime.resume(&key).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn h04_a_resume_that_dies_is_counted_and_told_as_one() {
    let model = Script::new(|request| match request.messages.len() {
        1 => Say::Fail(ModelError::new(ModelErrorKind::Auth, "no such key")),
        _ => Say::Calls(vec![("act", "{}")]),
    });
    let tool = Fake::new("act", |_| std::future::pending());
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let first = runtime(&store, &agent);
    let (key, failed) = finish(first.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(failed.kind(), OutcomeKind::Failed);
    first.deliver(&key, Deliver::message_that("it is mended", Wake::Quiet)).await.unwrap();
    let run = first.resume(&key).await.unwrap();
    while tool.calls().is_empty() {
        settle().await;
    }
    // Checked while the run goes on, and again after it has died with its process.
    let kinds = async |runtime: &Runtime| {
        let runs = runtime.runs(&key, Default::default()).await.unwrap().items;
        runtime.run_kinds(&key, &runs).await.unwrap()
    };
    assert_eq!(kinds(&first).await, [RunKind::Execute, RunKind::Resume]);
    drop((run, first));
    let looks = runtime(&store, &agent);
    let _working = worker(&looks, WorkerOptions::default());
    while kinds(&looks).await.len() < 3 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(kinds(&looks).await, [RunKind::Execute, RunKind::Resume, RunKind::Recovery]);
    assert_eq!(looks.resumes(&key).await.unwrap(), 1);
}
