//! Replays recorded histories: workflows that a former version began must go on with this one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::time::Duration;

use temporalio_client::WorkflowHistory;
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use super::SessionWorkflow;

#[tokio::test]
async fn recorded_histories_are_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let history = WorkflowHistory::from_json(&std::fs::read(&file).unwrap()).unwrap();
        let options = WorkflowReplayerOptions::new()
            .register_workflow_with_factory(|| SessionWorkflow::new(Duration::from_secs(30)))
            .unwrap()
            .build();
        let replayed = WorkflowReplayer::new(options).unwrap().replay_workflow(history).await;
        assert!(replayed.is_ok(), "{}: {}", file.display(), replayed.unwrap_err());
    }
}
