//! The value that an agent's turns must return: its schema, derived from a type or given.

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
    /// Every turn must return a value of this type: see [`output_schema`](Self::output_schema). The type must
    /// be a struct, or the agent is not built.
    ///
    /// [`RunHandle::output`](crate::RunHandle::output) returns the value.
    pub fn output<T: JsonSchema>(self) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        self.output_schema(Value::from(settings.into_generator().into_root_schema_for::<T>()))
    }

    /// Every turn must return a value that fits this JSON Schema, which says `"type": "object"`. The model
    /// gets an additional tool, called `finish`. A call of it with valid arguments ends the turn, and the
    /// arguments are the value. If the model answers with a value that does not fit, or with words only, it
    /// is corrected twice. Then the turn ends with the error `model.no_output`.
    ///
    /// No gate is asked about that call, because it has no effect.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }
}

/// What core is told of the value, and what values are checked with.
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

/// The tool that a model is told of.
pub(super) fn told(output: &OutputSpec) -> ModelTool {
    ModelTool {
        name: output.tool.to_string(),
        description: output.description.clone(),
        parameters: output.schema.clone(),
    }
}
