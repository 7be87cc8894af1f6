//! The agents with which sessions can be started.

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Here, operation};
use crate::access::{By, ToRead};
use crate::desk::Desk;
use crate::wire::Page;

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route("/agents", get_with(list, operation!("listAgents", "agents", "Lists the agents.")))
}

/// An agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Agent")]
struct AgentView {
    /// The name.
    name: String,
    /// The version, if the agent has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The tools.
    tools: Vec<ToolView>,
}

/// A tool of an agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tool")]
struct ToolView {
    /// The name.
    name: String,
    /// The description of the tool, as the model reads it.
    description: String,
    /// The JSON Schema of the arguments.
    parameters: serde_json::Value,
    /// True if a client runs the tool.
    is_client: bool,
}

async fn list(State(desk): Here, _: By<ToRead>) -> Answer<Json<Page<AgentView>>> {
    let agents = desk.offered().map(|agent| AgentView {
        name: agent.spec().name.clone(),
        version: agent.version().map(str::to_owned),
        tools: agent
            .spec()
            .tools
            .iter()
            .map(|tool| ToolView {
                name: tool.name.to_string(),
                description: tool.description.clone(),
                parameters: tool.parameters.clone(),
                is_client: tool.runs_on == holdover_core::tool::RunsOn::Client,
            })
            .collect(),
    });
    Ok(Json(Page { items: agents.collect(), next: None }))
}
