//! The tools with which a model manages its background children. The run of the session performs these calls itself,
//! because they need the state of the session.

use async_trait::async_trait;
use holdover_core::background::ChildTool;
use holdover_core::ids::{InvalidId, ToolName};
use holdover_core::tool::{
    Access, EffectClass, ResourceProfile, RunsOn, Tool, ToolCall, ToolError, ToolReturn, ToolSpec,
};
use serde_json::{Value, json};

/// The resource that calls about background children touch, except those that wait for them.
const CHILDREN: &str = "holdover:children";

/// Returns the spec of this tool.
pub(crate) fn spec(tool: ChildTool) -> Result<ToolSpec, InvalidId> {
    let id = json!({ "type": "string", "description": "The id of the child." });
    let (description, properties, required): (_, Value, &[&str]) = match tool {
        ChildTool::List => (
            "Lists your background children: their ids, who they are, and whether they still run.",
            json!({}),
            &[],
        ),
        ChildTool::Status => (
            "Shows one of your background children: whether it still runs, what it has used, and its last words.",
            json!({ "id": id }),
            &["id"],
        ),
        ChildTool::Send => (
            "Sends a message to one of your background children. It reads it in its next step, or begins anew if it had \
             ended. You are told when it ends.",
            json!({ "id": id, "text": { "type": "string", "minLength": 1 } }),
            &["id", "text"],
        ),
        ChildTool::Wait => (
            "Waits until background children have ended, and returns their last words.",
            json!({
                "ids": {
                    "type": "array",
                    "items": { "type": "string" },
                    "minItems": 1,
                    "description": "Which to wait for. All that run if left out."
                },
                "first": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "How many of them to wait for. All if left out."
                },
                "timeout_s": { "type": "integer", "minimum": 1, "description": "How many seconds to wait at most." }
            }),
            &[],
        ),
        ChildTool::Stop => ("Stops one of your background children for ever.", json!({ "id": id }), &["id"]),
    };
    let effect = match tool {
        ChildTool::List | ChildTool::Status | ChildTool::Wait => EffectClass::ReadOnly,
        ChildTool::Send | ChildTool::Stop => EffectClass::Idempotent,
    };
    Ok(ToolSpec {
        name: ToolName::new(tool.name())?,
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        }),
        effect,
        dangerous: false,
        runs_on: if tool == ChildTool::Wait { RunsOn::Child } else { RunsOn::Server },
        timeout_ms: None,
    })
}

/// Returns the resources that a call of this tool touches.
pub(crate) fn profile(tool: ChildTool) -> ResourceProfile {
    match tool {
        ChildTool::List | ChildTool::Status => ResourceProfile::key(CHILDREN, Access::Read),
        ChildTool::Send | ChildTool::Stop => ResourceProfile::key(CHILDREN, Access::Write),
        ChildTool::Wait => ResourceProfile::Keys(Vec::new()),
    }
}

/// A tool for background children, as the gate and the model see it. The run performs its calls.
pub(super) struct OfChildren {
    tool: ChildTool,
    spec: ToolSpec,
}

impl OfChildren {
    pub(super) fn new(tool: ChildTool) -> Result<Self, InvalidId> {
        Ok(Self { tool, spec: spec(tool)? })
    }
}

#[async_trait]
impl Tool for OfChildren {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        profile(self.tool)
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        Err(ToolError::NotRun(format!("{} is done by the run of the session", self.spec.name)))
    }
}
