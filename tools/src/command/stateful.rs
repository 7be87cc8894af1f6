//! The JSON objects of programs that use the custom state of their session.

use holdover_core::custom::{CustomState, StateChange};
use holdover_core::tool::{ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::capture::OUTPUT_BYTES;
use super::process::Finished;

/// The object that a program prints.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Printed {
    result: Value,
    /// The changes, read one by one so that an error names the faulty one.
    changes: Vec<Value>,
}

/// Returns the object that the program reads.
pub(super) fn input(arguments: Value, state: &CustomState) -> Value {
    json!({ "arguments": arguments, "state": state.to_value() })
}

/// Returns the result of a program that ended with code 0, with its changes. Fails if the program printed anything but
/// one object of the expected form.
pub(super) fn output(finished: &Finished) -> Result<ToolOutput, ToolError> {
    let printed = finished.whole_stdout().map_err(|bytes| {
        ToolError::failed(format!("{HEAD}it has {bytes} bytes, at most {OUTPUT_BYTES} are allowed{KEPT}"))
    })?;
    read(&printed).map_err(|why| ToolError::failed(format!("{HEAD}{why}{KEPT}")))
}

const HEAD: &str = "the program's output is no result: ";
const KEPT: &str = "; it ran, and the custom state is left as it was";

fn read(printed: &[u8]) -> Result<ToolOutput, String> {
    let object: Map<String, Value> = serde_json::from_slice(printed).map_err(|error| error.to_string())?;
    let Printed { result, changes } =
        Printed::deserialize(Value::Object(object)).map_err(|error| error.to_string())?;
    let changes: Result<Vec<StateChange>, String> = changes
        .into_iter()
        .enumerate()
        .map(|(at, change)| {
            StateChange::deserialize(change).map_err(|error| format!("changes[{at}]: {error}"))
        })
        .collect();
    let content = match result {
        Value::Null => String::new(),
        Value::String(text) => text,
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => value.to_string(),
    };
    Ok(ToolOutput { changes: changes?, ..ToolOutput::text(content) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holdover_core::tool::{Tool, ToolReturn};

    use super::*;
    use crate::testing::{Fixture, Run, call};
    use crate::{CommandTool, ToolSet};

    fn tool(fixture: &Fixture, script: &str) -> Arc<dyn Tool> {
        let declared: CommandTool = serde_json::from_value(json!({
            "name": "mine", "description": "", "command": ["sh", "-c", script], "uses_state": true,
        }))
        .unwrap();
        ToolSet::new(fixture.root.clone()).command(&declared).unwrap()
    }

    async fn run(script: &str, state: Value) -> Result<ToolOutput, ToolError> {
        let fixture = Fixture::new(&[]);
        let tool = tool(&fixture, script);
        let mut call = call(json!({ "a": 1 }));
        call.state = serde_json::from_value(state).unwrap();
        match tool.call(call).await? {
            ToolReturn::Output(output) => Ok(output),
            other @ (ToolReturn::After { .. } | ToolReturn::At { .. } | ToolReturn::Signal { .. }) => {
                panic!("{other:?}")
            }
        }
    }

    #[tokio::test]
    async fn h18_a_program_reads_the_state_beside_its_arguments() {
        let output = run("printf '{\"result\": '; cat; printf '}'", json!({ "seen": [1] })).await.unwrap();
        assert_eq!(output.content, r#"{"arguments":{"a":1},"state":{"seen":[1]}}"#);
        assert_eq!(output.changes, []);
    }

    #[tokio::test]
    async fn h18_what_a_program_prints_is_its_result_and_its_changes() {
        let changes = r#"[{"does":"set","key":"a","value":1},{"does":"append","key":"b","value":[]},{"does":"delete","key":"c"}]"#;
        let output =
            run(&format!("echo '{{\"result\": \"ok\", \"changes\": {changes}}}'"), json!({})).await.unwrap();
        assert_eq!(output, ToolOutput::text("ok").set("a", 1).append("b", json!([])).delete("c"));
        let silent = run("echo '{}'; echo progress >&2", json!({})).await.unwrap();
        assert_eq!(silent, ToolOutput::text(""));
    }

    #[tokio::test]
    async fn h18_output_of_another_form_is_a_failure_that_says_so() {
        for (script, why) in [
            ("echo done", "expected value at line 1 column 1"),
            ("true", "EOF while parsing a value"),
            ("echo '{} {}'", "trailing characters"),
            ("echo '[]'", "invalid type: sequence, expected a map"),
            (r#"echo '{"results": 1}'"#, "unknown field `results`, expected `result` or `changes`"),
            (r#"echo '{"changes": {}}'"#, "invalid type: map, expected a sequence"),
            (r#"echo '{"changes": [{"does":"set","key":"a"}]}'"#, "changes[0]: missing field `value`"),
            (
                r#"echo '{"changes": [{"does":"delete","key":"a"},{"does":"put","key":"a"}]}'"#,
                "changes[1]: unknown variant `put`, expected one of `set`, `append`, `delete`",
            ),
            (r#"printf '{"result": "%70000d"}' 1"#, "it has 70014 bytes, at most 65536 are allowed"),
        ] {
            let Err(ToolError::Failed(told)) = run(script, json!({})).await else { panic!("{script}") };
            assert!(told.starts_with("the program's output is no result: ") && told.contains(why), "{told}");
            assert!(told.ends_with("; it ran, and the custom state is left as it was"), "{told}");
            assert!(!told.contains('\n'), "{told}");
        }
    }

    /// The object may hold values of the state, which are no progress to be shown.
    #[tokio::test]
    async fn h18_what_a_program_prints_is_no_progress_but_its_standard_error_is() {
        let (fixture, watching) = (Fixture::new(&[]), Run::new());
        let call = watching.sends(call(json!({})));
        let script = r#"echo '{"result": "secret"}'; echo halfway >&2"#;
        tool(&fixture, script).call(call).await.unwrap();
        assert_eq!(watching.reported(), ["halfway"]);
    }

    #[tokio::test]
    async fn h18_a_program_that_fails_changes_nothing() {
        let script = r#"echo '{"changes": [{"does":"delete","key":"a"}]}'; exit 3"#;
        let end = run(script, json!({})).await.unwrap_err();
        assert!(end.to_string().starts_with("exit code 3\nstdout:\n{"), "{end}");
    }
}
