//! The program is killed at each of its lines, and another one goes on.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use holdover::store::rusqlite::Connection;

fn program(folder: &Path, answer: &str, cents: u32) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_holdover-example-order"));
    program.args([answer, "ann"]).arg(folder).arg(cents.to_string()).stdout(Stdio::piped());
    program
}

/// Starts the program and kills it after its line number `at`. Returns its lines, and whether it was killed before its end.
fn killed(folder: &Path, answer: &str, cents: u32, at: usize) -> (Vec<String>, bool) {
    let mut child = program(folder, answer, cents).spawn().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        lines.push(line.unwrap());
        if lines.len() == at {
            child.kill().unwrap();
        }
    }
    let killed = !child.wait().unwrap().success();
    (lines, killed)
}

fn lines(folder: &Path, file: &str, begin: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    text.lines().filter(|line| line.starts_with(begin)).map(str::to_owned).collect()
}

fn stock(folder: &Path) -> i64 {
    let db = Connection::open(folder.join("order.db")).unwrap();
    db.query_row("SELECT pieces FROM stock WHERE article = 'lamp'", [], |row| row.get(0)).unwrap()
}

/// Plays an order to its end, with a kill after line `at`. Returns whether the program was killed, and whether the order was
/// shipped.
fn story(answer: &str, cents: u32, at: usize) -> (bool, bool) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (said, killed) = killed(folder, answer, cents, at);
    let output = program(folder, answer, cents).output().unwrap();
    let end = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said:?} {end}");
    let told = format!("killed after line {at}: {said:?}, then {end}");
    let shipped = end.contains("order 7: {\"paid\":");
    assert_eq!(lines(folder, "bank", "charge").len(), 1, "{told}");
    assert_eq!(lines(folder, "bank", "refund").len(), usize::from(!shipped), "{told}");
    assert_eq!(stock(folder), if shipped { 95 } else { 100 }, "{told}");
    let mut labels = lines(folder, "carrier", "label");
    labels.sort();
    labels.dedup();
    assert_eq!(labels.len(), lines(folder, "carrier", "label").len(), "{told}: no label is bought twice");
    assert!(!shipped || labels.len() == 2, "{told}");
    (killed, shipped)
}

#[test]
fn an_order_that_is_approved_is_shipped_or_undone_wherever_the_program_is_killed() {
    let (mut kills, mut shipped) = (0, 0);
    for at in 1.. {
        let (killed, was_shipped) = story("--approve", 90_000, at);
        shipped += usize::from(was_shipped);
        if !killed {
            assert!(was_shipped, "nothing went wrong");
            break;
        }
        kills += 1;
    }
    assert!(kills >= 5 && shipped >= 4, "{kills} kills, {shipped} shipped");
}

#[test]
fn an_order_that_is_refused_is_undone_wherever_the_program_is_killed() {
    let mut kills = 0;
    for at in 1.. {
        let (killed, shipped) = story("--deny", 90_000, at);
        assert!(!shipped);
        if !killed {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 2, "{kills} kills");
}

#[test]
fn a_small_order_needs_nobody() {
    let (killed, shipped) = story("--approve", 900, usize::MAX);
    assert!(!killed && shipped);
}
