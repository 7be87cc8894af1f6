//! Runs the example and checks its output.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

#[test]
fn small_bills_are_paid_large_ones_asked_about_and_the_account_stays() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_holdover-example-custom-policy");
    let output = Command::new(program).arg(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let expected = [
        r#"asks: pay {"bill":"roof","cents":900000} (it is more than 5000 cents)"#,
        r#"pay: {"bill":"water","cents":1200} is done from ****"#,
        r#"pay: {"bill":"roof","cents":900000} is done from ****"#,
        "close_account: denied: accounts are closed at the counter [rule 1: close_*]",
        "The bills are seen to.",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}
