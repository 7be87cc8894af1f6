//! Tools that decide which of their calls need approval.
//!
//! Requirements: A44, A46, U05.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::gate::{
    ApprovalRule, ApprovalTerms, Approvers, AtExpiry, PermissionMode, RuleAction, RuleGate,
};
use holdover_core::ids::ToolName;
use holdover_core::message::ResultStatus;
use holdover_core::model::{Model, ModelAnswer, ModelError, ModelRequest, ModelStream};
use holdover_core::store::OutcomeKind;
use holdover_core::tool::{EffectClass, ToolError, ToolOutput};
use holdover_runtime_local::{Agent, AgentBuilder, Approval, Denial, Runtime, RuntimeError};
use holdover_store_memory::MemoryStore;
use holdover_tools::FunctionTool;
use serde_json::json;

use crate::bench::{
    agent, agentless, completes, finish, only_pending, only_result, runtime, say, store, tool_results,
};
use crate::script::Script;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Payment {
    euros: u32,
}

/// The sums paid, in the order of the payments.
type Paid = Arc<Mutex<Vec<u32>>>;

fn sums(paid: &Paid) -> Vec<u32> {
    paid.lock().unwrap().clone()
}

fn pay(paid: &Paid) -> FunctionTool<Payment> {
    let name = ToolName::new("pay").unwrap();
    FunctionTool::with(Arc::clone(paid), name, "Pays", |paid, payment: Payment, _| async move {
        paid.lock().unwrap().push(payment.euros);
        Ok::<_, ToolError>(ToolOutput::text(format!("paid {}", payment.euros)))
    })
    .ask_if(|payment| (payment.euros > 100).then(|| format!("{} euros are a lot", payment.euros)))
}

/// Returns an agent that asks to pay these sums in one step.
fn treasurer(euros: &[u32], paid: &Paid) -> AgentBuilder {
    let calls: Vec<String> = euros.iter().map(|euros| json!({ "euros": euros }).to_string()).collect();
    let calls = calls.into_iter().map(|arguments| ("pay", &*arguments.leak())).collect();
    agent(&Script::calling(calls)).tool(pay(paid))
}

fn build(agent: AgentBuilder) -> (Arc<Agent>, MemoryStore, Runtime) {
    let (agent, store) = (Arc::new(agent.build().unwrap()), store());
    let runtime = runtime(&store, &agent);
    (agent, store, runtime)
}

fn asks(tool: &str, terms: ApprovalTerms) -> RuleGate {
    RuleGate::new(vec![
        ApprovalRule::new(tool, RuleAction::Ask).because("money leaves the house").on_terms(terms),
    ])
}

#[tokio::test(start_paused = true)]
async fn a_call_for_which_its_tool_has_a_reason_waits_for_a_person_who_is_told_it() {
    let paid = Paid::default();
    // No gate can lift the tool's condition.
    let gate = RuleGate::default().mode(PermissionMode::Full);
    let (agent, _, runtime) = build(treasurer(&[100, 500], &paid).gate(gate));
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool, "{outcome:?}");
    assert_eq!(sums(&paid), [100], "that one runs unasked");
    let asked = runtime.pending(&key).await.unwrap().remove(0);
    assert_eq!(asked.body.prompt.as_deref(), Some("500 euros are a lot"));
    assert_eq!(asked.body.arguments, r#"{"euros":500}"#);

    runtime.deny(&key, asked.id(), Denial::by("ann").because("too much")).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let ends: Vec<_> = tool_results(&runtime, &key).await.into_iter().map(|result| result.status).collect();
    assert_eq!(ends, [ResultStatus::Done, ResultStatus::Error]);
    assert_eq!(sums(&paid), [100]);
}

