//! Tests of tasks from other programs, which are given, looked up and stopped.

use holdover_core::machine::Usage;
use holdover_core::model::TokenUsage;
use holdover_core::remote::{RemoteTask, TaskLimits, TaskOutcome, TaskStanding};
use holdover_elsewhere::{BODY_BYTES_MAX, Callers};
use holdover_runtime_local::Elsewhere;

use crate::bench::{Program, id, task, tenant, until, wire};

fn anyone() -> Callers {
    Callers::anyone(tenant("acme"))
}

#[tokio::test]
async fn a_task_that_is_given_twice_is_done_once() {
    let there = Program::digger(anyone()).await;
    let remote = there.remote();
    for _ in 0..2 {
        assert_eq!(wire().begin(&remote, &task("t1", "north")).await.unwrap(), TaskStanding::Open);
    }
    assert_eq!(wire().look(&remote, &id("t1")).await.unwrap(), Some(TaskStanding::Open));
    let _works = there.works();
    let outcome = there.ends(&remote, "t1").await;
    let usage = Usage {
        tokens: TokenUsage { input: 1, output: 1, ..TokenUsage::default() },
        model_calls: 1,
        ..Usage::default()
    };
    assert_eq!(outcome, TaskOutcome { ok: true, text: "found north".into(), usage });
    // A second request with another text changes nothing.
    let again = wire().begin(&remote, &task("t1", "south")).await.unwrap();
    assert_eq!(again, TaskStanding::Ended(outcome));
    assert_eq!(there.model.asked(), 1);
}

#[tokio::test]
async fn a_task_that_is_stopped_before_it_comes_never_begins() {
    let there = Program::digger(anyone()).await;
    let (remote, _works) = (there.remote(), there.works());
    for _ in 0..2 {
        wire().stop(&remote, &id("t1")).await.unwrap();
    }
    let standing = wire().begin(&remote, &task("t1", "north")).await.unwrap();
    let TaskStanding::Ended(outcome) = standing else { panic!("{standing:?}") };
    assert!(!outcome.ok, "{outcome:?}");
    // A later task is done by now, so the stopped task would also have been done.
    wire().begin(&remote, &task("t2", "south")).await.unwrap();
    there.ends(&remote, "t2").await;
    assert_eq!(there.model.asked(), 1);
}

#[tokio::test]
async fn an_open_task_can_be_stopped() {
    let there = Program::digger(anyone()).await;
    let (remote, _works) = (there.remote(), there.works());
    wire().begin(&remote, &task("t1", "for ever")).await.unwrap();
    until(|| async { (there.model.asked() == 1).then_some(()) }).await;
    assert_eq!(wire().look(&remote, &id("t1")).await.unwrap(), Some(TaskStanding::Open));
    wire().stop(&remote, &id("t1")).await.unwrap();
    assert!(!there.ends(&remote, "t1").await.ok);
}

#[tokio::test]
async fn a_task_or_an_agent_that_is_not_there_is_said_so() {
    let there = Program::digger(anyone()).await;
    let mut remote = there.remote();
    assert_eq!(wire().look(&remote, &id("t1")).await.unwrap(), None);
    remote.url = remote.url.replace("digger", "nobody");
    let errors = [
        wire().look(&remote, &id("t1")).await.unwrap_err(),
        wire().stop(&remote, &id("t1")).await.unwrap_err(),
        wire().begin(&remote, &task("t1", "north")).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.to_string(), "it answered with status 404: no agent of this name is offered");
        assert!(!error.again);
    }
}

#[tokio::test]
async fn an_id_may_have_any_characters() {
    let there = Program::digger(anyone()).await;
    let (remote, _works) = (there.remote(), there.works());
    for name in ["a/b", "a%2Fb", "é?x#y", "a\\b", "..."] {
        wire().begin(&remote, &task(name, name)).await.unwrap();
        assert_eq!(there.ends(&remote, name).await.text, format!("found {name}"));
    }
    for name in [".", ".."] {
        assert!(!wire().look(&remote, &id(name)).await.unwrap_err().again);
    }
}

#[tokio::test]
async fn the_limits_of_the_caller_end_a_task() {
    let there = Program::digger(anyone()).await;
    let (remote, _works) = (there.remote(), there.works());
    let limits = TaskLimits { time_ms: Some(1), ..TaskLimits::default() };
    wire().begin(&remote, &RemoteTask { limits, ..task("t1", "for ever") }).await.unwrap();
    assert!(!there.ends(&remote, "t1").await.ok);
}

#[tokio::test]
async fn a_long_outcome_comes_in_part() {
    let there = Program::digger(anyone()).await;
    let (remote, _works) = (there.remote(), there.works());
    wire().begin(&remote, &task("t1", "at length")).await.unwrap();
    let outcome = there.ends(&remote, "t1").await;
    assert!(outcome.ok && outcome.text.ends_with("more characters]"), "{:.20}", outcome.text);
    assert!(outcome.text.len() < BODY_BYTES_MAX);
}
