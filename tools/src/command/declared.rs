//! Tools that are programs, declared as data.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::ToolName;
use holdover_core::tool::{Bound, EffectClass, Tool, ToolError, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::input;
use super::process::{Finished, Kept, MARGIN_MAX, confine, limit_of, run_keeping, told};
use super::stateful;
use crate::FunctionTool;
use crate::files::Root;
use crate::sandbox::Exit;

/// A tool that is a program. The program reads the arguments of a call from its standard input, as one JSON object. The
/// whole object is written before the program starts, so the program can read all of it even if the engine dies. The
/// text that the program prints on standard output is the result. An exit code other than 0 fails the call, and the
/// model gets the code and the output. Long output is cut in the middle.
///
/// The program starts in the root folder. It gets the environment variables that `run_command` gets, and these:
///
/// | variable | value |
/// |---|---|
/// | `HOLDOVER_IDEMPOTENCY_KEY` | a key that is the same for every send of this call, and never used for another call |
/// | `HOLDOVER_SESSION` | the id of the session |
///
/// The program runs without a shell and never in parallel with another call. It is not confined to the root folder.
/// When it ends, the processes left in its process group are killed.
///
/// With [`uses_state`](Self::uses_state), the program reads the [custom state](holdover_core::custom) of the session beside
/// the arguments, and may change it. Both are JSON:
///
/// | stream | object |
/// |---|---|
/// | standard input | `{"arguments": {…}, "state": {…}}` |
/// | standard output | `{"result": …, "changes": […]}` |
///
/// `state` is the custom state at the start of the step, the same for every send of the call. `result` is a text, or a
/// value that the model sees as JSON; it may be left out. `changes` is a list of [`StateChange`]s, which may be left out:
/// `{"does": "set", "key": "seen", "value": 1}`, `{"does": "append", "key": "log", "value": "a"}` and
/// `{"does": "delete", "key": "seen"}`. Output that is not such an object, or has more than 64 KiB, fails the call and
/// changes nothing. The changes of a program that ends with an exit code other than 0 are ignored.
///
/// [`StateChange`]: holdover_core::custom::StateChange
///
/// ```
/// use holdover_core::tool::EffectClass;
/// use holdover_tools::CommandTool;
///
/// let tool: CommandTool = serde_json::from_str(
///     r#"{
///         "name": "charge",
///         "description": "Charges a customer's card",
///         "command": ["/opt/shop/charge", "--live"],
///         "effect": "idempotent",
///         "parameters": {
///             "type": "object",
///             "properties": { "customer": { "type": "string" }, "cents": { "type": "integer" } },
///             "required": ["customer", "cents"],
///             "additionalProperties": false
///         }
///     }"#,
/// )?;
/// assert_eq!(tool.effect, EffectClass::Idempotent);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandTool {
    /// The name by which a model calls the tool.
    pub name: ToolName,
    /// The description of the tool, for the model.
    pub description: String,
    /// The program and its arguments. A name without `/` is looked up in `PATH`.
    pub command: Vec<String>,
    /// The JSON Schema of the arguments. By default, the tool takes no arguments.
    #[serde(default = "no_parameters")]
    pub parameters: Map<String, Value>,
    /// The effect class, which decides what happens after a crash in the middle of a call. The default is
    /// `at_most_once`. An `idempotent` program must ensure that a second send with the same key changes nothing more.
    #[serde(default)]
    pub effect: EffectClass,
    /// True if the tool is dangerous: a person must approve its calls unless a rule says otherwise, and recovery after
    /// a crash starts none of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangerous: bool,
    /// The number of seconds after which the program is stopped, or `"none"` for no limit. By default, the program is
    /// stopped shortly before the agent's limit for a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<Bound>,
    /// True if the program reads the custom state of the session and may change it. It then reads and prints other JSON
    /// objects, which the type describes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uses_state: bool,
}

/// Checks the parts that every declared tool has, whether a program or a client runs it: the name, the schema of the
/// arguments, and the time limit.
///
/// # Errors
/// Returns the first part that no tool can have.
pub fn check_declaration(
    name: &ToolName,
    parameters: &Map<String, Value>,
    timeout_seconds: Option<Bound>,
) -> Result<(), InvalidCommandTool> {
    if name.check_new().is_err() {
        return Err(InvalidCommandTool::Name(name.clone()));
    }
    if parameters.get("type") != Some(&json!("object")) {
        return Err(InvalidCommandTool::NoObject(name.clone()));
    }
    if timeout_seconds == Some(Bound::At(0)) {
        return Err(InvalidCommandTool::NoTime(name.clone()));
    }
    Ok(())
}

/// The error for a declaration of a tool that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCommandTool {
    /// The name is one that model providers refuse.
    #[error("tool {0:?}: name: providers take 1 to 64 letters, digits, _ and - alone")]
    Name(ToolName),
    /// No program is named.
    #[error("tool {0}: command: is empty")]
    NoProgram(ToolName),
    /// The schema does not describe an object. Model providers accept only object schemas.
    #[error("tool {0}: parameters: type is not \"object\"")]
    NoObject(ToolName),
    /// The time limit is zero.
    #[error("tool {0}: timeout_seconds: is zero")]
    NoTime(ToolName),
}

