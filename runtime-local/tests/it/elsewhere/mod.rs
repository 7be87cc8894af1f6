//! Remote children: a session of one program waits for agents of another, over a connection that can be cut.
//!
//! Requirements: H21.

mod dying;
mod heirs;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use holdover_core::ids::SessionId;
use holdover_core::message::ResultStatus;
use holdover_core::remote::{Remote, RemoteTask, TaskLimits, TaskStanding};
use holdover_core::store::{Deletion, OutcomeKind, SessionQuery, SessionStatus};
use holdover_core::tool::Bound;
use holdover_runtime_local::{AgentError, Agents, Elsewhere, Runtime, SubAgent};
use tokio::time::Instant;

use self::world::{THERE, Wire, World, digger, tenant_there};
use crate::bench::{agent, agentless, finish, only_result, options, say, settle};
use crate::script::Script;

const BOTH: &str = r#"{"tasks":["north","south"]}"#;
const FOUND: &str = "[1] done: found north\n[2] done: found south";

#[tokio::test(start_paused = true)]
async fn h21_outcomes_from_elsewhere_come_to_their_address_and_count_as_those_of_children() {
    let world = World::new(Wire { tells: true, ..Wire::default() }, BOTH, digger());
    let there = world.works_there();
    let mut run = world.here.execute(say(&world.chief, "go")).await.unwrap();
    let first = run.first_outcome().await.unwrap().unwrap();
    assert_eq!(first.kind(), OutcomeKind::SuspendedAwaitingChildren);
    let began = Instant::now();
    let (key, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}: it was told, and did not look", began.elapsed());
    assert_eq!(only_result(&world.here, &key).await, (ResultStatus::Done, FOUND.to_owned()));
    assert_eq!(world.wire.told.load(Ordering::SeqCst), 2);
    // Two steps of the parent and one of each task, with two tokens each.
    assert_eq!(world.here.standing(&key).await.unwrap().usage.tokens.total(), 8);
    drop(there);
}

