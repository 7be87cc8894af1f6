//! Runs the example and checks its output.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

#[test]
fn each_question_is_answered_by_a_researcher_and_asked_once_however_often_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_holdover-example-research");
    let expected = [
        "editor: The Elbe is the longer of the two: 1,094 km, the Weser 451 km. Of the Rhine nothing is known here.",
        "  researcher: The Elbe is 1,094 km long (elbe).",
        "  researcher: The Weser is 451 km long (weser).",
        "  researcher: No note says how long the Rhine is.",
        "8 model calls",
    ];
    for _ in 0..2 {
        let output = Command::new(program).arg(folder.path()).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn code_in_place_of_the_editor_asks_the_same_questions() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_holdover-example-research");
    let expected = [
        "research: \"The Elbe is the longer of the two: 1,094 km, the Weser 451 km. Of the Rhine nothing is known here.\"",
        "  researcher: The Elbe is 1,094 km long (elbe).",
        "  researcher: The Weser is 451 km long (weser).",
        "  researcher: No note says how long the Rhine is.",
        "  writer: The Elbe is the longer of the two: 1,094 km, the Weser 451 km. Of the Rhine nothing is known here.",
        "7 model calls",
    ];
    for _ in 0..2 {
        let output = Command::new(program).arg("--flow").arg(folder.path()).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    }
}
