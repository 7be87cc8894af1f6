//! Records the histories that the unit tests replay.

use std::path::Path;

use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::ids::SessionKey;
use holdover_core::tool::EffectClass;
use holdover_runtime_local::Approval;
use holdover_runtime_temporal::{TemporalOptions, workflow_id_of};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, Url, WorkflowFetchHistoryOptions,
};
use temporalio_common::UntypedWorkflow;

use crate::bench::{Server, Serving, begin, file_store, key, pending, runtime};
use crate::cast::{Caller, Pay, agent};

/// Writes `tests/histories`. Run it after an intended change of the workflow, and keep the old files: workflows of the
/// version before must go on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes committed files"]
async fn record() {
    let server = Server::new();
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
        save(&temporal, key).await;
    }
    serving.end().await;
}

/// Saves a history as the SDK writes it, which is not how Temporal's own program shows it.
async fn save(temporal: &TemporalOptions, key: &SessionKey) {
    let target: Url =
        temporal.address().replace("temporal://", "http://").replace("/default", "").parse().unwrap();
    let connection = Connection::connect(ConnectionOptions::new(target).build()).await.unwrap();
    let client = Client::new(connection, ClientOptions::new("default").build()).unwrap();
    let workflow = client.get_workflow_handle::<UntypedWorkflow>(workflow_id_of(key));
    let history = workflow.fetch_history(WorkflowFetchHistoryOptions::default()).to_json().await.unwrap();
    let history: serde_json::Value = serde_json::from_slice(&history).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{}.json", key.id));
    std::fs::write(file, serde_json::to_string_pretty(&history).unwrap() + "\n").unwrap();
}
