//! Idempotency keys, agents that do not fit, and effects that a store cannot protect.
//!
//! Requirements: C06, C08, C09.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::engine::STATE_FORMAT;
use holdover_core::ids::{Incarnation, ItemKey, MessageSeq, QueueLabel, SessionId, SessionKey, TurnNumber};
use holdover_core::message::{Message, MessagePolicy};
use holdover_core::store::{
    Answer, Labels, Layer, Layered, NewSession, OutcomeKind, Request, SessionQuery, SessionStatus, Start,
    StateStore, StoreError,
};
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{
    Agent, AgentError, Agents, Deliver, Delivered, Execute, Fork, Runtime, RuntimeError, RuntimeErrorKind,
    RuntimeOptions, WorkerOptions, agent_label,
};
use uuid::Uuid;

use crate::bench::{agent, completes, file_store, options, runtime, say, store, tenant, transcript, worker};
use crate::script::{Say, Script};
use crate::tools::Fake;

fn key() -> ItemKey {
    ItemKey::new("order-17").unwrap()
}

/// Requirements: C09.
#[tokio::test(start_paused = true)]
async fn a_key_starts_at_most_one_turn() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    let runs = futures::future::join_all([&first, &second, &first, &second].map(|runtime| {
        let request = say(&agent, "go").once(key());
        async move { completes(runtime.execute(request).await.unwrap()).await }
    }));
    let keys = runs.await;
    assert!(keys.iter().all(|key| *key == keys[0]));
    assert_eq!(transcript(&first, &keys[0]).await.len(), 2);
    assert_eq!(model.asked().len(), 1);

    let later = second.execute(say(&agent, "go").once(key())).await.unwrap();
    assert!(later.is_duplicate());
    completes(later).await;
    let other = first.execute(say(&agent, "something else").once(key())).await;
    assert!(matches!(other, Err(RuntimeError::KeyConflict { .. })), "{other:?}");
    let stranger = Arc::new(Agent::builder("other").model(model.clone()).build().unwrap());
    let other = first.execute(say(&stranger, "go").once(key())).await;
    assert!(matches!(other, Err(RuntimeError::OtherAgent { .. })), "{other:?}");
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_in_a_named_session_starts_at_most_one_turn() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let id = SessionId::new("mine").unwrap();
    let request = say(&agent, "go").in_session(id.clone()).once(key());
    let session = completes(runtime.execute(request.clone()).await.unwrap()).await;
    let again = runtime.execute(request.clone()).await.unwrap();
    assert!(again.is_duplicate());
    completes(again).await;
    assert!(runtime.start(request).await.unwrap().duplicate);
    assert_eq!(transcript(&runtime, &session).await.len(), 2);
    let other = say(&agent, "else").in_session(id).once(key());
    assert!(matches!(runtime.execute(other).await, Err(RuntimeError::KeyConflict { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_session_is_listed_by_its_labels_and_stays_with_its_agent() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).version("2").build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let labels: Labels = [("user", "ada")].into_iter().collect();
    let key = completes(runtime.execute(say(&agent, "go").labelled(labels.clone())).await.unwrap()).await;
    let query = SessionQuery { labels, ..SessionQuery::all(tenant()) };
    let listed = store.list_sessions(&query).await.unwrap().items;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].key, listed[0].queue.as_str()), (&key, "tester@2"));

    let other = Arc::new(Agent::builder("other").model(model).build().unwrap());
    let refused = runtime.execute(say(&other, "go").in_session(key.id)).await;
    assert!(matches!(refused, Err(RuntimeError::OtherAgent { .. })), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_says_who_made_it_and_which_agent_it_is_whatever_queue_it_waits_in() {
    let model = Script::new(|_| Say::Text("ok"));
    let build = |name: &str| Agent::builder(name).model(model.clone()).queue(QueueLabel::new("all").unwrap());
    let clerk = Arc::new(build("clerk").version("2").build().unwrap());
    let store = store();
    let own = || options().program(Some("till".into()));
    let runtime = Runtime::new(store.clone(), Agents::new().with(Arc::clone(&clerk)), own());
    let key = completes(runtime.execute(say(&clerk, "go")).await.unwrap()).await;
    let session = runtime.session(&key).await.unwrap().unwrap();
    let labels = [(Labels::AGENT, "clerk"), (Labels::AGENT_VERSION, "2"), (Labels::PROGRAM, "till")];
    assert_eq!((session.queue.as_str(), &session.labels), ("all", &Labels::from_iter(labels)));
    assert_eq!(agent_label(&session.queue, &session.labels), "clerk@2");
    let standing = serde_json::to_value(runtime.standing(&key).await.unwrap()).unwrap();
    assert_eq!(standing["agent"], "clerk@2");

    // Labels given by the caller win. A runtime without a program name uses the name of the executable.
    let said = Labels::from_iter([(Labels::PROGRAM, "desk"), (Labels::AGENT, "someone")]);
    let key = completes(runtime.execute(say(&clerk, "go").labelled(said.clone())).await.unwrap()).await;
    assert_eq!(runtime.session(&key).await.unwrap().unwrap().labels, said);
    let unnamed = Runtime::new(store.clone(), Agents::new(), options());
    let stem = std::env::current_exe().unwrap().file_stem().unwrap().to_string_lossy().into_owned();
    assert_eq!(unnamed.program(), stem);

    // One queue holds all agents, but a session still belongs to its own agent.
    let porter = Arc::new(build("porter").build().unwrap());
    let other = runtime.execute(say(&porter, "go").in_session(key.id.clone())).await.map(drop);
    assert!(matches!(other, Err(RuntimeError::OtherAgent { .. })), "{other:?}");
    let newer = Arc::new(build("clerk").version("3").build().unwrap());
    completes(runtime.execute(say(&newer, "go").in_session(key.id)).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn effects_are_refused_on_a_store_that_forgets_unless_overridden_by_name() {
    let model = Script::calling(vec![("pay", "{}")]);
    let build = |tool: Fake| Arc::new(agent(&model).tool(tool).build().unwrap());
    let store = store();
    let strict = |over: Option<&str>| {
        let options = RuntimeOptions::default().effects_override(over.map(str::to_owned));
        Runtime::new(Arc::new(store.clone()), Arc::new(Agents::new()), options)
    };
    let once = build(Fake::echo("pay").effect(EffectClass::AtMostOnce));
    let dangerous = build(Fake::echo("pay").dangerous());
    for agent in [&once, &dangerous] {
        for over in [None, Some("sqlite")] {
            let refused = strict(over).execute(say(agent, "go")).await;
            assert!(matches!(refused, Err(RuntimeError::EffectsRefused { .. })), "{refused:?}");
        }
    }
    // They are also refused for a session of another process that accepted them.
    let agents = Agents::new().with(Arc::clone(&once));
    let strictly = Runtime::new(Arc::new(store.clone()), Arc::new(agents), RuntimeOptions::default());
    let left = strict(Some("memory")).start(say(&once, "go").served_elsewhere()).await.unwrap().key;
    let refusals = [
        strictly.wait(&left).await.map(drop),
        strictly.resume(&left).await.map(drop),
        strictly.execute(say(&build(Fake::echo("pay")), "go").in_session(left.id.clone())).await.map(drop),
    ];
    for refused in refusals {
        assert!(matches!(refused, Err(RuntimeError::EffectsRefused { .. })), "{refused:?}");
    }
    let _worker = worker(&strictly, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let given_back = strict(None).session(&left).await.unwrap().unwrap();
    assert!(given_back.lease.is_none() && given_back.epoch.0 <= 5, "now and then: {}", given_back.epoch);
    assert_eq!(model.asked().len(), 0);

    let idempotent = build(Fake::echo("pay"));
    completes(strict(None).execute(say(&idempotent, "go").served_elsewhere()).await.unwrap()).await;
    let accepted = strict(Some("memory")).execute(say(&once, "go").served_elsewhere()).await.unwrap();
    assert_eq!(accepted.outcome().await.unwrap().kind(), OutcomeKind::Completed);
}

#[test]
fn an_agent_that_cannot_work_is_not_built() {
    let model = || Script::new(|_| Say::Nothing);
    let twice = Agent::builder("a").model(model()).tool(Fake::echo("t")).tool(Fake::echo("t")).build();
    assert!(matches!(twice, Err(AgentError::DuplicateTool { .. })));
    assert!(matches!(Agent::builder("a").build(), Err(AgentError::NoModel { .. })));
    assert!(matches!(Agent::builder("").model(model()).build(), Err(AgentError::Name { .. })));
    let mut spec = crate::tools::spec("t");
    spec.parameters = serde_json::json!({ "type": 7 });
    let schema = Agent::builder("a").model(model()).client_tool(spec).build();
    assert!(matches!(schema, Err(AgentError::Schema { .. })));
}

/// No worker exists when the request comes, and the runtime that took it is gone before one does. Each store handle on
/// the file stands for a process.
///
/// Requirements: C06.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c06_a_start_keeps_the_request_and_returns_and_a_worker_that_begins_later_does_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("holdover.db");
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let front = runtime_on(&file, &[]).await;
    let before = front.now();
    let mut started = Vec::new();
    for text in ["one", "two"] {
        let request = say(&agent, text).served_elsewhere();
        started.push(front.start(request).await.unwrap());
    }
    let after = front.now();
    drop(front);
    assert!(started.iter().all(|started| !started.duplicate));
    assert_ne!(started[0].key, started[1].key, "each has an id of its own");

    // Another process reads who asked for what, and when.
    let reader = runtime_on(&file, &[]).await;
    let mut requests = Vec::new();
    for (started, text) in started.iter().zip(["one", "two"]) {
        let session = reader.session(&started.key).await.unwrap().unwrap();
        assert_eq!((&session.key, session.status, session.unread), (&started.key, SessionStatus::Idle, 1));
        assert!((before..=after).contains(&session.created_at), "{before} {session:?} {after}");
        assert!(session.alarm.is_some_and(|alarm| alarm <= after), "a worker is wanted at once");
        // Nobody has taken it: it has no lease, no run and no message.
        assert_eq!((session.epoch.0, session.lease, session.last_message.0), (0, None, 0));
        assert_eq!(reader.runs(&started.key, Default::default()).await.unwrap().items, []);
        let queued = reader.queued(&started.key).await.unwrap();
        assert_eq!(queued.len(), 1);
        // The caller knows its request by number; no turn has it yet.
        assert_eq!(
            (started.item, reader.taken(&started.key, started.item).await.unwrap()),
            (queued[0].item, None)
        );
        assert_eq!(queued[0].text, text);
        assert!((before..=after).contains(&queued[0].at), "{before} {queued:?} {after}");
        requests.push(queued[0].key.clone());
    }
    assert_ne!(requests[0], requests[1], "each request has an id of its own");
    assert_eq!(model.asked().len(), 0, "nothing has run");

    let _worker = worker(&runtime_on(&file, &[&agent]).await, WorkerOptions::default());
    let mut runs = Vec::new();
    for (started, text) in started.iter().zip(["one", "two"]) {
        assert_eq!(reader.wait(&started.key).await.unwrap().kind(), OutcomeKind::Completed);
        let said = transcript(&reader, &started.key).await;
        assert!(matches!(&said[0], Message::User(said) if said.text == text), "{said:?}");
        let of = reader.runs(&started.key, Default::default()).await.unwrap().items;
        assert_eq!(of.len(), 1);
        assert!(of[0].started_at >= after);
        let taken = reader.taken(&started.key, started.item).await.unwrap().unwrap();
        assert_eq!((taken.turn, taken.message), (TurnNumber(1), MessageSeq(1)));
        runs.push(of[0].run.clone());
    }
    assert_ne!(runs[0], runs[1], "each run has an id of its own");
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn c06_every_delivery_has_a_number_by_which_its_turn_is_found() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).on_message(MessagePolicy::Enqueue).build().unwrap());
    let (store, once) = (store(), |text: &str| ItemKey::new(text).unwrap());
    let runtime = runtime(&store, &agent);
    let first = runtime.execute(say(&agent, "one")).await.unwrap();
    let one = first.item().unwrap();
    let key = completes(first).await;
    let at = |request: Execute| request.in_session(key.id.clone());

    // A message for a session at rest, by a run here and by a delivery, each of them twice.
    let mut request = at(say(&agent, "two"));
    request.idempotency_key = Some(once("two"));
    let second = runtime.execute(request.clone()).await.unwrap();
    let two = second.item().unwrap();
    completes(second).await;
    let again = runtime.execute(request.clone()).await.unwrap();
    assert_eq!((again.is_duplicate(), again.item()), (true, Some(two)));
    assert_eq!(runtime.start(request).await.unwrap().item, two);
    let message = || Deliver::message("three").once(once("three"));
    let three = runtime.deliver_item(&key, message()).await.unwrap();
    assert_eq!(three.delivered, Delivered::Accepted);
    let repeated = runtime.deliver_item(&key, message()).await.unwrap();
    assert_eq!((repeated.delivered, repeated.item), (Delivered::Duplicate, three.item));
    // A message that waits for its own turn, one that is withdrawn, and one that is accepted only at rest.
    let four = runtime.start(at(say(&agent, "four"))).await.unwrap().item;
    let gone = runtime.deliver_item(&key, Deliver::message("never mind")).await.unwrap().item;
    runtime.withdraw(&key, gone).await.unwrap();
    assert_eq!(runtime.taken(&key, four).await.unwrap(), None);
    let all_turns = async || {
        while !runtime.queued(&key).await.unwrap().is_empty() {
            runtime.resume(&key).await.unwrap().outcome().await.unwrap();
        }
    };
    all_turns().await;
    let rests = Deliver::message("five").under(MessagePolicy::Reject);
    let five = runtime.deliver_item(&key, rests).await.unwrap().item;
    all_turns().await;

    let said = transcript(&runtime, &key).await;
    let mut turns = Vec::new();
    for (item, text) in [(one, "one"), (two, "two"), (three.item, "three"), (four, "four"), (five, "five")] {
        let taken = runtime.taken(&key, item).await.unwrap().unwrap();
        let Message::User(message) = &said[taken.message.0 as usize - 1] else { panic!("{taken:?}") };
        assert_eq!((message.text.as_str(), message.item), (text, Some(item)));
        turns.push(taken.turn.0);
    }
    assert_eq!(turns, [1, 2, 3, 4, 5], "each has a turn of its own");
    assert_eq!(runtime.taken(&key, gone).await.unwrap(), None);

    // A fork counts from 1 on. The messages that it has copied have numbers of its source.
    let fork = runtime.fork(&key, Fork::newest()).await.unwrap().key;
    assert_eq!(runtime.taken(&fork, one).await.unwrap(), None, "nothing was delivered to it");
    let gone = runtime.deliver_item(&fork, Deliver::message("never mind")).await.unwrap().item;
    assert_eq!((gone, runtime.taken(&fork, gone).await.unwrap()), (one, None), "it waits");
    runtime.withdraw(&fork, gone).await.unwrap();
    let six = runtime.deliver_item(&fork, Deliver::message("six")).await.unwrap().item;
    runtime.resume(&fork).await.unwrap().outcome().await.unwrap();
    let taken = runtime.taken(&fork, six).await.unwrap().unwrap();
    let said = transcript(&runtime, &fork).await;
    let Message::User(message) = &said[taken.message.0 as usize - 1] else { panic!("{taken:?}") };
    assert_eq!((message.text.as_str(), taken.turn.0), ("six", 6));
    assert_eq!(runtime.taken(&fork, gone).await.unwrap(), None, "only its source took this one");
}

/// Counts the reads of events and of messages.
#[derive(Default)]
struct Reads(AtomicU32);

#[async_trait]
impl Layer for Reads {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let reads = ["read_events", "read_messages"].contains(&request.operation());
        self.0.fetch_add(u32::from(reads), Ordering::SeqCst);
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn c06_the_turn_of_a_new_message_is_found_in_two_reads_however_long_the_session_is() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = Layered::new(store(), Reads::default());
    let reads = Arc::clone(store.layer());
    let runtime = runtime(&store, &agent);
    let first = runtime.execute(say(&agent, "1")).await.unwrap();
    let mut items = vec![first.item().unwrap()];
    let key = completes(first).await;
    for turn in 2..=60 {
        let request = say(&agent, &turn.to_string()).in_session(key.id.clone());
        let handle = runtime.execute(request).await.unwrap();
        items.push(handle.item().unwrap());
        completes(handle).await;
    }
    let last = runtime.session(&key).await.unwrap().unwrap().last_event;
    assert!(last.0 > 300, "{last} events");
    let took = async |item| {
        let before = reads.0.load(Ordering::SeqCst);
        let taken = runtime.taken(&key, item).await.unwrap();
        (taken.map(|taken| taken.turn.0), reads.0.load(Ordering::SeqCst) - before)
    };
    assert_eq!(took(*items.last().unwrap()).await, (Some(60), 2), "one page of messages and one of events");
    let (turn, all) = took(items[0]).await;
    assert!(turn == Some(1) && all > 2, "the first turn was found in {all} reads");
    // Who waits for a turn looks again and again.
    let waits = runtime.deliver_item(&key, Deliver::message("61")).await.unwrap().item;
    assert_eq!(took(waits).await, (None, 0));
}

/// Returns the runtime of a process with a handle of its own on the store in this file.
async fn runtime_on(file: &Path, agents: &[&Arc<Agent>]) -> Runtime {
    let agents: Agents = agents.iter().map(|agent| Arc::clone(agent)).collect();
    Runtime::new(Arc::new(file_store(file).await), agents, RuntimeOptions::default())
}

/// A session has one turn at a time (C08): a `start` while a turn runs joins it; `execute` in another process fails
/// with `Held`.
#[tokio::test(start_paused = true)]
async fn c08_a_start_on_a_session_that_runs_joins_its_turn_and_no_word_is_lost() {
    let model = Script::new(|request| {
        let spoken = request.messages.len();
        Say::Slowly { pieces: vec![format!("{spoken}")], apart: Duration::from_secs(2), whole: true }
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    let run = first.execute(say(&agent, "one")).await.unwrap();
    let key = run.key().clone();
    tokio::time::sleep(Duration::from_millis(500)).await;

    // Sixteen starts at once: each is accepted, and none begins its own turn.
    let starts =
        (0..16).map(|at| second.start(say(&agent, &format!("more {at}")).in_session(key.id.clone())));
    for started in futures::future::join_all(starts).await {
        assert!(!started.unwrap().duplicate);
    }
    // A process that wants to run the session itself learns that it is held.
    let held = second.execute(say(&agent, "mine").in_session(key.id.clone())).await;
    assert!(matches!(held, Err(RuntimeError::Held { .. })), "{held:?}");
    assert_eq!(completes(run).await, key);

    let machine =
        holdover_runtime_local::machine_of(&first.session(&key).await.unwrap().unwrap()).unwrap().unwrap();
    assert_eq!(machine.turn.number.0, 1, "one turn for all of it");
    let mut said: Vec<String> = transcript(&first, &key)
        .await
        .into_iter()
        .filter_map(|message| {
            let holdover_core::message::Message::User(said) = message else { return None };
            Some(said.text)
        })
        .collect();
    assert_eq!(said.remove(0), "one");
    said.sort();
    let mut expected: Vec<String> = (0..16).map(|at| format!("more {at}")).collect();
    expected.sort();
    assert_eq!(said, expected);
    assert_eq!(first.runs(&key, Default::default()).await.unwrap().items.len(), 1, "in one run");
}

#[tokio::test(start_paused = true)]
async fn a_new_session_has_no_name_that_hides_something_and_one_that_exists_keeps_its_name() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let rests = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    for odd in ["two words", "ab\u{202e}dc", "zero\u{200b}"] {
        let id: SessionId = odd.parse().unwrap();
        let request = say(&agent, "go").in_session(id.clone());
        let refusals = [
            runtime.execute(request.clone()).await.map(drop),
            runtime.start(request.clone()).await.map(drop),
            runtime.fork(&rests, Fork::newest().to(id.clone())).await.map(drop),
        ];
        for refused in refusals {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, RuntimeError::Id(_)), "{refused}");
            assert_eq!(refused.kind(), RuntimeErrorKind::Invalid);
        }
        let key = SessionKey::new(rests.tenant.clone(), id);
        assert_eq!(runtime.session(&key).await.unwrap(), None, "nothing was stored");

        // The session as an earlier version made it.
        let new = NewSession {
            key: key.clone(),
            incarnation: Incarnation(Uuid::from_u128(7)),
            operation: "made".parse().unwrap(),
            queue: agent.queue().clone(),
            labels: Labels::default(),
            definition: agent.definition().clone(),
            format: STATE_FORMAT,
            items: Vec::new(),
            start: Start::WithItems,
        };
        store.create_session(new).await.unwrap();
        completes(runtime.execute(request.clone()).await.unwrap()).await;
        assert!(!runtime.start(request).await.unwrap().duplicate);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_nobody_here_serves_begins_no_session_unless_another_program_does() {
    let served = Arc::new(agent(&Script::new(|_| Say::Text("hello"))).build().unwrap());
    let forgotten =
        Agent::builder("forgotten").instructions("Test.").model(Script::new(|_| Say::Text("hello")));
    let forgotten = Arc::new(forgotten.build().unwrap());
    let store = store();
    let process = runtime(&store, &served);
    let in_session = |session: &str| say(&forgotten, "go").in_session(SessionId::new(session).unwrap());
    let refusals = [
        process.start(in_session("s")).await.map(drop),
        process.execute(in_session("s")).await.map(drop),
        process.execute(in_session("s")).await.map(drop),
    ];
    for refused in refusals {
        let Err(error @ RuntimeError::NotServed { .. }) = refused else { panic!("{refused:?}") };
        let words = error.to_string();
        for named in ["acme/s", "agent forgotten", "served_elsewhere"] {
            assert!(words.contains(named), "{named}: {words}");
        }
    }
    let key = SessionKey::new(tenant(), SessionId::new("s").unwrap());
    assert!(store.load_session(&key).await.unwrap().is_none(), "nothing was begun");
    // Another program serves the agent, so the session may begin.
    let started = process.start(in_session("s").served_elsewhere()).await.unwrap();
    // A message to a session that exists begins no session, so it is accepted.
    process.start(in_session("s")).await.unwrap();
    assert_eq!(runtime(&store, &forgotten).wait(&started.key).await.unwrap().kind(), OutcomeKind::Completed);
    // An agent that is served here needs nothing more, for `execute` and for `start`.
    completes(process.execute(say(&served, "go")).await.unwrap()).await;
    let started = process.start(say(&served, "go")).await.unwrap();
    assert_eq!(process.wait(&started.key).await.unwrap().kind(), OutcomeKind::Completed);
}
