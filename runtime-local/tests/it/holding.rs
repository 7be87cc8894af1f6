//! Calls that both hooks and people decide on.
//!
//! Requirements: B32, C36, U05, U06.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::gate::{
    ApprovalRule, ApprovalTerms, Approvers, AtExpiry, GateQuestion, RuleAction, RuleGate,
};
use holdover_core::hook::{BeforeTool, Hook, HookError, HookPoint};
use holdover_core::ids::SessionKey;
use holdover_core::message::ResultStatus;
use holdover_core::store::OutcomeKind;
use holdover_core::tool::{Bound, ToolOutput};
use holdover_runtime_local::{AgentBuilder, Approval, Runtime, WorkerOptions};

use crate::bench::{
    agent, asking_for, finish, only_pending, only_result, runtime, say, store, tool_results, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// A hook with this name that decides on each call by this function.
struct Says(&'static str, fn(&GateQuestion) -> BeforeTool);

#[async_trait]
impl Hook for Says {
    fn name(&self) -> &str {
        self.0
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::BeforeTool]
    }

    async fn before_tool(&self, call: &GateQuestion) -> Result<BeforeTool, HookError> {
        Ok((self.1)(call))
    }
}

fn answers(_: &GateQuestion) -> BeforeTool {
    BeforeTool::Answer(ToolOutput::text("paid before"))
}

/// Answers the second payment, as already made, and allows the others.
fn knows_the_second(call: &GateQuestion) -> BeforeTool {
    if call.arguments.contains('8') { answers(call) } else { BeforeTool::Allow }
}

fn holds(_: &GateQuestion) -> BeforeTool {
    BeforeTool::Hold { prompt: Some("is this right?".into()) }
}

fn pays() -> Script {
    Script::calling(vec![("pay", r#"{"n":7}"#)])
}

fn pays_twice() -> Script {
    Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("pay", r#"{"n":7}"#)]),
        1 => Say::Calls(vec![("pay", r#"{"n":8}"#)]),
        _ => Say::Text("done"),
    })
}

fn asks_on(terms: ApprovalTerms) -> RuleGate {
    RuleGate::new(vec![ApprovalRule::new("pay", RuleAction::Ask).on_terms(terms)])
}

fn runs_at_expiry() -> ApprovalTerms {
    let expires_after_ms = Some(Bound::At(60_000));
    ApprovalTerms::default().expires_after_ms(expires_after_ms).at_expiry(AtExpiry::Approve)
}

/// Runs a session until its only call waits for people.
async fn waits(built: AgentBuilder) -> (Runtime, SessionKey) {
    let agent = Arc::new(built.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    (runtime, key)
}

async fn approve(runtime: &Runtime, key: &SessionKey, approval: Approval) {
    let asked = only_pending(runtime, key).await;
    runtime.approve(key, &asked, approval).await.unwrap();
    assert_eq!(runtime.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
}

/// Lets the deadline for a decision pass.
async fn expire(runtime: &Runtime, key: &SessionKey) {
    let _worker = worker(runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(62)).await;
    assert_eq!(runtime.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
}

fn always() -> Approval {
    Approval::default().always()
}

#[tokio::test(start_paused = true)]
async fn b32_an_answer_of_a_hook_stands_where_a_standing_approval_lets_the_call_through() {
    let tool = Fake::echo("pay");
    let hook = Says("a", knows_the_second);
    let built = agent(&pays_twice()).tool(tool.clone()).gate(asking_for("pay")).hook(hook);
    let (runtime, key) = waits(built).await;
    approve(&runtime, &key, always()).await;
    let told: Vec<_> = tool_results(&runtime, &key).await.into_iter().map(|it| it.content).collect();
    assert_eq!((told, tool.calls().len()), (vec![r#"{"n":7}"#.to_owned(), "paid before".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn b32_an_answer_of_a_hook_stands_where_the_call_may_run_as_nobody_decided() {
    let tool = Fake::echo("pay");
    let built = agent(&pays()).tool(tool.clone()).gate(asks_on(runs_at_expiry())).hook(Says("a", answers));
    let (runtime, key) = waits(built).await;
    expire(&runtime, &key).await;
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Done, "paid before".into()));
    assert_eq!(tool.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn b32_an_answer_of_a_hook_stands_where_one_who_must_approve_edits_the_call() {
    let tool = Fake::echo("pay");
    let approvers = Approvers::of(["ann"], 1);
    let gate = asks_on(ApprovalTerms::default().approvers(approvers));
    let built = agent(&pays()).tool(tool.clone()).gate(gate).hook(Says("a", answers));
    let (runtime, key) = waits(built).await;
    let edit = Approval::by("ann").editing(r#"{"n":5}"#);
    approve(&runtime, &key, edit).await;
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Done, "paid before".into()));
    assert_eq!(tool.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn c36_a_standing_approval_satisfies_a_hook_that_holds_and_the_answer_of_another_stands() {
    let tool = Fake::echo("pay");
    let built = agent(&pays_twice()).tool(tool.clone());
    let built = built.hook(Says("a", holds)).hook(Says("b", knows_the_second));
    let (runtime, key) = waits(built).await;
    approve(&runtime, &key, always()).await;
    let told: Vec<_> = tool_results(&runtime, &key).await.into_iter().map(|it| it.content).collect();
    assert_eq!((told, tool.calls().len()), (vec![r#"{"n":7}"#.to_owned(), "paid before".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn c36_what_a_hook_holds_does_not_run_because_nobody_decided() {
    let tool = Fake::echo("pay");
    let built = || agent(&pays()).tool(tool.clone()).gate(asks_on(runs_at_expiry())).hook(Says("a", holds));
    let (runtime, key) = waits(built()).await;
    let prompt = runtime.pending(&key).await.unwrap().remove(0).body.prompt;
    assert_eq!(prompt.as_deref(), Some("is this right?"), "the gate says nothing of its own");
    expire(&runtime, &key).await;
    let (status, told) = only_result(&runtime, &key).await;
    assert_eq!((status, tool.calls().len()), (ResultStatus::Error, 0), "{told}");
    assert!(told.starts_with("timed out: nobody decided in time"), "{told}");
    // This time a person decides.
    let (runtime, key) = waits(built()).await;
    approve(&runtime, &key, Approval::default()).await;
    assert_eq!((only_result(&runtime, &key).await.0, tool.calls().len()), (ResultStatus::Done, 1));
}
