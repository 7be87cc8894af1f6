//! Messages for later and named signals, across processes.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use holdover_core::engine::{RunOutcome, STATE_FORMAT_LATER};
use holdover_core::ids::{ItemKey, SessionId, SessionKey};
use holdover_core::message::{Message, MessagePolicy};
use holdover_core::signal::{SIGNAL_BODY_BYTES_MAX, SIGNALS_HELD_MAX};
use holdover_core::store::{
    Answer, ItemKind, Layer, Layered, OutcomeKind, Request, SessionStatus, StateStore, StoreError,
};
use holdover_core::time::Timestamp;
use holdover_core::tool::ToolReturn;
use holdover_runtime_local::{
    Agent, Deliver, Execute, Runtime, RuntimeError, RuntimeErrorKind, Signal, SignalError, WorkerOptions,
};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::bench::{
    agent, completes, file_store, finish, only_result, runtime, say, store, tenant, transcript, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

const HOUR: Duration = Duration::from_secs(3600);

fn talker() -> Arc<Agent> {
    Arc::new(agent(&Script::new(|_| Say::Text("ok"))).build().unwrap())
}

/// Returns an agent that waits for the signal `paid`, for an hour, and then says that it is done.
fn waiter() -> Arc<Agent> {
    let tool = Fake::new("wait", |_| async {
        Ok(ToolReturn::Signal { name: "paid".parse().unwrap(), within: Some(HOUR) })
    });
    let model = Script::new(|request| match results(request).is_empty() {
        true => Say::Calls(vec![("wait", "{}")]),
        false => Say::Text("done"),
    });
    Arc::new(agent(&model).tool(tool).build().unwrap())
}

fn mine() -> SessionId {
    SessionId::new("mine").unwrap()
}

async fn said(runtime: &Runtime, key: &SessionKey) -> Vec<String> {
    let user = |message: &Message| match message {
        Message::User(said) => Some(said.text.clone()),
        Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    };
    transcript(runtime, key).await.iter().filter_map(user).collect()
}

async fn alarm(runtime: &Runtime, key: &SessionKey) -> Option<Timestamp> {
    runtime.session(key).await.unwrap().unwrap().alarm
}

fn in_an_hour(runtime: &Runtime) -> Timestamp {
    runtime.now().after(HOUR)
}

#[tokio::test(start_paused = true)]
async fn a_new_session_begins_at_its_instant_and_no_worker_touches_it_before() {
    let (agent, store) = (talker(), store());
    let runtime = runtime(&store, &agent);
    completes(runtime.execute(say(&agent, "to hear the clock")).await.unwrap()).await;
    let at = in_an_hour(&runtime);
    let request = say(&agent, "later").in_session(mine()).at(at);
    let started = runtime.start(request).await.unwrap();
    let session = runtime.session(&started.key).await.unwrap().unwrap();
    assert_eq!((session.alarm, session.format, session.epoch.0), (Some(at), STATE_FORMAT_LATER, 0));
    let queued = runtime.queued(&started.key).await.unwrap();
    assert_eq!((queued.len(), queued[0].not_before), (1, Some(at)));
    let _worker = worker(&runtime, WorkerOptions::default());
    sleep(HOUR - Duration::from_secs(5)).await;
    assert_eq!(runtime.session(&started.key).await.unwrap().unwrap().epoch.0, 0, "nobody claimed it");
    assert_eq!(runtime.wait(&started.key).await.unwrap().kind(), OutcomeKind::Completed);
    assert!(runtime.now() >= at && runtime.now() < at.after(Duration::from_secs(3)));
    assert_eq!(said(&runtime, &started.key).await, ["later"]);
    assert_eq!(alarm(&runtime, &started.key).await, None);
}

/// The next look of the workers is a day away.
#[tokio::test(start_paused = true)]
async fn workers_know_the_alarms_that_their_runtime_has_set() {
    let (agent, store) = (waiter(), store());
    let runtime = runtime(&store, &agent);
    let options = WorkerOptions::default().poll(24 * HOUR);
    let _workers = [worker(&runtime, options.clone()), worker(&runtime, options)];
    let first = runtime.start(say(&agent, "now").in_session(mine())).await.unwrap().key;
    sleep(HOUR / 2).await;
    let at = alarm(&runtime, &first).await.unwrap();
    // A later alarm does not hide this one, and an earlier one, set while the workers wait, is heard too.
    for later in [at.after(HOUR), in_an_hour(&runtime).after(HOUR), at.after(HOUR / 2)] {
        runtime.start(say(&agent, "later").at(later)).await.unwrap();
    }
    let soon = runtime.now().after(HOUR / 4);
    let second = runtime.start(say(&agent, "soon").at(soon)).await.unwrap().key;
    sleep(HOUR / 4 + Duration::from_millis(20)).await;
    assert_eq!(transcript(&runtime, &second).await.len(), 2, "it began and waits for its signal");
    assert_eq!(transcript(&runtime, &first).await.len(), 2);
    sleep(HOUR / 4).await;
    let session = runtime.session(&first).await.unwrap().unwrap();
    assert_eq!((session.status, session.alarm), (SessionStatus::Idle, None));
}

#[tokio::test(start_paused = true)]
async fn a_handle_waits_for_the_turn_of_its_message_and_others_do_not() {
    let (agent, store) = (talker(), store());
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "first").in_session(mine())).await.unwrap()).await;
    let at = in_an_hour(&runtime);
    let later = say(&agent, "later").in_session(mine()).once(ItemKey::new("k").unwrap()).at(at);
    let handle = runtime.execute(later.clone()).await.unwrap();
    // A message for now is a turn of its own, and its caller does not wait for the other one.
    completes(runtime.execute(say(&agent, "now").in_session(mine())).await.unwrap()).await;
    assert!(runtime.now() < at);
    assert_eq!(alarm(&runtime, &key).await, Some(at), "the exact instant");
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert!(runtime.now() < at);
    let item = handle.item().unwrap();
    assert_eq!(handle.outcome().await.unwrap().kind(), OutcomeKind::Completed);
    assert!(runtime.now() >= at, "the handle waited");
    assert_eq!(said(&runtime, &key).await, ["first", "now", "later"]);
    assert_eq!(runtime.taken(&key, item).await.unwrap().unwrap().turn.0, 3);
    // The same request after its instant is the same message.
    assert!(runtime.execute(later.clone()).await.unwrap().is_duplicate());
    let other = runtime.execute(later.at(at.after(HOUR))).await;
    assert!(matches!(other, Err(RuntimeError::KeyConflict { .. })), "{other:?}");
}

