//! Sessions in a state that only another version knows: they are set aside with a dead letter, and that version goes on.
//!
//! Requirements: C03.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use holdover_core::agent::Limits;
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::ids::{SessionKey, TurnNumber};
use holdover_core::letter::LetterCause;
use holdover_core::machine::Machine;
use holdover_core::message::ResultStatus;
use holdover_core::payload::Payload;
use holdover_core::store::{
    ClaimOne, ClaimOutcome, Commit, CommitOutcome, EventCursor, InterruptOutcome, NewState, OutcomeKind,
    PageRequest, Release, Session, SessionQuery, SessionStatus, StateStore,
};
use holdover_runtime_local::{
    DeadLetter, Deliver, Delivered, Follow, Retention, Runtime, RuntimeError, SubAgent, WorkerOptions,
};
use holdover_store_memory::MemoryStore;
use serde_json::{Value, json};

use crate::bench::{
    agent, asking_for, finish, only_pending, only_result, runtime, say, store, tenant, transcript, worker,
};
use crate::replaying::{operation, rested};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Writes a state to the session without going through the engine, and leaves everything else as it was.
async fn write(store: &MemoryStore, key: &SessionKey, payload: &Payload) {
    let one = ClaimOne {
        run: "tampers".parse().unwrap(),
        worker: "nobody".parse().unwrap(),
        lease: Duration::from_secs(30),
        expected_version: None,
        items: Vec::new(),
    };
    let ClaimOutcome::Claimed(claim) = store.claim_session(key, one).await.unwrap() else {
        panic!("nobody holds it")
    };
    let state = NewState { format: claim.session.format, payload: payload.clone() };
    let release = Release::To { status: claim.found, deadline: None, wake_on: 0 };
    let commit = Commit { state: Some(state), release: Some(release), ..Commit::new(operation()) };
    let written = store.commit(&claim.fence, commit).await.unwrap();
    assert!(matches!(written, CommitOutcome::Committed(_)), "{written:?}");
}

/// Replaces the state by one that no version knows. Returns both, the known one first.
async fn spoil(store: &MemoryStore, key: &SessionKey) -> (Payload, Payload) {
    let known = store.load_session(key).await.unwrap().unwrap().state.unwrap();
    let mut dreams: Value = known.parse().unwrap();
    dreams["state"] = json!({ "state": "dreaming" });
    let dreams = Payload::json(&dreams).unwrap();
    write(store, key, &dreams).await;
    (known, dreams)
}

async fn read(runtime: &Runtime, key: &SessionKey) -> Session {
    runtime.session(key).await.unwrap().unwrap()
}

async fn letters(runtime: &Runtime) -> Vec<DeadLetter> {
    runtime.dead_letters(&tenant(), PageRequest::default()).await.unwrap().items
}

async fn is_set_aside(runtime: &Runtime, key: &SessionKey) -> DeadLetter {
    let mut all = letters(runtime).await;
    all.retain(|letter| letter.key() == key);
    let left = read(runtime, key).await;
    assert_eq!((left.status, left.alarm, left.lease), (SessionStatus::Failed, None, None));
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0].letter.cause, LetterCause::Unreadable);
    assert_eq!(all[0].letter.error, ErrorInfo::new("engine.unreadable", "no handler for state `dreaming`"));
    all.remove(0)
}

