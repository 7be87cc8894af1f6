//! A child may use a share of what its parent has left, and its usage counts as its parent's.
//!
//! Requirements: A17, A63, A64, B18, H23, U10.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::ids::SessionKey;
use holdover_core::machine::Usage;
use holdover_core::message::ResultStatus;
use holdover_core::model::{ModelError, ModelErrorKind, ModelRequest};
use holdover_core::store::{OutcomeKind, SessionQuery};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Agent, Runtime, SubAgent, WorkerOptions, machine_of};

use crate::bench::{agent, finish, only_result, runtime, say, store, tenant, worker};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

fn is_child(request: &ModelRequest) -> bool {
    request.system.contains("You help.")
}

/// Returns a parent within these limits that gives the tasks in `arguments`, and children whose model answers with
/// `does`.
fn parent(
    limits: Limits,
    arguments: &'static str,
    does: impl Fn(&ModelRequest) -> Say + Send + Sync + 'static,
) -> (Script, Arc<Agent>) {
    let model = Script::new(move |request| match (is_child(request), results(request).is_empty()) {
        (true, _) => does(request),
        (false, true) => Say::Calls(vec![("helper", arguments)]),
        (false, false) => Say::Text("done"),
    });
    let helper =
        SubAgent::new("helper", "Helps.").instructions("You help.").tools(["again".parse().unwrap()]);
    let built = agent(&model)
        .tool(Fake::new("again", |_| async { Ok(ToolOutput::text("again").into()) }))
        .limits(limits)
        .sub_agent(helper)
        .build();
    (model, Arc::new(built.unwrap()))
}

/// Calls the tool again and again, each time with other arguments.
fn goes_on(request: &ModelRequest) -> Say {
    Say::Calls(vec![("again", format!(r#"{{"n":{}}}"#, results(request).len()).leak())])
}

async fn used(runtime: &Runtime, key: &SessionKey) -> Usage {
    let session = runtime.session(key).await.unwrap().unwrap();
    machine_of(&session).unwrap().unwrap().usage
}

#[tokio::test(start_paused = true)]
async fn a17_b18_a_child_has_ten_steps_and_is_asked_for_short_answers_unless_its_parent_has_less_left() {
    for (own, expected) in [(50, 10), (8, 7)] {
        let (model, agent) = parent(Limits::default().max_steps(own), r#"{"tasks":["a"]}"#, goes_on);
        let runtime = runtime(&store(), &agent);
        let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let (status, content) = only_result(&runtime, &key).await;
        assert_eq!((status, content.as_str()), (ResultStatus::Error, "ended by max_turns"));
        let asked = model.asked();
        let of_child: Vec<_> = asked.iter().filter(|request| is_child(request)).collect();
        assert_eq!(of_child.len(), expected, "{own} steps of the parent");
        assert!(of_child.iter().all(|request| request.max_output_tokens == 8_000));
    }
}

#[tokio::test(start_paused = true)]
async fn a63_a_parent_without_a_step_left_begins_no_child() {
    let (_, agent) = parent(Limits::default().max_steps(1), r#"{"tasks":["a"]}"#, |_| Say::Text("never"));
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let (status, content) = only_result(&runtime, &key).await;
    assert_eq!(status, ResultStatus::Error);
    assert!(content.starts_with("not begun: "), "{content}");
    assert_eq!(runtime.list(&SessionQuery::all(tenant())).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a64_h23_what_a_child_used_that_failed_is_used_by_its_parent() {
    let (model, agent) =
        parent(Limits::default(), r#"{"tasks":["a"]}"#, |request| match results(request).len() {
            0 => Say::Calls(vec![("again", "{}")]),
            _ => Say::Fail(ModelError::new(ModelErrorKind::Auth, "no key")),
        });
    let runtime = runtime(&store(), &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Error);
    let tree = runtime.tree(&key, true).await.unwrap();
    let (own, child) = (tree.entries[0].usage, tree.entries[1].usage);
    assert_eq!((child.model_calls, child.tool_calls), (1, 1), "a call that fails has used nothing");
    assert_eq!((own.model_calls, own.tool_calls), (3, 1), "two of its own, and the child's");
    assert_eq!(tree.usage, own, "each use counts once");
    assert_eq!(model.asked().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a64_what_a_child_used_that_had_answered_counts_also_where_the_call_or_the_turn_is_stopped() {
    for whole_turn in [false, true] {
        let (_, agent) =
            parent(Limits::default(), r#"{"tasks":["quick","slow"]}"#, |request| {
                match format!("{:?}", request.messages).contains("slow") {
                    true => Say::Nothing,
                    false => Say::Text("done"),
                }
            });
        let runtime = runtime(&store(), &agent);
        let _worker = worker(&runtime, WorkerOptions::default());
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        let key = run.key().clone();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let before = runtime.tree(&key, true).await.unwrap().usage;
        assert_eq!((used(&runtime, &key).await.model_calls, before.model_calls), (1, 2), "it has answered");
        let call = runtime.pending(&key).await.unwrap().remove(0).call.call;
        match whole_turn {
            true => runtime.interrupt(&key, "enough").await.map(drop).unwrap(),
            false => runtime.stop_call(&key, &call).await.unwrap(),
        }
        finish(run).await;
        assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Cancelled);
        let own = 1 + u64::from(!whole_turn);
        assert_eq!(used(&runtime, &key).await.model_calls, own + 1, "stopped with its turn: {whole_turn}");
    }
}

#[tokio::test(start_paused = true)]
async fn u10_a_budget_is_passed_by_one_model_call_of_each_child_at_most() {
    // Each model call uses two tokens.
    for (most, children) in [(11_u64, 2_u64), (24, 5), (9, 3)] {
        let tasks: Vec<String> = (0..children).map(|task| task.to_string()).collect();
        let arguments: &str = serde_json::json!({ "tasks": tasks }).to_string().leak();
        let (_, agent) = parent(Limits::default().max_tokens(Some(most)), arguments, goes_on);
        let runtime = runtime(&store(), &agent);
        let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let total = used(&runtime, &key).await.tokens.total();
        assert!(total >= most, "the budget ended the turn, {total} of {most}");
        assert!(total <= most + 2 * children, "{total} of {most}, with {children} children");
    }
}