#[tokio::test(start_paused = true)]
async fn one_is_taken_back_and_one_in_the_past_is_taken_at_once() {
    let (agent, store) = (talker(), store());
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "first").in_session(mine())).await.unwrap()).await;
    let at = in_an_hour(&runtime);
    let item = runtime.deliver_item(&key, Deliver::message("never").at(at)).await.unwrap().item;
    let _worker = worker(&runtime, WorkerOptions::default());
    runtime.replace(&key, item, "changed").await.unwrap();
    assert_eq!(runtime.queued(&key).await.unwrap()[0].text, "changed");
    runtime.withdraw(&key, item).await.unwrap();
    while alarm(&runtime, &key).await.is_some() {
        sleep(Duration::from_millis(100)).await;
    }
    assert!(runtime.queued(&key).await.unwrap().is_empty());
    let past = Timestamp::from_ms(1);
    let deliver = Deliver::message("at once").at(past).under(MessagePolicy::Reject);
    runtime.deliver(&key, deliver).await.unwrap();
    while said(&runtime, &key).await.len() < 2 {
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(said(&runtime, &key).await, ["first", "at once"]);
    assert!(runtime.now() < at);
}

#[tokio::test]
async fn on_sqlite_one_outlives_the_process_that_sent_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let agent = talker();
    let (key, at) = {
        let store = Arc::new(file_store(&file).await);
        let runtime = runtime(&store, &agent);
        let key = completes(runtime.execute(say(&agent, "first").in_session(mine())).await.unwrap()).await;
        let at = runtime.now().after(Duration::from_millis(600));
        runtime.deliver(&key, Deliver::message("later").at(at)).await.unwrap();
        // Its alarm is set by a run, here of the next process.
        (key, at)
    };
    let store = Arc::new(file_store(&file).await);
    let runtime = runtime(&store, &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let session = loop {
        let session = store.load_session(&key).await.unwrap().unwrap();
        let done = session.last_message.0 >= 4;
        if done && session.status == SessionStatus::Idle {
            break session;
        }
        assert!(session.last_message.0 < 3 || runtime.now() >= at, "taken too early");
        sleep(Duration::from_millis(20)).await;
    };
    assert_eq!((session.alarm, session.unread), (None, 0));
    assert_eq!(said(&runtime, &key).await, ["first", "later"]);
}

