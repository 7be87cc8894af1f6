//! The value that an agent's turns must return. Its schema is derived from a type or given.

use std::sync::Arc;

use holdover_core::model::ModelTool;
use holdover_core::output::OutputSpec;
use holdover_core::tool::ToolSpec;
use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::AgentBuilder;
use crate::error::AgentError;

impl AgentBuilder {
    /// Requires every turn to return a value of this type: see [`output_schema`](Self::output_schema). The schema of
    /// the type must be that of an object, as for a struct; otherwise, the agent cannot be built.
    ///
    /// [`RunHandle::output`](crate::RunHandle::output) returns the value.
    pub fn output<T: JsonSchema>(self) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        self.output_schema(Value::from(settings.into_generator().into_root_schema_for::<T>()))
    }

    /// Requires every turn to return a value that fits this JSON Schema, which must have `"type": "object"`. The
    /// model gets an additional tool, called `finish`. A call of it with valid arguments ends the turn, and the
    /// arguments are the value. If the model answers with an invalid value, or with text only, it is corrected, at
    /// most twice in a turn. After that, the turn ends with the error `model.no_output`.
    ///
    /// The gate is not asked about this call, because it has no effect.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }
}

/// Returns the spec of the value for core, and the validator for values.
pub(super) fn prepare(
    agent: &str,
    schema: Value,
    tools: &[ToolSpec],
) -> Result<(OutputSpec, Arc<Validator>), AgentError> {
    let refuse = |detail: String| AgentError::Output { agent: agent.to_owned(), detail };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(refuse(String::from("its schema does not say \"type\": \"object\"")));
    }
    let validator =
        jsonschema::validator_for(&schema).map_err(|error| refuse(error.to_string().replace('\n', " ")))?;
    let spec = OutputSpec::beside(tools, schema).map_err(|error| refuse(error.to_string()))?;
    Ok((spec, Arc::new(validator)))
}

/// Returns the output tool as the model sees it.
pub(super) fn told(output: &OutputSpec) -> ModelTool {
    ModelTool {
        name: output.tool.to_string(),
        description: output.description.clone(),
        parameters: output.schema.clone(),
    }
}
