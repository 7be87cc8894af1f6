//! The tools that every flow has, and the gate that carries out its approvals.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::gate::{GateError, GateQuestion, PolicyGate, Verdict};
use holdover_core::ids::{InvalidId, ToolName};
use holdover_core::time::Timestamp;
use holdover_core::tool::{
    Bound, EffectClass, ResourceProfile, RunsOn, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
use holdover_runtime_local::ClientTool;
use serde_json::{Value, json};

use crate::approval::Asked;
use crate::signal::Awaited;

/// The tool with which a flow waits.
pub(crate) const SLEEP: &str = "flow_sleep";
/// The tool with which a flow asks for an approval.
pub(crate) const APPROVE: &str = "flow_approve";
/// The tool with which a flow asks a question.
pub(crate) const ASK: &str = "flow_ask";

/// The tool with which a flow waits for a signal.
pub(crate) const WAIT: &str = "flow_signal";

/// The text of an approval that nobody gave or refused in time.
pub(crate) const TIMED_OUT: &str = "timed out";

/// Returns the tools that every flow has.
pub(crate) fn tools() -> Result<Vec<Arc<dyn Tool>>, InvalidId> {
    Ok(vec![
        Arc::new(Sleep(spec(SLEEP, "Waits until an instant", RunsOn::Server)?)),
        Arc::new(Approve(spec(APPROVE, "Asks people for an approval", RunsOn::Server)?)),
        Arc::new(Wait(spec(WAIT, "Waits for a signal", RunsOn::Server)?)),
        Arc::new(ClientTool::new(ToolSpec {
            timeout_ms: Some(Bound::Never),
            ..spec(ASK, "Asks whoever follows the session", RunsOn::Client)?
        })),
    ])
}

/// Returns the spec of a tool that reads only and needs no resources.
fn spec(name: &str, description: &str, runs_on: RunsOn) -> Result<ToolSpec, InvalidId> {
    Ok(ToolSpec {
        name: ToolName::new(name)?,
        description: description.to_owned(),
        parameters: json!({ "type": "object" }),
        effect: EffectClass::ReadOnly,
        dangerous: false,
        runs_on,
        timeout_ms: None,
    })
}

struct Sleep(ToolSpec);

#[async_trait]
impl Tool for Sleep {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        let until = call.arguments.get("until").and_then(Value::as_i64);
        let until = until.ok_or_else(|| ToolError::failed("until: expected an instant in milliseconds"))?;
        Ok(ToolReturn::At { instant: Timestamp::from_ms(until), output: ToolOutput::text("slept") })
    }
}

/// The tool that waits for a signal.
struct Wait(ToolSpec);

#[async_trait]
impl Tool for Wait {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        let awaited: Awaited = serde_json::from_value(call.arguments).map_err(ToolError::failed)?;
        let name = awaited.name().map_err(ToolError::Failed)?;
        Ok(ToolReturn::Signal { name, within: awaited.within_ms.map(Duration::from_millis) })
    }
}

/// The tool that runs once an approval is given.
struct Approve(ToolSpec);

#[async_trait]
impl Tool for Approve {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        Ok(ToolOutput::text("approved").into())
    }
}

/// Asks people on the terms of the flow if it wants an approval, and allows the waits of the code. Asks the gate of the flow
/// about all other calls.
pub(crate) struct FlowGate {
    pub(crate) inner: Arc<dyn PolicyGate>,
}

#[async_trait]
impl PolicyGate for FlowGate {
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError> {
        match question.tool.as_str() {
            APPROVE => {}
            SLEEP | WAIT | ASK => return Ok(Verdict::Allow),
            _ => return self.inner.consult(question).await,
        }
        let asked: Asked =
            serde_json::from_str(&question.arguments).map_err(|error| GateError(error.to_string()))?;
        if question.is_approved_on(&asked.terms) {
            return Ok(Verdict::Allow);
        }
        Ok(Verdict::NeedsApproval { prompt: Some(asked.approve), terms: asked.terms })
    }
}