#[tokio::test(start_paused = true)]
async fn a_signal_wakes_the_call_that_waits_for_it_and_nobody_else() {
    let (agent, store) = (waiter(), store());
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let RunOutcome::Suspended(suspension) = outcome else { panic!("parked") };
    assert_eq!(suspension.owed[0].signal.as_ref().unwrap().as_str(), "paid");
    let parked = alarm(&runtime, &key).await;
    let other = Signal::new("sent").unwrap();
    assert!(!runtime.signal(&key, other.clone().once(id("s"))).await.unwrap().is_duplicate());
    assert_eq!(alarm(&runtime, &key).await, parked, "a signal of another name wakes nobody");
    let paid = Signal::new("paid").unwrap().with(&serde_json::json!({ "sum": 12 })).unwrap();
    let first = runtime.signal(&key, paid.clone().once(id("p"))).await.unwrap();
    assert!(runtime.now() >= alarm(&runtime, &key).await.unwrap(), "due now");
    let again = runtime.signal(&key, paid.clone().once(id("p"))).await.unwrap();
    assert!(again.is_duplicate() && again.item == first.item);
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&runtime, &key).await.1, r#"{"sum":12}"#);
    assert!(
        runtime.signal(&key, paid.once(id("p"))).await.unwrap().is_duplicate(),
        "also after it was taken"
    );
    let held: Vec<_> = runtime.held_signals(&key).await.unwrap();
    assert_eq!((held.len(), held[0].name.as_str()), (1, "sent"));
    assert_eq!(alarm(&runtime, &key).await, None, "a held signal wakes no session at rest");
    let conflict = runtime.signal(&key, other.with(&1).unwrap().once(id("s"))).await;
    assert!(matches!(conflict, Err(RuntimeError::KeyConflict { .. })), "{conflict:?}");
}

fn id(key: &str) -> ItemKey {
    ItemKey::new(key).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_session_holds_so_many_signals_and_what_is_wrong_is_refused() {
    let (agent, store) = (talker(), store());
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let signal = || Signal::new("paid").unwrap();
    for number in 0..SIGNALS_HELD_MAX {
        runtime.signal(&key, signal().once(id(&format!("k{number}")))).await.unwrap();
    }
    let unread = runtime.session(&key).await.unwrap().unwrap().unread;
    let full = runtime.signal(&key, signal().once(id("one too many"))).await.unwrap_err();
    assert!(matches!(full, RuntimeError::Signal(SignalError::Full { .. })), "{full}");
    assert_eq!(full.kind(), RuntimeErrorKind::Conflict);
    assert!(full.to_string().contains("it holds 256 signals"), "{full}");
    assert!(runtime.signal(&key, signal().once(id("k7"))).await.unwrap().is_duplicate(), "known though full");
    let long = signal().with(&"x".repeat(SIGNAL_BODY_BYTES_MAX)).unwrap();
    let long = runtime.signal(&key, long).await.unwrap_err();
    assert_eq!(long.kind(), RuntimeErrorKind::TooLarge, "{long}");
    let mut wrong = signal();
    wrong.body = "{".into();
    let wrong = runtime.signal(&key, wrong).await.unwrap_err();
    assert_eq!(wrong.kind(), RuntimeErrorKind::Invalid, "{wrong}");
    assert!(signal().with_json("{").is_err() && Signal::new("a b").is_err());
    let nowhere = SessionKey::new(tenant(), SessionId::new("nowhere").unwrap());
    let nowhere = runtime.signal(&nowhere, signal()).await;
    assert!(matches!(nowhere, Err(RuntimeError::NotFound { .. })), "{nowhere:?}");
    assert_eq!(runtime.session(&key).await.unwrap().unwrap().unread, unread, "what is refused is not stored");
}

/// Something that happens once.
type Happens = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// Lets something happen just before a signal is delivered, which the sender of the signal has not seen.
#[derive(Clone)]
struct Between(Arc<Mutex<Option<Happens>>>);

#[async_trait::async_trait]
impl Layer for Between {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let is_signal =
            matches!(&request, Request::Deliver(_, item) if matches!(item.kind, ItemKind::Other { .. }));
        if is_signal && let Some(first) = self.0.lock().await.take() {
            first().await;
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_its_sender_thought_nobody_waits_for_still_wakes_the_call() {
    let (agent, store) = (waiter(), store());
    let plain = runtime(&store, &agent);
    let gate = Between(Arc::default());
    let raced = Runtime::new(
        Arc::new(Layered::new(store.clone(), gate.clone())),
        Arc::new(holdover_runtime_local::Agents::new().with(Arc::clone(&agent))),
        crate::bench::options(),
    );
    let at = plain.now().after(HOUR * 24);
    let started = plain.start(Execute::new(tenant(), Arc::clone(&agent), "later").at(at)).await.unwrap();
    let key = started.key.clone();
    let (other, to) = (plain.clone(), key.clone());
    *gate.0.lock().await = Some(Box::new(move || {
        Box::pin(async move {
            other.deliver(&to, Deliver::message("go")).await.unwrap();
            let outcome = other.wait(&to).await.unwrap();
            assert!(matches!(outcome, RunOutcome::Suspended(_)), "{outcome:?}");
        })
    }));
    raced.signal(&key, Signal::new("paid").unwrap().with(&7).unwrap()).await.unwrap();
    assert!(gate.0.lock().await.is_none(), "the run came between");
    let session = plain.session(&key).await.unwrap().unwrap();
    assert!(session.alarm.is_some_and(|alarm| alarm <= plain.now()), "woken: {session:?}");
    assert_eq!(plain.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&plain, &key).await.1, "7");
}