impl CommandTool {
    /// Checks that the declaration is valid.
    pub fn check(&self) -> Result<(), InvalidCommandTool> {
        check_declaration(&self.name, &self.parameters, self.timeout_seconds)?;
        if self.command.first().is_none_or(String::is_empty) {
            return Err(InvalidCommandTool::NoProgram(self.name.clone()));
        }
        Ok(())
    }
}

/// Returns the JSON Schema of a tool without arguments. It is the default of a declaration.
pub fn no_parameters() -> Map<String, Value> {
    let pairs =
        [("type", json!("object")), ("properties", json!({})), ("additionalProperties", json!(false))];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the tool that `declared` describes, on `root`. `environment` names additional variables that the program
/// gets.
pub(crate) fn tool(
    declared: &CommandTool,
    root: Root,
    environment: Vec<String>,
) -> Result<Arc<dyn Tool>, InvalidCommandTool> {
    declared.check()?;
    let CommandTool {
        name,
        description,
        command: line,
        parameters,
        effect,
        dangerous,
        timeout_seconds,
        uses_state,
    } = declared.clone();
    let own = timeout_seconds.and_then(Bound::limit).map_or(Duration::MAX, Duration::from_secs);
    let mut tool = FunctionTool::new(name, description, move |asked: Map<String, Value>, call| {
        let mut command = Command::new(line.first().map(String::as_str).unwrap_or_default());
        command.args(line.iter().skip(1));
        confine(&mut command, &root, &environment);
        command
            .env("HOLDOVER_IDEMPOTENCY_KEY", &call.idempotency_key)
            .env("HOLDOVER_SESSION", call.session.id.as_str());
        let limit = limit_of(call.timeout).min(own);
        let asked = Value::Object(asked);
        let read = if uses_state { stateful::input(asked, &call.state) } else { asked };
        async move {
            let input = input::whole(read.to_string().as_bytes()).map_err(|error| {
                ToolError::NotRun(format!("its arguments could not be handed over: {error}"))
            })?;
            command.stdin(input);
            // The output of a program that uses the state may hold values of it, so it is not reported as progress.
            let kept = Kept { shown: !uses_state, ..Kept::default() };
            let finished = run_keeping(kept, command, limit, &call.handle).await.map_err(not_started)?;
            match finished.exit() {
                Exit::Code(0) if uses_state => stateful::output(&finished),
                Exit::Code(_) | Exit::Signal(_) | Exit::TimeOver | Exit::Stopped(_) => {
                    outcome(&finished, limit)
                }
            }
        }
    })
    .parameters(Value::Object(parameters))
    .effect(effect);
    if dangerous {
        tool = tool.dangerous();
    }
    tool = match timeout_seconds {
        Some(Bound::At(_)) => tool.timeout(own.saturating_add(MARGIN_MAX)),
        Some(Bound::Never) => tool.no_timeout(),
        None => tool,
    };
    Ok(Arc::new(tool))
}

/// Turns the failure to start a program into [`ToolError::NotRun`]: the program did nothing, and the model cannot mend the
/// failure, because the agent's author chose the program. Other errors stay as they are.
fn not_started(error: ToolError) -> ToolError {
    match error {
        ToolError::Failed(why) => ToolError::NotRun(why),
        ToolError::NotRun(_) | ToolError::Transient { .. } | ToolError::Lost(_) => error,
    }
}

/// Returns the standard output if the program ended with code 0, otherwise a failure.
fn outcome(finished: &Finished, limit: Duration) -> Result<ToolOutput, ToolError> {
    let [stdout, stderr] = finished.texts();
    match finished.exit() {
        Exit::Code(0) => Ok(ToolOutput::text(stdout.trim_end_matches('\n'))),
        exit @ (Exit::Code(_) | Exit::Signal(_) | Exit::TimeOver | Exit::Stopped(_)) => {
            Err(ToolError::Failed(told(exit, &stdout, &stderr, limit)?.content))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolSet;
    use crate::testing::{Fixture, call};

    fn declared(command: &[&str]) -> CommandTool {
        serde_json::from_value(json!({ "name": "mine", "description": "Does it", "command": command }))
            .unwrap()
    }

    async fn run(fixture: &Fixture, tool: &CommandTool, arguments: Value) -> Result<String, ToolError> {
        let tool = ToolSet::new(fixture.root.clone()).command(tool).unwrap();
        match tool.call(call(arguments)).await? {
            holdover_core::tool::ToolReturn::Output(output) => Ok(output.content),
            other @ (holdover_core::tool::ToolReturn::After { .. }
            | holdover_core::tool::ToolReturn::At { .. }
            | holdover_core::tool::ToolReturn::Signal { .. }) => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn it_reads_its_arguments_begins_in_the_root_and_its_output_is_the_result() {
        let fixture = Fixture::new(&[("here", "")]);
        let tool = declared(&["sh", "-c", "cat; ls; echo \"$1\"; echo aside >&2", "sh", "$HOME"]);
        let told = run(&fixture, &tool, json!({ "a": [1, null], "b": "ü\"" })).await.unwrap();
        assert_eq!(told, "{\"a\":[1,null],\"b\":\"ü\\\"\"}here\n$HOME");
    }

    #[tokio::test]
    async fn it_knows_the_key_of_the_call_and_the_session() {
        let fixture = Fixture::new(&[]);
        let tool =
            declared(&["sh", "-c", "echo $HOLDOVER_IDEMPOTENCY_KEY $HOLDOVER_SESSION $CARGO_PKG_NAME"]);
        assert_eq!(run(&fixture, &tool, json!({})).await.unwrap(), "k1 s");
    }

    #[tokio::test]
    async fn a_failure_tells_its_code_and_what_was_printed() {
        let fixture = Fixture::new(&[]);
        for (command, line) in [
            (
                &["sh", "-c", "echo half; echo why >&2; exit 3"][..],
                "exit code 3\nstdout:\nhalf\nstderr:\nwhy",
            ),
            (&["sh", "-c", "kill -9 $$"], "ended by signal 9"),
        ] {
            let end = run(&fixture, &declared(command), json!({})).await;
            assert_eq!(end, Err(ToolError::Failed(line.to_owned())));
        }
        let end = run(&fixture, &declared(&["no-such-program-here"]), json!({})).await.unwrap_err();
        let ToolError::NotRun(why) = end else { panic!("{end:?}") };
        assert!(why.starts_with("no-such-program-here: could not be started"), "{why}");
    }

    #[tokio::test]
    async fn arguments_that_are_not_read_do_no_harm() {
        let fixture = Fixture::new(&[]);
        let long = "x".repeat(1024 * 1024);
        assert_eq!(
            run(&fixture, &declared(&["echo", "done"]), json!({ "long": long })).await.unwrap(),
            "done"
        );
    }

    #[tokio::test]
    async fn its_time_is_bounded() {
        let fixture = Fixture::new(&[]);
        let tool = CommandTool {
            timeout_seconds: Some(Bound::At(1)),
            ..declared(&["sh", "-c", "echo begun; sleep 60"])
        };
        let end = run(&fixture, &tool, json!({})).await.unwrap_err();
        assert!(end.to_string().starts_with("stopped after 1 s: its time was over"), "{end}");
    }

    #[test]
    fn it_is_what_it_was_declared_to_be() {
        let fixture = Fixture::new(&[]);
        let tools = ToolSet::new(fixture.root.clone());
        let careful = tools.command(&declared(&["true"])).unwrap();
        assert_eq!((careful.spec().effect, careful.spec().dangerous), (EffectClass::AtMostOnce, false));
        assert_eq!(careful.spec().timeout_ms, None);
        assert!(jsonschema::is_valid(&careful.spec().parameters, &json!({})));
        assert!(!jsonschema::is_valid(&careful.spec().parameters, &json!({ "a": 1 })));
        let parameters = json!({ "type": "object", "required": ["a"] });
        let bold: CommandTool = serde_json::from_value(json!({
            "name": "mine", "description": "", "command": ["true"], "effect": "idempotent", "dangerous": true,
            "timeout_seconds": 5, "parameters": parameters,
        }))
        .unwrap();
        let spec = tools.command(&bold).unwrap().spec().clone();
        assert_eq!((spec.effect, spec.dangerous), (EffectClass::Idempotent, true));
        assert_eq!((spec.timeout_ms, spec.parameters), (Some(Bound::At(7000)), parameters));
        assert!(!bold.uses_state, "a declaration that was stored before");
        let written = serde_json::to_string(&bold).unwrap();
        assert!(!written.contains("uses_state"), "{written}");
        assert_eq!(serde_json::from_str::<CommandTool>(&written).unwrap(), bold);
    }

    #[test]
    fn what_cannot_be_a_tool_is_refused() {
        let fixture = Fixture::new(&[]);
        let good = declared(&["true"]);
        for (bad, line) in [
            (
                CommandTool { name: "my tool".parse().unwrap(), ..good.clone() },
                "tool \"my tool\": name: providers take 1 to 64 letters, digits, _ and - alone",
            ),
            (declared(&[]), "tool mine: command: is empty"),
            (declared(&[""]), "tool mine: command: is empty"),
            (
                CommandTool { parameters: Map::new(), ..good.clone() },
                "tool mine: parameters: type is not \"object\"",
            ),
            (
                CommandTool { timeout_seconds: Some(Bound::At(0)), ..good.clone() },
                "tool mine: timeout_seconds: is zero",
            ),
        ] {
            let error = ToolSet::new(fixture.root.clone()).command(&bad).err().unwrap();
            assert_eq!(error.to_string(), line);
        }
    }
}
