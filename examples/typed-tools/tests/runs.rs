//! Runs the example and checks its output.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

#[test]
fn it_shows_what_came_of_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_holdover-example-typed-tools");
    let output = Command::new(program).arg(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], r#"stock: {"article":7,"there":12,"reserved":0}"#);
    assert_eq!(lines[1], r#"stock: {"article":8,"there":0,"reserved":0}"#);
    assert!(lines[2].starts_with("stock: the arguments do not fit: /article: "), "{}", lines[2]);
    assert_eq!(lines[3..5], ["reserve: 3 are put aside", "ship: sent to Harbour 1, Bergen"]);
    assert_eq!(lines[5], "Three pieces are on their way.");
}
