//! Sessions that cannot be served now: the store is down, or the process lacks the agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use holdover_core::ids::QueueLabel;
use holdover_core::store::{
    Answer, Layer, Layered, OutcomeKind, Queues, Request, Retry, StateStore, StoreError, StoreErrorKind,
};
use holdover_runtime_local::Agent;
use holdover_runtime_restate::RestateOptions;
use serde_json::Value;

use crate::bench::{Program, begin, front, memory, shared, sql, until, until_outcome};
use crate::clerk::Desk;

/// A store that answers nothing while `left` is above zero, and counts down.
struct Down(Arc<AtomicUsize>);

#[async_trait]
impl Layer for Down {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let down =
            self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if down {
            let error = StoreError::new(StoreErrorKind::Unavailable, "test", "the store is down");
            return Err(error.retry(Retry::Later));
        }
        request.perform(&store).await
    }
}

/// Returns the errors that handlers gave to Restate. There should be none: an error would block the session's object.
async fn errors(restate: &RestateOptions) -> Vec<Value> {
    let query = format!(
        "SELECT last_failure FROM sys_invocation WHERE target_service_name LIKE '{}.%' AND last_failure IS NOT NULL",
        restate.service
    );
    sql(restate, &query).await
}

async fn failures(restate: &RestateOptions) -> Option<u32> {
    let query = format!(
        "SELECT value_utf8 FROM state WHERE key = 'failures' AND service_name LIKE '{}.%'",
        restate.service
    );
    sql(restate, &query).await.first().map(|row| row["value_utf8"].as_str().unwrap().parse().unwrap())
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_asked_again_later() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let layer = Down(Arc::clone(&left));
    let down: Arc<dyn StateStore> =
        Arc::new(Layered::<Arc<dyn StateStore>, Down>::new(Arc::clone(&store), layer));
    let _program = Program::start(&down, &agent, &restate).await;
    let key = begin(&front, &agent, "said", "say").await;
    until(async || failures(&restate).await).await;
    left.store(0, Ordering::SeqCst);
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    until(async || failures(&restate).await.is_none().then_some(())).await;
    assert_eq!(errors(&restate).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_process_without_the_agent_leaves_the_session_to_the_next_deployment() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let clerk = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &clerk, &restate);
    let other: Arc<Agent> = Arc::new(desk.clerk().version("other").build().unwrap());
    let queues = Queues::Named(vec![QueueLabel::new("clerk").unwrap()]);
    let _lacking = Program::start(&store, &other, &restate.clone().queues(queues)).await;
    let key = begin(&front, &clerk, "said", "say").await;
    until(async || failures(&restate).await).await;
    let _program = Program::start(&store, &clerk, &restate).await;
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    assert_eq!(errors(&restate).await, Vec::<Value>::new());
}
