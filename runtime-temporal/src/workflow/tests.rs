//! Replays recorded histories: workflows that a former version began must go on with this one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use temporalio_client::WorkflowHistory;
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use super::SessionWorkflow;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

#[tokio::test]
async fn recorded_histories_are_replayed() {
    let folder = folder();
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

/// Returns the kinds of the events of a recorded history, and the attributes of the last one.
fn recorded(name: &str) -> (Vec<String>, Value) {
    let history = std::fs::read(folder().join(name)).unwrap();
    let history: Value = serde_json::from_slice(&history).unwrap();
    let events = history["events"].as_array().unwrap().iter();
    let events = events.map(|event| event["attributes"].as_object().unwrap().iter().next().unwrap());
    let (kinds, attributes): (Vec<_>, Vec<_>) = events
        .map(|(kind, attributes)| (kind.trim_end_matches("EventAttributes").to_owned(), attributes))
        .unzip();
    (kinds, attributes.last().map(|last| (*last).clone()).unwrap())
}

/// A file that is recorded anew must still contain the rare case for which it is there.
#[test]
fn the_recorded_histories_continue_move_and_are_woken_while_they_serve() {
    for (name, queue) in [("continued.json", "holdover:recorded"), ("moved.json", "holdover:new")] {
        let (kinds, last) = recorded(name);
        assert_eq!(kinds.last().unwrap(), "WorkflowExecutionContinuedAsNew", "{name}");
        assert_eq!(last["task_queue"]["name"], queue, "{name}");
    }
    for name in ["continued-2.json", "moved-2.json"] {
        let (kinds, _) = recorded(name);
        assert_eq!(kinds.last().unwrap(), "WorkflowExecutionCompleted", "{name}");
    }
    let (kinds, _) = recorded("woken.json");
    let mut rest = kinds.iter().map(String::as_str);
    for kind in [
        "ActivityTaskScheduled",
        "WorkflowExecutionSignaled",
        "ActivityTaskCompleted",
        "ActivityTaskScheduled",
        "WorkflowExecutionCompleted",
    ] {
        assert!(rest.any(|next| next == kind), "no {kind} where it belongs: {kinds:?}");
    }
    assert_eq!(kinds.iter().filter(|kind| *kind == "TimerStarted").count(), 0, "served again at once");
}
