//! Tools of an MCP server as the steps of a flow.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use holdover_core::engine::RunOutcome;
use holdover_core::ids::TenantId;
use holdover_flow::{Cx, Flow, StepError, Stop};
use holdover_mcp::{McpClient, McpServer};
use holdover_runtime_local::{Agents, Runtime, RuntimeOptions};
use holdover_store_memory::MemoryStore;
use serde_json::json;

/// Returns a server that writes what it is told to `record`, and whose hints are believed.
fn server(record: &Path) -> McpServer {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server.mjs");
    let line = format!("RECORD='{}' exec node '{}'", record.display(), script.display());
    let server = json!({ "name": "test", "command": ["/bin/sh", "-c", line], "trusted": true });
    serde_json::from_value(server).unwrap()
}

/// Says something, puts it, and calls two tools that do not return a value.
async fn talk(cx: Cx, text: String) -> Result<(String, String, String, String), Stop> {
    let said = cx.call("mcp__test__echo", &json!({ "text": text })).await?;
    let put = cx.call("mcp__test__put", &json!({ "text": said })).await?;
    let failed = match cx.call("mcp__test__fail", &json!({})).await {
        Err(StepError::Failed { why, .. }) => why,
        other => other?,
    };
    let died = match cx.call("mcp__test__die", &json!({})).await {
        Err(StepError::InDoubt { .. }) => "in doubt".to_owned(),
        other => other?,
    };
    Ok((said, put, failed, died))
}

#[tokio::test]
async fn a_flow_calls_the_tools_of_a_server_and_the_dangerous_ones_are_approved() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let client = Arc::new(McpClient::new(server(&record)).unwrap());
    let specs = client.discover().await.unwrap();
    let flow = Flow::builder("talk", talk).tools(specs.into_iter().map(|spec| client.tool(spec)));
    let flow = flow.build().unwrap();
    let options = RuntimeOptions::default().effects_override(Some("memory".into()));
    let runtime = Runtime::new(MemoryStore::new(), Agents::new().with(Arc::clone(flow.agent())), options);
    let request = flow.execute(TenantId::new("acme").unwrap(), &"hello".to_owned()).unwrap();
    let mut run = runtime.execute(request).await.unwrap();
    let key = run.key().clone();

    // Each approval parks the flow, and a new run tells the code again what the server has said.
    let mut approved = Vec::new();
    while let Some(RunOutcome::Suspended(_)) = run.first_outcome().await.unwrap() {
        let asked = runtime.pending(&key).await.unwrap().remove(0);
        approved.push(asked.body.tool.as_str().to_owned());
        runtime.approve(&key, asked.id(), "ann").await.unwrap();
        run = runtime.resume(&key).await.unwrap();
    }
    assert_eq!(approved, ["mcp__test__fail", "mcp__test__die"], "echo and put say that they are harmless");
    let text = runtime.last_text(&key).await.unwrap().unwrap();
    assert_eq!(text, r#"["you said hello","put","it is broken","in doubt"]"#);

    let record = std::fs::read_to_string(&record).unwrap();
    let calls: Vec<(&str, &str)> =
        record.lines().filter_map(|line| line.strip_prefix("call ")?.split_once(' ')).collect();
    let tools: Vec<&str> = calls.iter().map(|(tool, _)| *tool).collect();
    assert_eq!(tools, ["echo", "put", "fail", "die"], "each was called once");
    let keys: BTreeSet<&str> = calls.iter().map(|(_, key)| *key).filter(|key| *key != "undefined").collect();
    assert_eq!(keys.len(), 4, "each call has its own key: {calls:?}");
}
