//! Turns, approvals and timers while everything lives.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::store::{OutcomeKind, SessionStatus};
use holdover_runtime_local::{Approval, Execute};

use crate::bench::{
    Program, begin, front, memory, only_result, pending, session, shared, sql, until, until_outcome,
};
use crate::clerk::Desk;

#[tokio::test]
async fn a_session_is_begun_served_parked_approved_and_ended() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;

    let said = begin(&front, &agent, "said", "say").await;
    assert_eq!(front.wait(&said).await.unwrap().kind(), OutcomeKind::Completed);

    let paid = begin(&front, &agent, "paid", "pay").await;
    let call = pending(&front, &paid).await;
    assert_eq!(front.wait(&paid).await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    assert_eq!(desk.sent(), Vec::<String>::new());
    front.approve(&paid, &call, Approval::by("ada")).await.unwrap();
    assert_eq!(front.wait(&paid).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(desk.sent(), ["pay"]);
    assert_eq!(only_result(&front, &paid).await.0, "Done");
}

#[tokio::test]
async fn deadlines_and_back_offs_fire_on_their_own() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let hurried = begin(&front, &agent, "hurried", "hurry").await;
    let delayed = begin(&front, &agent, "delayed", "later").await;
    for key in [&hurried, &delayed] {
        until_outcome(&front, key, OutcomeKind::Completed).await;
    }
    assert_eq!(desk.sent(), Vec::<String>::new(), "the approval expired");
    assert!(only_result(&front, &hurried).await.0 != "Done");
}

#[tokio::test]
async fn a_session_that_is_to_begin_later_is_begun_by_a_timer_of_restate() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let (key, at) = (session("later"), front.now().after(Duration::from_millis(1_500)));
    let request =
        Execute::new(key.tenant.clone(), Arc::clone(&agent), "say").in_session(key.id.clone()).at(at);
    front.start(request).await.unwrap();
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    let first = front.messages(&key).await.unwrap()[0].at;
    assert!(first >= at, "the message was taken at {first}, {at} was asked for");
}

/// The approval comes before its deadline. The timer of the deadline is called all the same, and does nothing.
#[tokio::test]
async fn an_outdated_timer_serves_nothing() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let key = begin(&front, &agent, "hurried", "hurry").await;
    let call = pending(&front, &key).await;
    let with = async |what: &str| {
        let service = &restate.service;
        let query =
            format!("SELECT id FROM sys_invocation WHERE {what} AND target_service_name LIKE '{service}.%'");
        let rows = sql(&restate, &query).await;
        rows.first().map(|row| row["id"].as_str().unwrap().to_owned())
    };
    let timer = until(async || with("status = 'scheduled'").await).await;
    front.approve(&key, &call, Approval::by("ada")).await.unwrap();
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    let called = until(async || with(&format!("status = 'completed' AND id = '{timer}'")).await).await;
    let served = |id: &str| format!("SELECT index FROM sys_journal WHERE id = '{id}' AND name = 'serve'");
    assert_eq!(sql(&restate, &served(&called)).await.len(), 0);
    let woken = with(&format!("id <> '{timer}'")).await.unwrap();
    assert_ne!(sql(&restate, &served(&woken)).await.len(), 0, "others served");
}

#[tokio::test]
async fn a_worker_with_one_place_runs_one_session_at_a_time() {
    let (store, desk) = (memory(), Desk::shut());
    let restate = shared().max_running(NonZeroUsize::MIN);
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let keys = [begin(&front, &agent, "one", "send").await, begin(&front, &agent, "two", "send").await];
    let running = format!(
        "SELECT id FROM sys_invocation WHERE status = 'running' AND target_service_name LIKE '{}.%'",
        restate.service
    );
    until(async || (sql(&restate, &running).await.len() == 2).then_some(())).await;
    until(async || (!desk.sent().is_empty()).then_some(())).await;
    let statuses = async || {
        let mut active = 0;
        for key in &keys {
            active += usize::from(front.session(key).await.unwrap().unwrap().status == SessionStatus::Active);
        }
        active
    };
    assert_eq!((desk.sent().len(), statuses().await), (1, 1));
    desk.release();
    for key in &keys {
        until_outcome(&front, key, OutcomeKind::Completed).await;
    }
    assert_eq!(desk.sent().len(), 2);
}
