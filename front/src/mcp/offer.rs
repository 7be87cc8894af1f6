//! A tool, as it is offered to clients.

use std::any::Any;
use std::sync::Arc;

use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::host::Host;
use crate::access::May;
use crate::openapi::tidy;
use crate::problem::Problem;

/// The answer of a tool.
pub(super) type Answer = Result<CallToolResponse, Problem>;

/// A tool. The dispatcher checks the permissions before it runs the tool, so no tool can forget to ask.
pub(super) struct Offer {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// The permissions that the caller must have.
    pub(super) needs: &'static [May],
    pub(super) effect: Effect,
    pub(super) takes: fn() -> Arc<JsonObject>,
    pub(super) gives: fn() -> Arc<JsonObject>,
    pub(super) run: for<'a> fn(&'a Host, Call) -> BoxFuture<'a, Answer>,
}

/// The effect of a tool, as clients are told of it.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// It changes nothing.
    Reads,
    /// A repeat changes nothing more.
    Repeatable,
    /// It adds something.
    Adds,
    /// It may release an action, or end work. A repeat changes nothing more.
    Final,
}

impl Offer {
    /// Returns the tool as clients are told of it.
    pub(super) fn told(&self) -> Tool {
        let hints = ToolAnnotations::with_title(self.title);
        let hints = match self.effect {
            Effect::Reads => hints.read_only(true).open_world(false),
            Effect::Repeatable => {
                hints.read_only(false).destructive(false).idempotent(true).open_world(false)
            }
            Effect::Adds => hints.read_only(false).destructive(false).idempotent(false).open_world(true),
            Effect::Final => hints.read_only(false).destructive(true).idempotent(true).open_world(true),
        };
        Tool::new(self.name, self.description, (self.takes)())
            .with_title(self.title)
            .with_raw_output_schema((self.gives)())
            .with_annotations(hints)
    }
}

/// A call of a tool.
pub(super) struct Call {
    pub(super) request: CallToolRequestParams,
    pub(super) context: RequestContext<RoleServer>,
}

impl Call {
    /// Returns the arguments.
    pub(super) fn arguments<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let arguments = self.request.arguments.clone().unwrap_or_default();
        serde_json::from_value(Value::Object(arguments))
            .map_err(|why| Problem::invalid(format!("arguments: {why}")))
    }
}

/// Returns the answer with this content.
pub(super) fn given(content: impl Serialize) -> Answer {
    let content = serde_json::to_value(content).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written");
        Problem::fault()
    })?;
    Ok(CallToolResult::structured(content).into())
}

/// Returns the answer that tells a problem. The model of the client reads it.
pub(super) fn refused(problem: &Problem) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(problem.line())]).into()
}

/// Returns the schema of what a tool takes.
pub(super) fn taken<T: JsonSchema + Any>() -> Arc<JsonObject> {
    schema::<T>(SchemaSettings::draft2020_12())
}

/// Returns the schema of what a tool gives. Only its own fields are described: clients may show all schemas to their models, so
/// they are short.
pub(super) fn told<T: JsonSchema + Any>() -> Arc<JsonObject> {
    let mut schema = Arc::unwrap_or_clone(schema::<T>(SchemaSettings::draft2020_12().for_serialize()));
    if let Some(below) = schema.get_mut("$defs") {
        without_descriptions(below);
    }
    Arc::new(schema)
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    without_widths(&mut schema);
    let mut schema = match schema {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    };
    // The name of a type of this program, and a sentence that the description of the tool says already.
    schema.remove("title");
    schema.remove("description");
    Arc::new(schema)
}

fn without_descriptions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A field can have this name, too. Its schema is no text.
            if fields.get("description").is_some_and(Value::is_string) {
                fields.remove("description");
            }
            fields.values_mut().for_each(without_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_descriptions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes the widths of numbers, such as `uint64`: they are formats that validators of clients do not know.
fn without_widths(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_width = |format: &str| format.starts_with("uint") || format.starts_with("int");
            if fields.get("format").and_then(Value::as_str).is_some_and(is_width) {
                fields.remove("format");
            }
            fields.values_mut().for_each(without_widths);
        }
        Value::Array(items) => items.iter_mut().for_each(without_widths),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