/// Requirements: C03.
#[tokio::test(start_paused = true)]
async fn c03_a_run_fails_in_a_state_that_no_handler_knows_and_the_session_loses_nothing() {
    let (store, runtime, key) = rested().await;
    let (known, dreams) = spoil(&store, &key).await;
    runtime.deliver(&key, Deliver::message("more")).await.unwrap();
    let (said, before) = (transcript(&runtime, &key).await, read(&runtime, &key).await);

    // Whoever runs the session here is told which state it is.
    let refused = runtime.resume(&key).await.unwrap().outcome().await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Start(_)), "{refused:?}");
    let named = format!("session {key}: state: unknown variant `dreaming`");
    assert!(refused.to_string().starts_with(&named), "{refused}");
    let letter = is_set_aside(&runtime, &key).await;
    assert_eq!((letter.letter.turn, letter.is_replayed()), (TurnNumber(1), false));
    let run = runtime.runs(&key, PageRequest::default()).await.unwrap().items.pop().unwrap();
    let end = run.end.unwrap();
    let why: ErrorInfo = end.detail.unwrap().parse().unwrap();
    assert_eq!((end.outcome, &why), (OutcomeKind::Failed, &letter.letter.error));
    assert!(matches!(runtime.wait(&key).await, Err(RuntimeError::Unreadable { .. })));

    // Workers leave it alone. Whatever comes later makes it due once, and changes nothing else.
    let working = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(read(&runtime, &key).await.epoch, run.epoch, "nobody has tried again");
    runtime.deliver(&key, Deliver::message("hello?")).await.unwrap();
    assert!(runtime.requeue(&key).await.unwrap());
    tokio::time::sleep(Duration::from_secs(120)).await;
    drop(working);
    assert_eq!(is_set_aside(&runtime, &key).await, letter);
    let left = read(&runtime, &key).await;
    assert!((1..=2).contains(&(left.epoch.0 - run.epoch.0)), "{left:?}");
    assert_eq!((left.state.as_ref(), left.unread), (Some(&dreams), 3), "two messages and the retry");
    assert_eq!(transcript(&runtime, &key).await, said, "no handler has acted");
    let all = Retention::sessions(Duration::ZERO).of_tenant(tenant());
    assert_eq!(runtime.purge(&all).await.unwrap().sessions, 0);
    let after = EventCursor::after(before.incarnation, before.last_event);
    let told: Vec<_> = runtime.events(&key, after, Follow::Available).try_collect().await.unwrap();
    assert!(
        !told.is_empty() && told.iter().all(|told| matches!(told.event, Event::RunStarted { .. })),
        "{told:?}"
    );

    // A version that knows the state.
    write(&store, &key, &known).await;
    assert_eq!(runtime.replay_letter(&key, letter.id()).await.unwrap(), Delivered::Accepted);
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed, "the messages were kept");
    assert_eq!((letters(&runtime).await, read(&runtime, &key).await.unread), (Vec::new(), 0));
}

/// Requirements: C03.
#[tokio::test(start_paused = true)]
async fn c03_a_parked_turn_that_was_set_aside_goes_on_after_its_replay_and_its_call_runs_once() {
    let pay = Fake::echo("pay");
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = Arc::new(agent(&model).tool(pay.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let asked = only_pending(&runtime, &key).await;
    let (known, dreams) = spoil(&store, &key).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    runtime.approve(&key, &asked, "ada").await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let letter = is_set_aside(&runtime, &key).await;
    assert_eq!(read(&runtime, &key).await.state, Some(dreams));
    write(&store, &key, &known).await;
    runtime.replay_letter(&key, letter.id()).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Done);
    assert_eq!((pay.calls().len(), letters(&runtime).await), (1, Vec::new()));
}

/// Requirements: C03.
#[tokio::test(start_paused = true)]
async fn c03_a_session_that_cannot_be_read_is_given_back_ever_more_rarely_while_an_interrupt_waits() {
    let (store, runtime, key) = rested().await;
    let (known, dreams) = spoil(&store, &key).await;
    runtime.deliver(&key, Deliver::message("more")).await.unwrap();
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let letter = is_set_aside(&runtime, &key).await;
    let before = read(&runtime, &key).await;
    assert_eq!(runtime.abort(&key, "enough").await.unwrap(), InterruptOutcome::Requested);
    tokio::time::sleep(Duration::from_secs(120)).await;
    let waits = read(&runtime, &key).await;
    let runs = waits.epoch.0 - before.epoch.0;
    assert!((2..=60).contains(&runs), "looked at now and then: {runs}");
    assert_eq!((waits.status, waits.state), (SessionStatus::Failed, Some(dreams)));
    assert!(waits.interrupt.is_some(), "whoever can read it still ends it");
    let tried = runtime.runs(&key, PageRequest::default()).await.unwrap().items;
    let why =
        |run: &holdover_core::store::RunRecord| run.end.as_ref()?.detail.as_ref()?.parse::<ErrorInfo>().ok();
    let tried = tried.iter().filter_map(why).filter(|why| why.code == "runtime.unreadable").count();
    assert!((2..=12).contains(&tried), "tried ever more rarely: {tried}");
    // The worker may hold it at this moment.
    drop(_worker);
    tokio::time::sleep(Duration::from_secs(60)).await;
    write(&store, &key, &known).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Aborted);
    let refused = runtime.replay_letter(&key, letter.id()).await;
    assert!(matches!(refused, Err(RuntimeError::NotPending { .. })), "{refused:?}");
}

