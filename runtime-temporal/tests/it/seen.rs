//! What Temporal shows, by its own program.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holdover_core::ids::SessionKey;
use holdover_runtime_temporal::{STATUS_ATTRIBUTE, workflow_id_of};
use serde_json::Value;

use crate::bench::{PATIENCE, Server, until, until_within};

impl Server {
    /// Runs Temporal's own program with these arguments. Returns its output as JSON, or the last line of its errors.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<Value, String> {
        let output = self
            .temporal
            .client()
            .args(arguments)
            .args(["--output", "json", "--address", &self.temporal.address()])
            .output()
            .unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    /// Returns the session's latest workflow, or `None` if there never was one.
    pub(crate) fn workflow(&self, key: &SessionKey) -> Option<Value> {
        self.ask(&["workflow", "describe", "--workflow-id", &workflow_id_of(key)]).ok()
    }

    /// Returns the history of the session's latest workflow.
    pub(crate) fn history(&self, key: &SessionKey) -> Value {
        self.ask(&["workflow", "show", "--workflow-id", &workflow_id_of(key)]).unwrap()
    }

    /// Waits until the session's latest workflow has this status of Temporal.
    pub(crate) async fn becomes(&self, key: &SessionKey, status: &str) {
        let wanted = format!("WORKFLOW_EXECUTION_STATUS_{status}");
        until(&wanted.clone(), async || (status_of(&self.workflow(key)?) == wanted).then_some(())).await;
    }

    /// Returns the status of the session that a listed workflow shows.
    pub(crate) fn status_attribute(workflow: &Value) -> String {
        let data = workflow["searchAttributes"]["indexedFields"][STATUS_ATTRIBUTE]["data"].as_str();
        let json = STANDARD.decode(data.unwrap_or_default()).unwrap();
        serde_json::from_slice(&json).unwrap()
    }

    /// Waits until so many workflows match the query.
    pub(crate) async fn counts(&self, query: &str, wanted: u64) {
        self.counts_within(PATIENCE, query, wanted).await;
    }

    /// As [`counts`](Self::counts), for at most this time.
    pub(crate) async fn counts_within(&self, patience: Duration, query: &str, wanted: u64) {
        until_within(patience, query, async || {
            let counted = self.ask(&["workflow", "count", "--query", query]).ok()?;
            let count = counted["count"].as_str().map_or(Some(0), |count| count.parse().ok())?;
            (count == wanted).then_some(())
        })
        .await;
    }
}

pub(crate) fn status_of(described: &Value) -> String {
    described["workflowExecutionInfo"]["status"].as_str().unwrap_or_default().to_owned()
}
