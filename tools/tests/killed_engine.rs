//! Tests that a program gets its whole input even if the engine that started it is killed.

// A helper of a test may panic like the test itself.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use holdover_core::custom::CustomState;
use holdover_core::ids::{CallId, SessionId, SessionKey, TenantId};
use holdover_core::tool::{CallHandle, ToolCall};
use holdover_tools::{CommandTool, Root, ToolSet};
use serde_json::{Value, json};

const FOLDER: &str = "HOLDOVER_TEST_PROGRAM_IN";
/// The size of the input, more than a pipe holds.
const INPUT_BYTES: usize = 200_008;

/// A shell line that reports that it has begun, and reads its input only when it is told to. `begun`, `go` and `over`
/// are named pipes.
const PROGRAM: &str = "echo begun > begun; read word < go; cat > read; echo over > over";

fn arguments() -> Value {
    let around = json!({ "text": "" }).to_string().len();
    json!({ "text": "x".repeat(INPUT_BYTES - around) })
}

/// The entry point of the child process: the engine, which calls the program until it is killed. Without the
/// variable `FOLDER`, this test does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_one_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let declared: CommandTool = serde_json::from_value(json!({
        "name": "charge", "description": "Charges a card", "command": ["sh", "-c", PROGRAM],
        "timeout_seconds": "none",
    }))
    .unwrap();
    let tool = ToolSet::new(Root::open(Path::new(&folder)).unwrap()).command(&declared).unwrap();
    let call = ToolCall {
        session: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
        id: CallId::new("c1").unwrap(),
        idempotency_key: "k1".to_owned(),
        arguments: arguments(),
        timeout: None,
        state: CustomState::default(),
        handle: CallHandle::default(),
    };
    panic!("it runs until it is killed: {:?}", tool.call(call).await);
}

#[test]
fn a_program_whose_engine_is_killed_reads_all_of_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for pipe in ["begun", "go", "over"] {
        assert!(Command::new("mkfifo").arg(at(pipe)).status().unwrap().success());
    }
    let mut engine = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_one_that_is_killed", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(fs::read_to_string(at("begun")).unwrap(), "begun\n", "the program was started");
    engine.kill().unwrap();
    assert!(!engine.wait().unwrap().success(), "the engine was killed in the middle of the call");
    File::create(at("go")).unwrap().write_all(b"go\n").unwrap();
    assert_eq!(fs::read_to_string(at("over")).unwrap(), "over\n");
    let (read, sent) = (fs::read_to_string(at("read")).unwrap(), arguments().to_string());
    assert!(read == sent, "{} of {INPUT_BYTES} bytes", read.len());
}
