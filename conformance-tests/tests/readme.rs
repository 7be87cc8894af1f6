//! The failures shown in the README are those that the suite reports for the broken stores.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::Command;

const README: &str = include_str!("../README.md");

/// The first words of an example; the name of the broken store and the case follow.
const BEGINS: &str = "```text broken: ";

/// Returns the suite's report on a broken store.
fn said(store: &str, case: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mutants"));
    let output = command.args(["--explain", store, case]).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Removes the parts of the text that differ between runs or when code moves: incarnations, numbers in ids,
/// and line numbers.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    for line in text.lines() {
        let line = match line.split_once(".rs:") {
            Some((file, _)) => format!("{file}.rs"),
            None => line.to_owned(),
        };
        for word in line.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            let (text, end) = match word.char_indices().last() {
                Some((at, c)) if !c.is_ascii_alphanumeric() => word.split_at(at),
                Some(_) | None => (word, ""),
            };
            let is_incarnation = text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit());
            let is_numbered = steady.ends_with('-') && text.bytes().all(|b| b.is_ascii_digit());
            steady += if !text.is_empty() && (is_incarnation || is_numbered) { "_" } else { text };
            steady += end;
        }
        steady.push('\n');
    }
    steady
}

/// Returns true if the text matches the pattern, in which a line `…` stands for any number of lines.
fn shows(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split("…\n");
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    for part in parts {
        let at = if part.is_empty() { Some(rest.len()) } else { rest.find(part) };
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

#[test]
fn the_readme_shows_what_the_suite_says() {
    let examples: Vec<&str> = README.split(BEGINS).skip(1).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let (head, rest) = example.split_once('\n').expect("a head");
        let (store, case) = head.split_once(' ').expect("a store and a case");
        let (shown, _) = rest.split_once("```").expect("an end");
        let said = said(store, case);
        assert!(
            shows(&steady(shown), &steady(&said)),
            "the README shows for {store}:\n{}\nbut it is:\n{}",
            steady(shown),
            steady(&said)
        );
    }
}

#[test]
fn a_line_that_is_not_said_is_noticed() {
    assert!(shows("a\n…\nd\n", "a\nb\nc\nd\n") && shows("a\n…\n", "a\nb\n"));
    assert!(!shows("a\nx\n…\nd\n", "a\nb\nc\nd\n"));
    assert!(!shows("a\n", "a\nb\n"));
    assert!(!shows("a\n…\nc\n", "a\nb\nc\nd\n"));
}