#[tokio::test(start_paused = true)]
async fn the_condition_holds_in_every_process_that_has_the_agent_and_an_approval_is_asked_for_once() {
    let paid = Paid::default();
    let (agent, store, first) = build(treasurer(&[500], &paid));
    let (key, _) = finish(first.execute(say(&agent, "go")).await.unwrap()).await;
    drop(first);

    // The approving process need not know the agent.
    let front = agentless(&store);
    let asked = only_pending(&front, &key).await;
    front.approve(&key, &asked, Approval::by("ann")).await.unwrap();
    let again = Arc::new(treasurer(&[500], &paid).build().unwrap());
    let second = runtime(&store, &again);
    assert_eq!(second.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(sums(&paid), [500]);
}

#[tokio::test(start_paused = true)]
async fn of_the_word_of_the_tool_and_that_of_the_gate_the_stricter_counts() {
    // A denial by the gate wins over the tool's question.
    let paid = Paid::default();
    let gate = RuleGate::new(vec![ApprovalRule::new("pay", RuleAction::Deny)]);
    let (agent, _, runtime) = build(treasurer(&[500], &paid).gate(gate));
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Denied);

    // The gate asks for two approvals, so two are needed. The prompt gives both reasons.
    let two = Approvers::of(Vec::<String>::new(), 2);
    let two = ApprovalTerms::default().approvers(two);
    let (agent, _, runtime) = build(treasurer(&[500], &paid).gate(asks("pay", two)));
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let asked = runtime.pending(&key).await.unwrap().remove(0);
    assert_eq!(asked.body.prompt.as_deref(), Some("money leaves the house; 500 euros are a lot"));
    runtime.approve(&key, asked.id(), Approval::by("ann")).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    assert_eq!(sums(&paid), [0; 0], "one is not enough");

    // The second person edits the sum: whoever approved the old sum is asked again, with the reason for the new one.
    let more = Approval::by("bob").editing(r#"{"euros":600}"#);
    runtime.approve(&key, asked.id(), more).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    let asked = runtime.pending(&key).await.unwrap().remove(0);
    assert_eq!(asked.body.prompt.as_deref(), Some("money leaves the house; 600 euros are a lot"));
    runtime.approve(&key, asked.id(), Approval::by("ann")).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(sums(&paid), [600]);
}

#[tokio::test(start_paused = true)]
async fn that_nobody_decides_in_time_does_not_let_a_call_run_that_its_tool_asks_about() {
    let paid = Paid::default();
    let silence_is_a_yes = ApprovalTerms::default().at_expiry(AtExpiry::Approve);
    let gate = asks("pay", silence_is_a_yes);
    let (agent, _, runtime) = build(treasurer(&[100, 500], &paid).gate(gate));
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(sums(&paid), [0; 0]);
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    tokio::time::sleep(Duration::from_secs(24 * 60 * 60)).await;
    assert_eq!(runtime.resume(&key).await.unwrap().outcome().await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(sums(&paid), [100]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_below_the_bound_runs_and_an_approval_for_the_session_covers_the_condition() {
    let paid = Paid::default();
    let (agent, _, runtime) = build(treasurer(&[500, 700], &paid));
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let asked = runtime.pending(&key).await.unwrap();
    assert_eq!(asked.len(), 2);
    let unfit = Approval::by("ann").editing(r#"{"euros":"a few"}"#);
    let refused = runtime.approve(&key, asked[0].id(), unfit).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Unfit { .. }), "{refused}");
    let less = Approval::by("ann").editing(r#"{"euros":50}"#);
    runtime.approve(&key, asked[0].id(), less).await.unwrap();
    runtime.approve(&key, asked[1].id(), Approval::by("ann").always()).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(sums(&paid), [50, 700]);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_panics_denies() {
    let paid = Paid::default();
    let script = Script::calling(vec![("pay", r#"{"euros":1}"#)]);
    let broken = pay(&paid).ask_if(|_| -> Option<String> { panic!("no bound is known") });
    let (agent, _, runtime) = build(agent(&script).tool(broken));
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let (status, why) = only_result(&runtime, &key).await;
    assert_eq!(status, ResultStatus::Denied);
    assert!(why.contains("no bound is known"), "{why}");
    assert_eq!(sums(&paid), [0; 0]);
}

/// A model that asks for a payment, and takes a second before each event of its answer.
struct Slow;

#[async_trait]
impl Model for Slow {
    fn name(&self) -> &str {
        "test:slow"
    }

    async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
        let events = ModelAnswer::text("").call("pay", json!({ "euros": 500 })).into_stream();
        let slowly = events.then(|event| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            event
        });
        Ok(slowly.boxed())
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_about_which_its_tool_asks_does_not_begin_early() {
    let paid = Paid::default();
    let look = pay(&paid).effect(EffectClass::ReadOnly);
    let (agent, _, runtime) = build(Agent::builder("reader").model(Slow).tool(look).early_reads(true));
    let (_, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    assert_eq!(sums(&paid), [0; 0]);
}
