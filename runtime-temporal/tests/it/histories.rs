//! Records the histories that the unit tests replay.

use std::path::Path;

use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::ids::SessionKey;
use holdover_core::store::Deletion;
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{Approval, Engine, Known, Runtime, WakeUp};
use holdover_runtime_temporal::{TemporalEngine, workflow_id_of};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, Url, WorkflowExecutionInfo,
    WorkflowFetchHistoryOptions,
};

use crate::bench::{Server, Serving, begin, file_store, key, pending, runtime, until};
use crate::cast::{Caller, Pay, agent};

/// Writes the files of `tests/histories` that do not exist. Run it after an intended change of the workflow, and keep the old
/// files: workflows of the version before must go on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes committed files"]
async fn record() {
    let server = Server::new();
    answered(&server).await;
    continued(&server).await;
    moved(&server).await;
    woken(&server).await;
}

/// A session with a back-off whose call is approved, and one whose workflow is cancelled.
async fn answered(server: &Server) {
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let model = Caller { failures: 1, ..Caller::default() };
    let agent = agent("recorded", model, &tool, vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let (approved, cancelled) = (key("recorded", "approved"), key("recorded", "cancelled"));
    for key in [&approved, &cancelled] {
        begin(&runtime, &agent, key).await;
        let asked = pending(&runtime, key).await;
        server.counts("HoldoverStatus='suspended'", 1).await;
        if *key == approved {
            runtime.approve(key, &asked, Approval::by("ada")).await.unwrap();
            server.becomes(key, "COMPLETED").await;
        } else {
            server
                .ask(&["workflow", "cancel", "--identity", "ada", "--workflow-id", &workflow_id_of(key)])
                .unwrap();
            server.becomes(key, "CANCELED").await;
        }
        save(server, key, 1).await;
    }
    serving.end().await;
}

/// A session whose workflow continues as a new one, because of its events.
async fn continued(server: &Server) {
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options().events_max(20));
    let rules = vec![ApprovalRule::new("pay", RuleAction::Ask)];
    let agent = agent("recorded", Caller::default(), &Pay::new(EffectClass::AtMostOnce), rules);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("recorded", "continued");
    begin(&runtime, &agent, &key).await;
    let asked = pending(&runtime, &key).await;
    let engine = TemporalEngine::new(temporal);
    until("a workflow that continues", async || {
        engine.wake(&wake_up(&runtime, &key).await).await.unwrap();
        (server.runs(&key).len() == 2).then_some(())
    })
    .await;
    runtime.approve(&key, &asked, Approval::by("ada")).await.unwrap();
    server.becomes(&key, "COMPLETED").await;
    save(server, &key, 2).await;
    serving.end().await;
}

/// A session that is deleted and created again with another agent.
async fn moved(server: &Server) {
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let rules = vec![ApprovalRule::new("pay", RuleAction::Ask)];
    let (old, new) =
        (agent("old", Caller::default(), &tool, rules), agent("new", Caller::default(), &tool, vec![]));
    let store = file_store(folder.path()).await;
    let (of_old, of_new) = (runtime(&store, &old, &temporal), runtime(&store, &new, &temporal));
    let first = Serving::begin(&of_old, &temporal);
    let key = key("recorded", "moved");
    begin(&of_old, &old, &key).await;
    pending(&of_old, &key).await;
    server.counts("TaskQueue='holdover:old' AND HoldoverStatus='suspended'", 1).await;
    first.end().await;
    of_new.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();
    begin(&of_new, &new, &key).await;
    let of_old = runtime(&store, &old, &temporal);
    let (old, new) = (Serving::begin(&of_old, &temporal), Serving::begin(&of_new, &temporal));
    server.becomes(&key, "COMPLETED").await;
    save(server, &key, 2).await;
    old.end().await;
    new.end().await;
}

/// A session that is woken while it is served, and then has nothing to do.
async fn woken(server: &Server) {
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::held(EffectClass::AtMostOnce);
    let agent = agent("recorded", Caller::default(), &tool, vec![]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("recorded", "woken");
    begin(&runtime, &agent, &key).await;
    tool.called(1).await;
    TemporalEngine::new(temporal).wake(&wake_up(&runtime, &key).await).await.unwrap();
    tool.let_go();
    server.becomes(&key, "COMPLETED").await;
    save(server, &key, 1).await;
    serving.end().await;
}

async fn wake_up(runtime: &Runtime, key: &SessionKey) -> WakeUp {
    WakeUp::new(key.clone(), Some(Known::from(&runtime.session(key).await.unwrap().unwrap())))
}

impl Server {
    /// Returns the ids of the session's workflows in Temporal, in the order in which they began.
    fn runs(&self, key: &SessionKey) -> Vec<String> {
        let query = format!("WorkflowId='{}'", workflow_id_of(key));
        let listed = self.ask(&["workflow", "list", "--query", &query]).unwrap();
        let mut runs: Vec<_> = listed.as_array().cloned().unwrap_or_default();
        runs.sort_by_key(|run| run["startTime"].to_string());
        runs.iter().map(|run| run["execution"]["runId"].as_str().unwrap().to_owned()).collect()
    }
}

/// Saves the histories of the session's workflows, of which there are so many, as the SDK writes them. Temporal's own program
/// shows them in another form.
async fn save(server: &Server, key: &SessionKey, runs: usize) {
    let target: Url = format!("http://{}", server.temporal.address()).parse().unwrap();
    let connection = Connection::connect(ConnectionOptions::new(target).build()).await.unwrap();
    let client = Client::new(connection, ClientOptions::new("default").build()).unwrap();
    let runs = until("all runs", async || Some(server.runs(key)).filter(|all| all.len() == runs)).await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    std::fs::create_dir_all(&folder).unwrap();
    for (number, run) in runs.iter().enumerate() {
        let part = if number == 0 { String::new() } else { format!("-{}", number + 1) };
        let file = folder.join(format!("{}{part}.json", key.id));
        if file.exists() {
            continue;
        }
        let info = WorkflowExecutionInfo::builder().namespace("default").workflow_id(workflow_id_of(key));
        let workflow = info.run_id(run.clone()).build().bind_untyped(client.clone());
        let history = workflow.fetch_history(WorkflowFetchHistoryOptions::default()).to_json().await.unwrap();
        let history: serde_json::Value = serde_json::from_slice(&history).unwrap();
        std::fs::write(file, serde_json::to_string_pretty(&history).unwrap() + "\n").unwrap();
    }
}