#[tokio::test(start_paused = true)]
async fn h21_without_an_address_the_parent_looks_as_often_as_its_agent_says() {
    let every = Duration::from_secs(30);
    let remote = Remote::new(THERE).look_every(every);
    let world = World::new(Wire::default(), BOTH, SubAgent::new("digger", "Digs.").elsewhere(remote));
    let _there = world.works_there();
    let (key, outcome, took) = world.ends().await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&world.here, &key).await, (ResultStatus::Done, FOUND.to_owned()));
    assert!(took <= every + Duration::from_secs(1), "{took:?}");
    assert_eq!(world.wire.told.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn h21_an_outcome_that_is_lost_on_its_way_is_found() {
    let wire = Wire { tells: true, loses_outcomes: AtomicBool::new(true), ..Wire::default() };
    let world = World::new(wire, r#"{"tasks":["north"]}"#, digger());
    let _there = world.works_there();
    let (key, _, took) = world.ends().await;
    assert_eq!(only_result(&world.here, &key).await, (ResultStatus::Done, "found north".to_owned()));
    assert!(took <= Duration::from_secs(17), "{took:?}");
    // The caller may have found it before it was told again.
    let again = async {
        while world.wire.told.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), again).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_is_given_again_until_it_is_taken_and_done_once() {
    for only_the_answer in [false, true] {
        let wire = Wire { tells: true, loses: AtomicUsize::new(3), only_the_answer, ..Wire::default() };
        let world = World::new(wire, r#"{"tasks":["north"]}"#, digger());
        let _there = world.works_there();
        let (key, ..) = world.ends().await;
        assert_eq!(only_result(&world.here, &key).await, (ResultStatus::Done, "found north".to_owned()));
        assert_eq!(world.wire.tasks(), ["north"]);
        assert_eq!(world.digger.asked().len(), 1, "its agent worked once");
    }
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_that_cannot_be_given_is_answered_so_and_stopped_there() {
    for (wire, why) in [
        (Wire { refuses: Some("no such agent"), ..Wire::default() }, "no such agent"),
        (Wire { loses: AtomicUsize::new(usize::MAX), ..Wire::default() }, "no route"),
        (Wire { loses: AtomicUsize::new(usize::MAX), only_the_answer: true, ..Wire::default() }, "no route"),
    ] {
        let was_taken = wire.only_the_answer;
        let world = World::new(wire, r#"{"tasks":["for ever"]}"#, digger());
        let _there = world.works_there();
        let (key, outcome, took) = world.ends().await;
        assert_eq!(outcome.kind(), OutcomeKind::Completed);
        assert_eq!(only_result(&world.here, &key).await, (ResultStatus::Error, format!("{why} ({THERE})")));
        assert!(took < Duration::from_secs(30), "{took:?}: nobody waits for long");
        if was_taken {
            until_there(&world, SessionStatus::Aborted).await;
        }
    }
}

/// Waits until the only session of the other program has this status.
async fn until_there(world: &World, status: SessionStatus) {
    while world.wire.sessions_there().await != [status] {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn h21_a_stop_reaches_the_task_also_from_a_program_without_the_agent() {
    for has_agent in [true, false] {
        let world = World::new(Wire::default(), r#"{"tasks":["for ever"]}"#, digger());
        let _there = world.works_there();
        let mut run = world.here.execute(say(&world.chief, "go")).await.unwrap();
        run.first_outcome().await.unwrap();
        let key = run.key().clone();
        until_there(&world, SessionStatus::Active).await;
        let wire: Arc<dyn Elsewhere> = Arc::clone(&world.wire) as _;
        let stops = match has_agent {
            true => world.here.clone(),
            false => Runtime::new(
                Arc::new(world.store.clone()),
                Arc::new(Agents::new()),
                options().elsewhere(Some(wire)),
            ),
        };
        stops.interrupt(&key, "enough").await.unwrap();
        until_there(&world, SessionStatus::Aborted).await;
        assert_eq!(world.here.session(&key).await.unwrap().unwrap().status, SessionStatus::Interrupted);
    }
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_ends_with_the_time_of_its_parent() {
    let sub_agent = digger().timeout(Bound::of(Duration::from_secs(120)));
    let world = World::new(Wire::default(), r#"{"tasks":["for ever"]}"#, sub_agent);
    let _there = world.works_there();
    let (key, _, took) = world.ends().await;
    let late = "timed out: it did not end in time";
    assert_eq!(only_result(&world.here, &key).await, (ResultStatus::Error, format!("[1] {late}")));
    assert!(took >= Duration::from_secs(120) && took < Duration::from_secs(125), "{took:?}");
    // The task ended by the stop, or by its own time limit.
    let statuses = world.wire.sessions_there().await;
    assert!(matches!(statuses[..], [SessionStatus::Aborted | SessionStatus::Idle]), "{statuses:?}");
    let limits = world.wire.begun.lock().unwrap()[0].limits;
    assert!(limits.time_ms.is_some_and(|ms| (119_000..=120_000).contains(&ms)), "{limits:?}");
    assert!(limits.steps.is_some(), "{limits:?}");
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_that_is_gone_is_answered_so_at_the_next_look() {
    let world = World::new(Wire::default(), r#"{"tasks":["for ever"]}"#, digger());
    let mut run = world.here.execute(say(&world.chief, "go")).await.unwrap();
    run.first_outcome().await.unwrap();
    let all = SessionQuery::all(tenant_there());
    let there = world.wire.there().0;
    let session = there.list(&all).await.unwrap().items[0].key.clone();
    there.delete(&session, Deletion::UNLESS_ACTIVE).await.unwrap();
    let (key, _) = finish(run).await;
    assert_eq!(only_result(&world.here, &key).await, (ResultStatus::Error, "it is gone".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn h21_without_a_wire_a_task_is_answered_so() {
    let world = World::new(Wire::default(), r#"{"tasks":["north"]}"#, digger());
    let alone = agentless(&world.store);
    let (key, _) = finish(alone.execute(say(&world.chief, "go").served_elsewhere()).await.unwrap()).await;
    let told = format!("this program reaches no agents elsewhere ({THERE})");
    assert_eq!(only_result(&alone, &key).await, (ResultStatus::Error, told));
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_that_is_stopped_before_it_comes_never_begins() {
    let world = World::new(Wire::default(), BOTH, digger());
    let (there, agent) = world.wire.there();
    let id = SessionId::new("late").unwrap();
    there.stop_task(&tenant_there(), &agent, &id).await.unwrap();
    there.stop_task(&tenant_there(), &agent, &id).await.unwrap();
    let _works = world.works_there();
    let task =
        RemoteTask { id: id.clone(), task: "north".into(), limits: TaskLimits::default(), reply_to: None };
    let standing = there.take_task(&tenant_there(), &agent, task).await.unwrap();
    let TaskStanding::Ended(outcome) = standing else { panic!("{standing:?}") };
    assert!(!outcome.ok);
    settle().await;
    assert_eq!(world.digger.asked().len(), 0);
    assert_eq!(there.task(&tenant_there(), &agent, &SessionId::new("other").unwrap()).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_that_fails_says_why_and_a_limit_of_the_caller_ends_it() {
    let world = World::new(Wire::default(), BOTH, digger());
    let (there, agent) = world.wire.there();
    let _works = world.works_there();
    let limits = TaskLimits { time_ms: Some(10_000), ..TaskLimits::default() };
    let id = SessionId::new("slow").unwrap();
    let task = RemoteTask { id: id.clone(), task: "for ever".into(), limits, reply_to: None };
    assert_eq!(there.take_task(&tenant_there(), &agent, task.clone()).await.unwrap(), TaskStanding::Open);
    let began = Instant::now();
    let outcome = loop {
        if let Some(TaskStanding::Ended(outcome)) = there.task(&tenant_there(), &agent, &id).await.unwrap() {
            break outcome;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(!outcome.ok && began.elapsed() < Duration::from_secs(15), "{outcome:?} {:?}", began.elapsed());
    // A task that is given again stays as it is, even if its text is another.
    let again = RemoteTask { task: "north".into(), ..task };
    assert_eq!(there.take_task(&tenant_there(), &agent, again).await.unwrap(), TaskStanding::Ended(outcome));
}

#[test]
fn h21_an_agent_elsewhere_has_nothing_that_only_agents_here_have() {
    let model = Script::calling(Vec::new());
    let build = |sub_agent: SubAgent| match agent(&model).sub_agent(sub_agent).build() {
        Err(AgentError::Bound { field, why, .. }) => format!("{field}: {why}"),
        Err(other) => panic!("{other}"),
        Ok(_) => "built".to_owned(),
    };
    let here = |field: &str| {
        format!("sub_agent digger: {field}: is for agents of this program, and this one is elsewhere")
    };
    assert_eq!(build(digger()), "built");
    assert_eq!(build(digger().background()), here("background"));
    assert_eq!(build(digger().takes_over()), here("takes_over"));
    assert_eq!(build(digger().instructions("Dig.")), here("instructions"));
    assert_eq!(build(digger().model(model.clone())), here("model"));
    let at = |remote: Remote| build(SubAgent::new("digger", "Digs.").elsewhere(remote));
    for (url, why) in [
        ("ftp://there", "is \"ftp://there\", expected http:// or https://"),
        ("https://", "is \"https://\", expected a host without a user"),
        ("https://me@there/x", "is \"https://me@there/x\", expected a host without a user"),
        ("https://there/x?y", "is \"https://there/x?y\", expected no spaces, query or fragment"),
    ] {
        assert_eq!(at(Remote::new(url)), format!("sub_agent digger: url: {why}"));
    }
    assert_eq!(
        at(Remote::new(THERE).look_every(Duration::from_millis(1))),
        "sub_agent digger: look_every: is 1 ms, expected at least 1000"
    );
}

#[tokio::test(start_paused = true)]
async fn h21_many_tasks_for_an_agent_that_does_not_answer_hold_the_run_no_longer_than_one() {
    let tasks: Vec<String> = (0..300).map(|task| format!("task {task}")).collect();
    let tasks: &str = serde_json::json!({ "tasks": tasks }).to_string().leak();
    let world =
        World::new(Wire { answers_nothing: true, ..Wire::default() }, tasks, digger().fan_out_max(300));
    let (key, _, took) = world.ends().await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    let (status, told) = only_result(&world.here, &key).await;
    assert_eq!(status, ResultStatus::Error);
    assert!(told.contains("no answer in time") && told.contains("not tried: it did not"), "{told}");
    assert_eq!(world.wire.asked_in_vain.load(Ordering::SeqCst), 2 * 32, "one for each, and one to stop it");
}
