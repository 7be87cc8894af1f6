#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::{SessionId, TenantId};
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};
use holdover_runtime_local::{Agent, Agents, Execute, RuntimeOptions};
use holdover_store_memory::MemoryStore;
use tokio::time::timeout;

use super::*;

/// A model that always says the same.
struct Parrot;

#[async_trait]
impl Model for Parrot {
    fn name(&self) -> &str {
        "test:parrot"
    }

    async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
        let parts = vec![AnswerPart::Text("hello".to_owned())];
        let answer = ModelAnswer { parts, stop: StopReason::EndTurn, usage: TokenUsage::default() };
        Ok(Box::pin(stream::iter([Ok(ModelEvent::Finished(answer))])))
    }
}

/// A runtime, and a session that has had one turn.
async fn begun() -> (Runtime, Arc<Agent>, SessionKey) {
    let agent = Arc::new(Agent::builder("parrot").model(Parrot).build().unwrap());
    let agents = Agents::new().with(Arc::clone(&agent));
    let runtime = Runtime::new(MemoryStore::new(), agents, RuntimeOptions::default());
    let key = SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap());
    turn(&runtime, &agent, &key).await;
    (runtime, agent, key)
}

async fn turn(runtime: &Runtime, agent: &Arc<Agent>, key: &SessionKey) {
    let said = Execute::new(key.tenant.clone(), Arc::clone(agent), "hi").in_session(key.id.clone());
    runtime.execute(said).await.unwrap().text().await.unwrap();
}

/// Reads the numbers of the events up to this one.
async fn read_to(
    shown: &mut BoxStream<'static, Result<Shown, RuntimeError>>,
    last: u64,
    seen: &mut Vec<u64>,
) {
    while seen.last().is_none_or(|seq| *seq < last) {
        let next = timeout(Duration::from_secs(30), shown.next()).await.unwrap().unwrap().unwrap();
        if let Shown::Event(entry) = next {
            seen.push(entry.seq.0);
        }
    }
}

async fn last_event(runtime: &Runtime, key: &SessionKey) -> u64 {
    runtime.session(key).await.unwrap().unwrap().last_event.0
}

/// A stream that does not read for so long that it misses items of the shared reader has no gap and no repeat, and neither has
/// one that joins late.
#[tokio::test]
async fn streams_have_all_events_in_order_however_slow_they_are() {
    let (runtime, agent, key) = begun().await;
    let tails = Tails::new(runtime.clone());
    let (mut quick, mut slow) =
        (tails.follow(&key, EventCursor::START), tails.follow(&key, EventCursor::START));
    let (mut seen, mut seen_slowly) = (Vec::new(), Vec::new());
    let first = last_event(&runtime, &key).await;
    for (shown, seen) in [(&mut quick, &mut seen), (&mut slow, &mut seen_slowly)] {
        read_to(shown, first, seen).await;
        // It has nothing more to read by itself, so it joins.
        assert!(shown.next().now_or_never().is_none());
    }
    assert_eq!(tails.lock().len(), 1, "one shared reader");
    let mut last = first;
    while last < first + 3 * KEPT as u64 {
        turn(&runtime, &agent, &key).await;
        last = last_event(&runtime, &key).await;
        read_to(&mut quick, last, &mut seen).await;
    }
    read_to(&mut slow, last, &mut seen_slowly).await;
    assert!(slow.next().now_or_never().is_none(), "what the shared reader still keeps is not shown again");
    let all: Vec<u64> = (1..=last).collect();
    assert_eq!((&seen, &seen_slowly), (&all, &all));
    let (mut late, mut seen_late) = (tails.follow(&key, EventCursor::START), Vec::new());
    read_to(&mut late, last, &mut seen_late).await;
    assert_eq!(seen_late, all);
    drop((quick, slow, late));
    assert!(tails.lock().is_empty(), "the shared reader ends with its last stream");
}

#[tokio::test]
async fn a_session_that_is_deleted_ends_its_streams_with_an_error() {
    let (runtime, _, key) = begun().await;
    let tails = Tails::new(runtime.clone());
    let mut shown = tails.follow(&key, EventCursor::START);
    let last = last_event(&runtime, &key).await;
    read_to(&mut shown, last, &mut Vec::new()).await;
    runtime.store().delete_session(&key, holdover_core::store::Deletion::FORCE).await.unwrap();
    let ended = timeout(Duration::from_secs(30), shown.next()).await.unwrap();
    assert!(
        matches!(ended, Some(Err(RuntimeError::NotFound { .. } | RuntimeError::Gone { .. }))),
        "{ended:?}"
    );
    assert!(shown.next().await.is_none());
}
