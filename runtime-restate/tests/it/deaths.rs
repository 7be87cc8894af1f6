//! Workers, Restate and the store's program die, at the worst time.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::store::OutcomeKind;
use holdover_launcher::Launcher;
use holdover_runtime_local::{Approval, Deliver, WorkerOptions};

use crate::bench::{
    Balancer, Program, at, begin, file_store, front, memory, only_result, pending, shared, sql, until,
    until_outcome,
};
use crate::clerk::Desk;

/// The first of two programs behind one address dies while a tool runs. Restate calls the other one, which takes the session
/// over when the lease has ended. The call was sent at most once, so it is in doubt.
#[tokio::test]
async fn another_worker_takes_over_from_one_that_was_killed_in_mid_tool() {
    let (store, desk, balancer) = (memory(), Desk::shut(), Balancer::new().await);
    let restate = shared().advertised_url(balancer.url.clone());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let first = Program::listening(&store, &agent, &restate);
    balancer.add(first.address);
    first.registered(&restate).await;
    let second = Program::listening(&store, &agent, &restate);
    balancer.add(second.address);

    let key = begin(&front, &agent, "sent", "send").await;
    until(async || (desk.sent() == ["send"]).then_some(())).await;
    first.kill();
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    assert_eq!(desk.sent(), ["send"]);
    assert_eq!(only_result(&front, &key).await.0, "InDoubt");
}

/// A program dies for good while a tool runs, and no other one has its address. Restate keeps on calling it. The net of a
/// program with another address ends the turn.
#[tokio::test]
async fn the_net_takes_over_from_a_deployment_that_is_gone() {
    let (restate, store, desk) = (shared(), memory(), Desk::shut());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let first = Program::start(&store, &agent, &restate).await;
    let key = begin(&front, &agent, "sent", "send").await;
    until(async || (desk.sent() == ["send"]).then_some(())).await;
    let net = WorkerOptions::net().poll(Duration::from_millis(200));
    let _second = Program::start_with(&store, &agent, &restate, Some(net)).await;
    first.kill();
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    assert_eq!((desk.sent().len(), only_result(&front, &key).await.0.as_str()), (1, "InDoubt"));
    let stuck = format!(
        "SELECT id FROM sys_invocation WHERE status <> 'completed' AND target_service_name LIKE '{}.%'",
        restate.service
    );
    // Somebody who does not want to wait kills the call. The next one goes to the program that lives.
    let id = sql(&restate, &stuck).await[0]["id"].as_str().unwrap().to_owned();
    let kill = format!("{}/invocations/{id}/kill", restate.admin_url);
    assert!(reqwest::Client::new().patch(kill).send().await.unwrap().status().is_success());
    until(async || sql(&restate, &stuck).await.is_empty().then_some(())).await;
}

/// Restate dies while a tool runs. The run belongs to the program and goes on; the call of the handler is repeated and waits
/// for it.
#[tokio::test]
async fn the_death_of_restate_puts_no_call_in_doubt() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.restate().unwrap();
    let (restate, store, desk) = (at(&server), memory(), Desk::shut());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;

    let key = begin(&front, &agent, "sent", "send").await;
    until(async || (desk.sent() == ["send"]).then_some(())).await;
    server.process().kill();
    server.start().unwrap();
    // The handler was called again, and waits for the run.
    let calls = "SELECT id FROM sys_invocation WHERE status = 'running'";
    until(async || (sql(&restate, calls).await.len() == 1).then_some(())).await;
    desk.release();
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    assert_eq!(desk.sent(), ["send"]);
    assert_eq!(only_result(&front, &key).await.0, "Done");
    // The repeated call has its result, and nothing of the session is left.
    let open = "SELECT id FROM sys_invocation WHERE status <> 'completed'";
    until(async || sql(&restate, open).await.is_empty().then_some(())).await;
    assert_eq!(sql(&restate, "SELECT key FROM state").await, Vec::<serde_json::Value>::new());
}

/// While Restate is down, the store takes messages and answers, and the net runs the sessions.
#[tokio::test]
async fn without_restate_the_net_finishes_turns() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.restate().unwrap();
    let (restate, store, desk) = (at(&server), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let net = WorkerOptions::net().poll(Duration::from_secs(1));
    let _program = Program::start_with(&store, &agent, &restate, Some(net)).await;
    let parked = begin(&front, &agent, "parked", "pay").await;
    let call = pending(&front, &parked).await;
    until_outcome(&front, &parked, OutcomeKind::SuspendedClientTool).await;

    server.process().kill();
    let said = begin(&front, &agent, "said", "say").await;
    front.approve(&parked, &call, Approval::by("ada")).await.unwrap();
    until_outcome(&front, &said, OutcomeKind::Completed).await;
    until_outcome(&front, &parked, OutcomeKind::Completed).await;
    front.deliver(&said, Deliver::message("say again")).await.unwrap();
    until_outcome(&front, &said, OutcomeKind::Completed).await;
    assert_eq!(desk.sent(), ["pay"]);
}

/// Everything is stopped and started again: Restate, the program, and the store in a file.
#[tokio::test]
async fn an_approval_finds_its_session_after_everything_was_restarted() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.restate().unwrap();
    let file = launcher.folder().join("sessions.db");
    let restate = at(&server);
    let desk = Desk::open();
    let agent = Arc::new(desk.clerk().build().unwrap());
    let (key, call, address) = {
        let store = file_store(&file).await;
        let front = front(&store, &agent, &restate);
        let program = Program::start(&store, &agent, &restate).await;
        let address = program.address;
        let key = begin(&front, &agent, "paid", "pay").await;
        let call = pending(&front, &key).await;
        until_outcome(&front, &key, OutcomeKind::SuspendedClientTool).await;
        assert_eq!(program.stop().await, 0);
        (key, call, address)
    };
    server.process().kill();
    server.start().unwrap();
    let store = file_store(&file).await;
    let front = front(&store, &agent, &restate);
    front.approve(&key, &call, Approval::by("ada")).await.unwrap();
    // Restate has the wake-up, and tries the deployment that it knows.
    assert!(front.tell_engine(Duration::from_secs(30)).await);
    let _program = Program::listening_on(&store, &agent, &restate, address, None);
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    assert_eq!(desk.sent(), ["pay"]);
}
