//! Calls on which several people decide, from any process.
//!
//! Requirements: U05.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::gate::{
    ApprovalRule, ApprovalTerms, Approvers, AtExpiry, Escalation, RuleAction, RuleGate,
};
use holdover_core::ids::{PendingId, SessionKey};
use holdover_core::message::ResultStatus;
use holdover_core::store::{OutcomeKind, PendingQuery, SessionStatus};
use holdover_core::tool::Bound;
use holdover_runtime_local::{
    Agent, Approval, Delivered, Denial, Runtime, RuntimeError, RuntimeErrorKind, WorkerOptions,
};
use holdover_store_memory::MemoryStore;

use crate::bench::{agent, finish, only_pending, only_result, runtime, say, store, tenant, worker};
use crate::script::Script;
use crate::tools::Fake;

fn two_of(names: &[&str]) -> ApprovalTerms {
    ApprovalTerms::default().approvers(Approvers::of(names.iter().copied(), 2))
}

struct Scene {
    tool: Fake,
    agent: Arc<Agent>,
    store: MemoryStore,
    runtime: Runtime,
    key: SessionKey,
    pending: PendingId,
}

/// Runs a session until its only call waits for people.
async fn waiting(terms: ApprovalTerms) -> Scene {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let gate = RuleGate::new(vec![ApprovalRule::new("pay", RuleAction::Ask).on_terms(terms)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(gate).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let pending = only_pending(&runtime, &key).await;
    Scene { tool, agent, store, runtime, key, pending }
}

impl Scene {
    async fn approve(&self, name: &str) -> Result<Delivered, RuntimeError> {
        let approval = Approval::by(name);
        self.runtime.approve(&self.key, &self.pending, approval).await
    }
}

#[tokio::test(start_paused = true)]
async fn u05_two_of_three_approve_and_the_list_shows_who_has_and_who_may() {
    let scene = waiting(two_of(&["ann", "bob", "eve"])).await;
    let Scene { runtime, key, pending, .. } = &scene;
    let stranger = scene.approve("mallory").await.unwrap_err();
    assert_eq!(stranger.kind(), RuntimeErrorKind::Conflict);
    assert!(stranger.to_string().ends_with("mallory may not decide on it, only ann, bob, eve"), "{stranger}");
    let nobody = runtime.approve(key, pending, Approval::default()).await;
    assert!(matches!(nobody, Err(RuntimeError::NotApprover { by: None, .. })), "{nobody:?}");
    let no = runtime.deny(key, pending, Denial::by("mallory")).await;
    assert!(matches!(no, Err(RuntimeError::NotApprover { .. })), "{no:?}");

    assert_eq!(scene.approve("bob").await.unwrap(), Delivered::Accepted);
    assert_eq!(scene.approve("bob").await.unwrap(), Delivered::Duplicate, "a person is counted once");
    let because = Approval::by("bob").because("again");
    assert_eq!(runtime.approve(key, pending, because).await.unwrap(), Delivered::Duplicate);
    let session = runtime.session(key).await.unwrap().unwrap();
    assert_eq!((session.status, scene.tool.calls().len()), (SessionStatus::Suspended, 0));
    let listed = runtime.list_pending(&PendingQuery::all(tenant())).await.unwrap().items.remove(0);
    let deciders = listed.deciders.clone().unwrap();
    assert_eq!((deciders.needed, deciders.approved), (2, vec!["bob".to_owned()]));
    assert_eq!(deciders.may, ["ann", "bob", "eve"]);
    let shown = serde_json::to_value(&listed).unwrap();
    assert_eq!(shown["deciders"]["approved"], serde_json::json!(["bob"]));

    assert_eq!(scene.approve("eve").await.unwrap(), Delivered::Accepted);
    assert_eq!(runtime.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!((scene.tool.calls().len(), only_result(runtime, key).await.0), (1, ResultStatus::Done));
    assert_eq!(
        scene.approve("bob").await.unwrap(),
        Delivered::Duplicate,
        "he says it again when all is over"
    );
    let late = scene.approve("ann").await;
    assert!(matches!(late, Err(RuntimeError::NotPending { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn u05_an_edit_by_one_of_them_is_shown_to_the_others_under_a_new_id() {
    let scene = waiting(two_of(&["ann", "bob"])).await;
    let Scene { runtime, key, pending, .. } = &scene;
    scene.approve("ann").await.unwrap();
    let edit = Approval::by("bob").editing(r#"{"n":5}"#);
    runtime.approve(key, pending, edit).await.unwrap();
    assert_eq!(runtime.wait(key).await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    let again = runtime.pending(key).await.unwrap().remove(0);
    assert_ne!(again.id(), pending);
    assert_eq!(again.body.arguments, r#"{"n":5}"#);
    assert_eq!(again.deciders.as_ref().unwrap().approved, ["bob"], "ann approved other bytes");
    let bob = Approval::by("bob");
    assert_eq!(runtime.approve(key, again.id(), bob).await.unwrap(), Delivered::Duplicate);
    let ann = Approval::by("ann");
    assert_eq!(runtime.approve(key, again.id(), ann).await.unwrap(), Delivered::Accepted);
    assert_eq!(runtime.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
    let sent: Vec<_> = scene.tool.calls().into_iter().map(|call| call.arguments).collect();
    assert_eq!(sent, [serde_json::json!({ "n": 5 })]);
}

#[tokio::test(start_paused = true)]
async fn u05_a_worker_escalates_at_its_instant_and_applies_the_default_by_itself() {
    let escalate = Escalation::new(60_000, ["eve"]);
    let terms = ApprovalTerms::default()
        .approvers(Approvers::of(["ann"], 1))
        .escalate(vec![escalate])
        .expires_after_ms(Some(Bound::At(120_000)))
        .at_expiry(AtExpiry::Result("nobody was there".into()));
    let scene = waiting(terms).await;
    let Scene { runtime, key, .. } = &scene;
    let elsewhere = runtime_of(&scene);
    let _worker = worker(&elsewhere, WorkerOptions::default());
    let early = scene.approve("eve").await;
    assert!(matches!(early, Err(RuntimeError::NotApprover { .. })), "{early:?}");
    tokio::time::sleep(Duration::from_secs(62)).await;
    let deciders = runtime.pending(key).await.unwrap().remove(0).deciders.unwrap();
    assert_eq!((deciders.may, deciders.later), (vec!["ann".to_owned(), "eve".to_owned()], vec![]));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(runtime.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(only_result(runtime, key).await, (ResultStatus::Done, "nobody was there".into()));
    assert_eq!(scene.tool.calls(), []);
}

fn runtime_of(scene: &Scene) -> Runtime {
    runtime(&scene.store, &scene.agent)
}
