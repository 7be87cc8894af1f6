//! Several deployments: a new version of the program beside the old one.

use std::sync::Arc;

use holdover_core::store::{Deletion, OutcomeKind, SessionStatus};
use holdover_runtime_local::{Approval, Engine};
use holdover_runtime_restate::RestateEngine;
use tokio::net::TcpStream;

use crate::bench::{
    Balancer, Program, begin, front, memory, only_result, pending, shared, sql, until, until_outcome,
};
use crate::clerk::Desk;

/// The new version of the program has the agent in a new version only. Sessions of the old version go on in the old program,
/// also with what begins after the registration of the new one.
#[tokio::test]
async fn a_new_version_of_an_agent_is_served_beside_the_old_one() {
    let (restate, store) = (shared(), memory());
    let (old_desk, new_desk) = (Desk::open(), Desk::open());
    let old = Arc::new(old_desk.clerk().version("1").build().unwrap());
    let new = Arc::new(new_desk.clerk().version("2").build().unwrap());
    let (old_front, new_front) = (front(&store, &old, &restate), front(&store, &new, &restate));
    let _old = Program::start(&store, &old, &restate).await;
    let parked = begin(&old_front, &old, "parked", "pay").await;
    let call = pending(&old_front, &parked).await;
    let _new = Program::start(&store, &new, &restate).await;

    let fresh = begin(&new_front, &new, "fresh", "send").await;
    until_outcome(&new_front, &fresh, OutcomeKind::Completed).await;
    new_front.approve(&parked, &call, Approval::by("ada")).await.unwrap();
    until_outcome(&new_front, &parked, OutcomeKind::Completed).await;
    assert_eq!((old_desk.sent(), new_desk.sent()), (vec!["pay".to_owned()], vec!["send".to_owned()]));
}

/// The new version of the program has the same agent at another address. The call that the old program has begun stays there;
/// all that follows goes to the new one, so the old program can be stopped.
#[tokio::test]
async fn work_that_was_begun_stays_with_its_deployment_and_new_work_goes_to_the_last_one() {
    let (restate, store) = (shared(), memory());
    let (old_desk, new_desk) = (Desk::shut(), Desk::open());
    let old = Arc::new(old_desk.clerk().build().unwrap());
    let new = Arc::new(new_desk.clerk().build().unwrap());
    let front = front(&store, &old, &restate);
    let first = Program::start(&store, &old, &restate).await;
    let begun = begin(&front, &old, "begun", "send").await;
    until(async || (old_desk.sent() == ["send"]).then_some(())).await;

    let second = Program::start(&store, &new, &restate).await;
    let ids = (first.registered_as(&restate).await, second.registered(&restate).await);
    assert_ne!(ids.0, ids.1);
    let later = begin(&front, &old, "later", "send").await;
    until_outcome(&front, &later, OutcomeKind::Completed).await;
    assert_eq!(new_desk.sent(), ["send"]);

    old_desk.release();
    until_outcome(&front, &begun, OutcomeKind::Completed).await;
    assert_eq!((old_desk.sent().len(), new_desk.sent().len()), (1, 1), "nothing was sent twice");
    assert_eq!(first.stop().await, 0);
}

/// A program is stopped while a tool runs, with another one behind the same address. The tool may end, and the rest of the
/// turn is left to the other program.
#[tokio::test]
async fn a_program_that_is_stopped_leaves_its_sessions_to_the_other_one() {
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

    let address = first.address;
    let stopped = tokio::spawn(first.stop());
    until(async || TcpStream::connect(address).await.is_err().then_some(())).await;
    desk.release();
    assert_eq!(stopped.await.unwrap(), 0, "no run was dropped");
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    assert_eq!((desk.sent().len(), only_result(&front, &key).await.0.as_str()), (1, "Done"));
    let runs = front.session(&key).await.unwrap().unwrap().epoch.0;
    assert_eq!(runs, 2, "the first run left, and the other program ended the turn");
}

