//! Tests of the tools that work in a sandbox.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::custom::CustomState;
use holdover_core::ids::CallId;
use holdover_core::tool::{CallHandle, Tool, ToolCall, ToolError, ToolReturn};
use holdover_tools::{BUILT_IN, LocalSandboxes, SANDBOX_TOOLS, Sandboxes};
use serde_json::{Value, json};

use crate::ground::{Ground, session};

async fn call(tool: &Arc<dyn Tool>, id: &str, arguments: Value) -> Result<String, ToolError> {
    assert!(jsonschema::is_valid(&tool.spec().parameters, &arguments), "{arguments}");
    let call = ToolCall {
        session: session(id),
        id: CallId::new("c1").unwrap(),
        idempotency_key: "k1".to_owned(),
        arguments,
        timeout: Some(Duration::from_secs(60)),
        state: CustomState::default(),
        handle: CallHandle::default(),
    };
    match tool.call(call).await? {
        ToolReturn::Output(output) => Ok(output.content),
        ToolReturn::After { .. } | ToolReturn::At { .. } | ToolReturn::Signal { .. } => {
            panic!("it answered later")
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_files_and_commands_share_the_sandbox_of_their_session_and_no_other() {
    let ground = Ground::new();
    let sandboxes = Sandboxes::new(ground.open());
    let tool = |name: &str| sandboxes.tool(name).unwrap();
    assert!(ground.left().is_empty());
    let write = json!({ "path": "src/a.txt", "content": "one" });
    let told = call(&tool("write_file"), "a", write).await.unwrap();
    assert!(told.starts_with("[the sandbox is new: nothing is in it]\n"), "{told}");
    let command = json!({ "command": "cat a.txt; echo two >b.txt", "folder": "src" });
    assert_eq!(call(&tool("run_command"), "a", command).await.unwrap(), "exit code 0\nstdout:\none");
    assert_eq!(call(&tool("read_file"), "a", json!({ "path": "src/b.txt" })).await.unwrap(), "two\n");
    let elsewhere = call(&tool("read_file"), "b", json!({ "path": "src/b.txt" })).await.unwrap_err();
    assert_eq!(elsewhere.to_string(), "src/b.txt: does not exist [the sandbox is new: nothing is in it]");
    let outside = call(&tool("read_file"), "a", json!({ "path": "../a.lock" })).await.unwrap_err();
    assert!(outside.to_string().contains("`..`"), "{outside}");
}

#[test]
fn they_are_the_built_in_ones_and_say_where_they_work() {
    let ground = Ground::new();
    let sandboxes = Sandboxes::new(ground.open());
    assert_eq!(sandboxes.tools().len(), SANDBOX_TOOLS.len());
    let root = holdover_tools::Root::open(ground.path()).unwrap();
    for (name, tool) in SANDBOX_TOOLS.iter().zip(sandboxes.tools()) {
        let (own, usual) = (tool.spec().clone(), holdover_tools::built_in(name, &root).unwrap());
        let usual = usual.spec().clone();
        assert!(BUILT_IN.contains(name) && own.description.contains("in a sandbox"));
        assert_eq!(
            (own.effect, own.dangerous, own.parameters),
            (usual.effect, usual.dangerous, usual.parameters)
        );
    }
    assert!(sandboxes.tool("ask_user").is_none());
    let profile = |name: &str| sandboxes.tool(name).unwrap().profile(&json!({}));
    assert!(!profile("read_file").conflicts_with(&profile("search_files")));
    assert!(profile("read_file").conflicts_with(&profile("run_command")));
    assert!(profile("write_file").conflicts_with(&profile("run_command")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_sandbox_cannot_be_booted_did_not_run() {
    let ground = Ground::new();
    let stand_in = ground.stand_in("case \"$*\" in *--bind*) exit 1;; esac");
    let options = ground.options().bubblewrap(stand_in);
    let sandboxes = Sandboxes::new(LocalSandboxes::open(&options).unwrap());
    let run = sandboxes.tool("run_command").unwrap();
    let error = call(&run, "a", json!({ "command": "echo" })).await.unwrap_err();
    assert!(matches!(&error, ToolError::NotRun(why) if why.contains("could not be booted")), "{error:?}");
    assert!(ground.left().is_empty());
}