/// Begins a child, in the background or not, whose call waits for a person, and sets it aside. Returns its known state.
async fn family(background: bool) -> (MemoryStore, Runtime, SessionKey, SessionKey, Payload) {
    let model =
        Script::new(move |request| match (request.system.contains("You help."), results(request).len()) {
            (true, 0) => Say::Calls(vec![("pay", "{}")]),
            (true, _) => Say::Text("paid"),
            (false, 0) if background => {
                Say::Calls(vec![("helper", r#"{"tasks":["pay"],"background":true}"#)])
            }
            (false, 0) => Say::Calls(vec![("helper", r#"{"tasks":["pay"]}"#)]),
            (false, _) => Say::Text("all done"),
        });
    let helper = SubAgent::new("helper", "Pays.").instructions("You help.").tools(["pay".parse().unwrap()]);
    let helper = if background { helper.background() } else { helper };
    let limits = Limits::default().answer_timeout_ms(None);
    let agent =
        agent(&model).limits(limits).tool(Fake::echo("pay")).gate(asking_for("pay")).sub_agent(helper);
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (parent, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let all = store.list_sessions(&SessionQuery::all(tenant())).await.unwrap().items;
    let child = all.into_iter().map(|found| found.key).find(|key| *key != parent).unwrap();
    let working = worker(&runtime, WorkerOptions::default());
    runtime.wait(&child).await.unwrap();
    drop(working);
    let (known, _) = spoil(&store, &child).await;
    (store, runtime, parent, child, known)
}

/// Requirements: C03.
#[tokio::test(start_paused = true)]
async fn c03_a_child_that_was_set_aside_tells_its_parent_nothing_until_it_goes_on() {
    for background in [false, true] {
        let (store, runtime, parent, child, known) = family(background).await;
        let working = worker(&runtime, WorkerOptions::default());
        runtime.deliver(&child, Deliver::message("hurry")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let letter = is_set_aside(&runtime, &child).await;
        let (before, said) = (read(&runtime, &parent).await, transcript(&runtime, &parent).await);
        // The parent looks for its children every hour.
        tokio::time::sleep(Duration::from_secs(2 * 3600 + 60)).await;
        let after = read(&runtime, &parent).await;
        assert!(after.epoch > before.epoch, "it has looked");
        assert_eq!((after.status, after.unread), (before.status, 0), "background: {background}");
        assert_eq!(transcript(&runtime, &parent).await, said);
        // Whoever waits for the parent is told that it waits, and is not held up.
        let waits = tokio::time::timeout(Duration::from_secs(60), runtime.wait(&parent)).await.unwrap();
        let expected =
            if background { OutcomeKind::Completed } else { OutcomeKind::SuspendedAwaitingChildren };
        assert_eq!(waits.unwrap().kind(), expected);

        drop(working);
        tokio::time::sleep(Duration::from_secs(60)).await;
        write(&store, &child, &known).await;
        let working = worker(&runtime, WorkerOptions::default());
        runtime.replay_letter(&child, letter.id()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        // Its call was not approved in time. The time went on.
        drop(working);
        assert_eq!(read(&runtime, &child).await.status, SessionStatus::Idle);
        let parent = read(&runtime, &parent).await;
        let machine: Machine = parent.state.unwrap().parse().unwrap();
        assert_eq!((parent.status, machine.turn.open, parent.unread), (SessionStatus::Idle, false, 0));
        assert!(machine.running_children().next().is_none(), "it was told");
    }
}
