//! Calls of the handler that somebody cancels in Restate.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use holdover_core::store::{
    Answer, Layer, Layered, OutcomeKind, Request, Retry, SessionStatus, StateStore, StoreError,
    StoreErrorKind,
};
use holdover_launcher::Launcher;
use holdover_runtime_local::{Approval, Deliver};
use holdover_runtime_restate::RestateOptions;

use crate::bench::{Program, at, begin, front, memory, pending, shared, sql, until, until_outcome};
use crate::clerk::Desk;

/// Stops the only invocation that runs: `how` is `cancel` or `kill`. Returns its id, and the query that found it.
async fn stop(restate: &RestateOptions, how: &str) -> (String, String) {
    let running = format!(
        "SELECT id FROM sys_invocation WHERE status = 'running' AND target_service_name LIKE '{}.%'",
        restate.service
    );
    let row = until(async || sql(restate, &running).await.first().cloned()).await;
    let id = row["id"].as_str().unwrap().to_owned();
    let stop = format!("{}/invocations/{id}/{how}", restate.admin_url);
    assert!(reqwest::Client::new().patch(stop).send().await.unwrap().status().is_success());
    (id, running)
}

#[tokio::test]
async fn a_cancelled_invocation_interrupts_the_running_tool_softly() {
    let (restate, store, desk) = (shared(), memory(), Desk::shut());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let key = begin(&front, &agent, "sent", "send").await;
    until(async || (desk.sent() == ["send"]).then_some(())).await;
    let (id, running) = stop(&restate, "cancel").await;

    // The tool never returns by itself.
    until_outcome(&front, &key, OutcomeKind::Interrupted).await;
    assert_eq!(front.session(&key).await.unwrap().unwrap().status, SessionStatus::Interrupted);
    until(async || sql(&restate, &running).await.is_empty().then_some(())).await;
    let failed = format!("SELECT id FROM sys_invocation WHERE id = '{id}' AND completion_result = 'failure'");
    assert_eq!(sql(&restate, &failed).await, Vec::<serde_json::Value>::new(), "the handler has ended well");
    // The session goes on with the next message.
    desk.release();
    front.deliver(&key, Deliver::message("say")).await.unwrap();
    until_outcome(&front, &key, OutcomeKind::Completed).await;
}

/// A store that does not answer requests to interrupt a session while it is true.
struct Deaf(Arc<AtomicBool>);

#[async_trait]
impl Layer for Deaf {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if let Request::Interrupt(..) = request
            && self.0.load(Ordering::SeqCst)
        {
            let error = StoreError::new(StoreErrorKind::Unavailable, "test", "the store is down");
            // The runtime itself does not ask again.
            return Err(error.retry(Retry::Never));
        }
        request.perform(&store).await
    }
}

#[tokio::test]
async fn a_cancellation_while_the_store_is_down_is_not_lost() {
    let (restate, store, desk) = (shared(), memory(), Desk::shut());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let down = Arc::new(AtomicBool::new(true));
    let deaf = Layered::<Arc<dyn StateStore>, Deaf>::new(Arc::clone(&store), Deaf(Arc::clone(&down)));
    let deaf: Arc<dyn StateStore> = Arc::new(deaf);
    let _program = Program::start(&deaf, &agent, &restate).await;
    let key = begin(&front, &agent, "sent", "send").await;
    until(async || (desk.sent() == ["send"]).then_some(())).await;
    let (id, _) = stop(&restate, "cancel").await;
    // Somebody is impatient and cancels the call once more.
    let interrupts = format!("SELECT id FROM sys_journal WHERE id = '{id}' AND name = 'interrupt'");
    until(async || (sql(&restate, &interrupts).await.len() == 1).then_some(())).await;
    stop(&restate, "cancel").await;
    until(async || (sql(&restate, &interrupts).await.len() == 2).then_some(())).await;
    down.store(false, Ordering::SeqCst);
    // The tool never returns by itself.
    until_outcome(&front, &key, OutcomeKind::Interrupted).await;
}

/// The kill of a call ends the handler and not the run, which keeps its place.
#[tokio::test]
async fn a_run_keeps_its_place_after_its_call_was_killed() {
    let (restate, store, desk) = (shared().max_running(NonZeroUsize::MIN), memory(), Desk::shut());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let first = begin(&front, &agent, "first", "send").await;
    until(async || (desk.sent() == ["send"]).then_some(())).await;
    stop(&restate, "kill").await;
    let second = begin(&front, &agent, "second", "send").await;
    let serving = format!(
        "SELECT j.id FROM sys_journal j JOIN sys_invocation i ON i.id = j.id WHERE j.name = 'serve' \
         AND i.target_service_key = 'acme/second' AND i.target_service_name LIKE '{}.%'",
        restate.service
    );
    until(async || (sql(&restate, &serving).await.len() == 1).then_some(())).await;
    assert_eq!(desk.sent(), ["send"], "the second session waits");
    desk.release();
    for key in [first, second] {
        until_outcome(&front, &key, OutcomeKind::Completed).await;
    }
}

/// Restate dies between the cancellation and the end of the handler, and calls it again with the journal. The handler takes
/// the same way again. It waits for a place meanwhile, because another session has the only one.
#[tokio::test]
async fn a_handler_that_was_cancelled_is_repeated_as_it_was() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.restate().unwrap();
    let (restate, store, desk) = (at(&server).max_running(NonZeroUsize::MIN), memory(), Desk::shut());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let second = begin(&front, &agent, "second", "pay").await;
    let call = pending(&front, &second).await;
    until_outcome(&front, &second, OutcomeKind::SuspendedClientTool).await;
    let first = begin(&front, &agent, "first", "send").await;
    until(async || (desk.sent() == ["send"]).then_some(())).await;
    front.approve(&second, &call, Approval::by("ada")).await.unwrap();
    let of_second = "FROM sys_invocation WHERE target_service_key = 'acme/second' AND status = ";
    let running = format!("SELECT id {of_second} 'running'");
    let id = until(async || sql(&restate, &running).await.first().cloned()).await;
    let id = id["id"].as_str().unwrap();
    let cancel = format!("{}/invocations/{id}/cancel", restate.admin_url);
    assert!(reqwest::Client::new().patch(cancel).send().await.unwrap().status().is_success());
    let journaled =
        |what: &str| format!("SELECT name FROM sys_journal WHERE id = '{id}' AND name = '{what}'");
    until(async || (sql(&restate, &journaled("serve")).await.len() == 2).then_some(())).await;
    assert_eq!(sql(&restate, &journaled("interrupt")).await.len(), 1);

    server.process().kill();
    server.start().unwrap();
    until(async || (sql(&restate, &running).await.len() == 1).then_some(())).await;
    desk.release();
    until_outcome(&front, &first, OutcomeKind::Completed).await;
    let ended = format!("SELECT completion_result, last_failure, id {of_second} 'completed' AND id = '{id}'");
    let ended = until(async || sql(&restate, &ended).await.first().cloned()).await;
    assert_eq!(ended["completion_result"], "success", "{ended}");
    assert_eq!(sql(&restate, &journaled("serve")).await.len(), 2);
    assert_eq!(sql(&restate, &journaled("interrupt")).await.len(), 1);
    let status = front.session(&second).await.unwrap().unwrap().status;
    assert_eq!(
        (desk.sent().len(), status),
        (1, SessionStatus::Interrupted),
        "the second session was stopped"
    );
}