/// A program is started again at its address: with the same agent nothing changes, with another one Restate learns of it.
#[tokio::test]
async fn a_program_at_the_same_address_is_registered_again_only_if_its_agents_differ() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let old = Arc::new(desk.clerk().version("1").build().unwrap());
    let new = Arc::new(desk.clerk().version("2").build().unwrap());
    let revisions = async || {
        let service = &restate.service;
        let rows =
            sql(&restate, &format!("SELECT name, revision FROM sys_service WHERE name LIKE '{service}.%'"))
                .await;
        let mut all: Vec<String> =
            rows.iter().map(|row| format!("{} {}", row["name"], row["revision"])).collect();
        all.sort();
        all
    };
    let first = Program::start(&store, &old, &restate).await;
    let (address, begun) = (first.address, revisions().await);
    assert_eq!(begun.len(), 1);
    first.stop().await;
    let again = Program::listening_on(&store, &old, &restate, address, None);
    let (old_front, new_front) = (front(&store, &old, &restate), front(&store, &new, &restate));
    let said = begin(&old_front, &old, "said", "say").await;
    until_outcome(&old_front, &said, OutcomeKind::Completed).await;
    assert_eq!(revisions().await, begun);
    again.stop().await;
    let _changed = Program::listening_on(&store, &new, &restate, address, None);
    let fresh = begin(&new_front, &new, "fresh", "say").await;
    until_outcome(&new_front, &fresh, OutcomeKind::Completed).await;
    assert!(revisions().await.iter().any(|service| service.contains("clerk_402")));
}

/// The object of another agent is woken for a session, as after a deletion and a new creation. It keeps nothing.
#[tokio::test]
async fn the_object_of_another_agent_keeps_nothing_of_a_session() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let old = Arc::new(desk.clerk().version("1").build().unwrap());
    let new = Arc::new(desk.clerk().version("2").build().unwrap());
    let _old = Program::start(&store, &old, &restate).await;
    let second = Program::listening(&store, &new, &restate);
    second.registered(&restate).await;
    let front = front(&store, &new, &restate);
    let parked = begin(&front, &new, "parked", "pay").await;
    pending(&front, &parked).await;
    let states =
        format!("SELECT service_name, key FROM state WHERE service_name LIKE '{}.%'", restate.service);
    let before = until(async || Some(sql(&restate, &states).await).filter(|rows| rows.len() == 3)).await;
    let service = format!("{}.clerk_401", restate.service);
    let url = format!("{}/{service}/acme%2Fparked/wake", restate.ingress_url);
    let request = reqwest::Client::new().post(url).header("content-type", "application/json").body("{}");
    assert!(request.send().await.unwrap().status().is_success());
    let same = |rows: &[serde_json::Value]| {
        let mut rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        rows.sort();
        rows
    };
    assert_eq!(same(&sql(&restate, &states).await), same(&before), "status, queue and timer of one object");
}

/// A session is deleted and created again with another agent before Restate is told of either. The object of the old agent
/// forgets it, and Restate shows the new one.
#[tokio::test]
async fn a_session_that_gets_another_agent_at_once_leaves_nothing_in_the_old_object() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let old = Arc::new(desk.clerk().version("1").build().unwrap());
    let new = Arc::new(desk.clerk().version("2").build().unwrap());
    let _old = Program::start(&store, &old, &restate).await;
    let second = Program::listening(&store, &new, &restate);
    second.registered(&restate).await;
    let (old_front, front) = (front(&store, &old, &restate), front(&store, &new, &restate));
    let key = begin(&old_front, &old, "moving", "pay").await;
    pending(&old_front, &key).await;
    let services =
        format!("SELECT DISTINCT service_name FROM state WHERE service_name LIKE '{}.%'", restate.service);
    let shown = async || {
        let rows = sql(&restate, &services).await;
        rows.iter().map(|row| row["service_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (before, after) =
        (["clerk_401", "clerk_402"].map(|agent| format!("{}.{agent}", restate.service))).into();
    until(async || (shown().await == [String::clone(&before)]).then_some(())).await;
    // The deletion and the creation are one task of this thread, so the wake-up begins after both.
    front.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();
    begin(&front, &new, "moving", "pay").await;
    pending(&front, &key).await;
    until(async || (shown().await == [String::clone(&after)]).then_some(())).await;
    let seen = RestateEngine::new(&restate).unwrap().look(&key).await.unwrap().unwrap();
    assert_eq!(seen.status, Some(SessionStatus::Suspended));
}
