//! A worker that lacks a session's encryption key does the session no harm.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::{InterruptId, SessionKey};
use holdover_core::store::{
    Interrupt, InterruptKind, OutcomeKind, PageRequest, Queues, SessionStatus, StateStore,
};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{Agent, Agents, Runtime, WorkerOptions};
use holdover_store_layers::{Encrypted, EncryptionKey, KeyId, Keyring, PayloadCodec};
use holdover_store_memory::MemoryStore;

use crate::bench::{agent, agentless, asking_for, options, runtime, say, store, worker};
use crate::script::Script;
use crate::tools::Fake;

/// Returns a runtime that has the encryption key.
fn keyed(store: &MemoryStore, agent: &Arc<Agent>) -> Runtime {
    let ring = Keyring::of(KeyId(1), EncryptionKey::new([7; EncryptionKey::BYTES]));
    let agents = Agents::new().with(Arc::clone(agent));
    Runtime::new(Arc::new(Encrypted::new(ring).around(store.clone())), agents, options())
}

/// Returns an agent whose only call needs approval, so that its session waits.
fn asking() -> Arc<Agent> {
    let tool = Fake::echo("ask");
    Arc::new(agent(&Script::calling(vec![("ask", "{}")])).tool(tool).gate(asking_for("ask")).build().unwrap())
}

/// Requests a stop and does nothing more, like a process that dies at once: the session has not been ended yet.
async fn ask_to_stop(runtime: &Runtime, key: &SessionKey) {
    let interrupt = Interrupt {
        id: InterruptId::new("stop").unwrap(),
        kind: InterruptKind::Soft,
        reason: "enough".into(),
        at: Timestamp::from_ms(0),
        incarnation: None,
    };
    runtime.store().request_interrupt(key, interrupt).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_to_be_stopped_is_given_back_at_once_by_whoever_lacks_its_key() {
    let (agent, store) = (asking(), store());
    let able = keyed(&store, &agent);
    let run = able.execute(say(&agent, "go")).await.unwrap();
    let (key, outcome) = crate::bench::finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let _keyless = worker(&agentless(&store), WorkerOptions::default());
    ask_to_stop(&able, &key).await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    let left = able.session(&key).await.unwrap().unwrap();
    assert!(left.epoch.0 > 2, "it was claimed in vain");
    assert!(left.epoch.0 < 80, "but not over and over: {}", left.epoch);
    assert_eq!((left.status, left.lease, left.attempts), (SessionStatus::Suspended, None, 0));
    assert!(left.interrupt.is_some());

    let _able = worker(&able, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let ended = able.session(&key).await.unwrap().unwrap();
    assert_eq!((ended.status, ended.interrupt), (SessionStatus::Interrupted, None), "at once");
}

#[tokio::test(start_paused = true)]
async fn nothing_plain_is_written_into_a_session_whose_key_is_not_here() {
    let (agent, store) = (asking(), store());
    let able = keyed(&store, &agent);
    let key = able.start(say(&agent, "go")).await.unwrap().key;
    let queues = Queues::Named(vec![agent.queue().clone()]);
    let keyless = worker(&agentless(&store), WorkerOptions::default().queues(queues));
    tokio::time::sleep(Duration::from_secs(5)).await;
    drop(keyless);
    let runs = able.runs(&key, PageRequest::default()).await.expect("all of it can be read").items;
    assert!(!runs.is_empty(), "it was claimed in vain");
    assert!(runs.iter().all(|run| run.end.as_ref().is_none_or(|end| end.detail.is_none())), "{runs:?}");
    // The same holds for a runtime that has the agent but not the key.
    let _keyless = worker(&runtime(&store, &agent), WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(60)).await;
    let runs = able.runs(&key, PageRequest::default()).await.expect("all of it can be read").items;
    assert!(runs.iter().all(|run| run.end.as_ref().is_none_or(|end| end.detail.is_none())), "{runs:?}");
}
