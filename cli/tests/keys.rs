//! Stores with encrypted payloads, read with all keys, with some of them, and without any.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use support::{Fixture, HOLDOVER, Ran};

/// The repeated digits of the first key. `NEW` has those of a newer key.
const OLD: &str = "0a";
const NEW: &str = "0b";

fn write_keys(fixture: &Fixture, file: &str, write: u32, keys: &[(u32, &str)]) {
    let keys: String = keys.iter().map(|(id, digits)| format!("{id} = '{}'\n", digits.repeat(64))).collect();
    fixture.write(file, &format!("write = {write}\n[keys]\n{keys}"));
    set_mode(fixture, file, 0o600);
}

fn set_mode(fixture: &Fixture, file: &str, mode: u32) {
    std::fs::set_permissions(fixture.path(file), PermissionsExt::from_mode(mode)).unwrap();
}

/// Runs a command with the keys of this file. The output must not contain a key.
fn with(fixture: &Fixture, file: &str, words: &str) -> Ran {
    let ran = fixture.shell(&format!("HOLDOVER_KEYS={file} {HOLDOVER} {words}"));
    for digits in [OLD, NEW] {
        assert!(!ran.out.contains(&digits.repeat(4)) && !ran.err.contains(&digits.repeat(4)), "{ran:#?}");
    }
    ran
}

/// Returns a fixture with two sessions, the second written after the key was changed.
fn rotated() -> Fixture {
    let fixture = Fixture::new();
    write_keys(&fixture, "old.toml", 1, &[(1, OLD)]);
    write_keys(&fixture, "both.toml", 2, &[(1, OLD), (2, NEW)]);
    with(&fixture, "old.toml", "run agent.toml --session one write").ends(10);
    with(&fixture, "both.toml", "run agent.toml --session two write").ends(10);
    fixture
}

#[test]
fn a_session_goes_on_with_its_keys_and_says_which_is_missing_without_them() {
    let fixture = rotated();
    for (session, says) in [("one", "encrypted, key 1 is not here"), ("two", "encrypted, key 2 is not here")]
    {
        for words in [
            vec!["sessions", "show", session],
            vec!["sessions", "messages", session],
            vec!["send", session, "--detach", "hello"],
            vec!["approve", session],
            vec!["interrupt", session],
            vec!["run", "agent.toml", "--session", session, "hello"],
        ] {
            fixture.run(&words).fails(1, &[says]);
        }
    }
    with(&fixture, "old.toml", "sessions show two").fails(1, &["encrypted, key 2 is not here"]);
    with(&fixture, "both.toml", "approve one").ends(0).says("Written.");
    with(&fixture, "both.toml", "approve two").ends(0).says("Written.");
}

#[test]
fn the_session_of_an_idempotency_key_takes_no_message_without_its_key() {
    let fixture = Fixture::new();
    write_keys(&fixture, "keys.toml", 1, &[(1, OLD)]);
    with(&fixture, "keys.toml", "run agent.toml --key once write").ends(10);
    for words in ["run agent.toml --key once write", "run agent.toml --key once --detach write"] {
        let refused = fixture.shell(&format!("{HOLDOVER} {words}"));
        refused.fails(1, &["encrypted, key 1 is not here (HOLDOVER_KEYS"]);
    }
    let again = with(&fixture, "keys.toml", "run agent.toml --key once write").ends(10);
    again.says("this key was used before");
}

#[test]
fn a_call_whose_key_is_not_here_holds_up_no_other() {
    let fixture = rotated();
    let listed = with(&fixture, "old.toml", "sessions pending").ends(0);
    listed
        .says("session one: ")
        .says("write_file")
        .says("session two: ")
        .says("encrypted, key 2 is not here");
    with(&fixture, "old.toml", "doctor").ends(0).says("1 session: encrypted, key 2 is not here");
    let listed = fixture.run(&["sessions", "pending"]).ends(0);
    listed.says("encrypted, key 1 is not here").says("encrypted, key 2 is not here");

    // The answer is encrypted under the newer key. With the older key alone, the call is still listed as answered.
    with(&fixture, "both.toml", "approve one --detach").ends(0);
    with(&fixture, "old.toml", "sessions pending").ends(0).says("is answered").says("session two: ");
}

#[test]
fn doctor_and_check_have_an_answer_for_each_session_that_they_cannot_read() {
    let fixture = rotated();
    let report = fixture.run(&["doctor", "--json"]).ends(0).last();
    assert_eq!((&report["stuck"], &report["healthy"]), (&json!([]), &json!(true)));
    let unread: Vec<(Value, Value)> = report["unread"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (found["key"].clone(), found["sessions"].clone()))
        .collect();
    assert_eq!(unread, [(json!(1), json!(1)), (json!(2), json!(1))]);
    fixture.run(&["doctor"]).ends(0).says("1 session: encrypted, key 1 is not here (HOLDOVER_KEYS");

    let checked = with(&fixture, "old.toml", "sessions check").ends(1);
    assert_eq!(checked.out.lines().count(), 1, "{checked:#?}");
    checked.says("session two (waiting): it cannot be read").says("encrypted, key 2 is not here");
    let checked = fixture.run(&["sessions", "check"]).ends(1);
    assert_eq!(checked.out.lines().count(), 2, "{checked:#?}");
    with(&fixture, "both.toml", "sessions check").ends(0);
    with(&fixture, "both.toml", "doctor --json").ends(0);
}

#[test]
fn the_status_of_keys_counts_the_payloads_under_each() {
    let fixture = rotated();
    let status = with(&fixture, "both.toml", "keys status --json").ends(0).last();
    let keys = status["keys"].as_array().unwrap();
    assert_eq!((&status["sessions"], &status["plain"], keys.len()), (&json!(2), &json!(0), 2));
    for (key, written_with) in [(0, false), (1, true)] {
        assert!(keys[key]["payloads"].as_u64().unwrap() > 5, "{status:#}");
        assert_eq!((&keys[key]["here"], &keys[key]["written_with"]), (&json!(true), &json!(written_with)));
    }
    let some = with(&fixture, "old.toml", "keys status").ends(1);
    some.says("key 1 ").says("here, written with").says("key 2 ").says("not here");
    fixture.run(&["keys", "status"]).ends(1).says("not here");

    // After the sessions of the old key are deleted, the key is no longer needed.
    with(&fixture, "both.toml", "sessions delete one").ends(0);
    let status = with(&fixture, "both.toml", "keys status --json").ends(0).last();
    let old = status["keys"].as_array().unwrap().iter().find(|found| found["key"] == 1).unwrap();
    assert_eq!((&old["payloads"], &old["here"]), (&json!(0), &json!(true)));
    write_keys(&fixture, "new.toml", 2, &[(2, NEW)]);
    with(&fixture, "new.toml", "keys status").ends(0);
    with(&fixture, "new.toml", "approve two").ends(0);
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    let fixture = Fixture::new();
    write_keys(&fixture, "keys.toml", 1, &[(1, OLD)]);
    for mode in [0o644, 0o604, 0o620] {
        set_mode(&fixture, "keys.toml", mode);
        with(&fixture, "keys.toml", "sessions list").fails(2, &["HOLDOVER_KEYS: keys.toml: others may"]);
    }
    set_mode(&fixture, "keys.toml", 0o640);
    with(&fixture, "keys.toml", "sessions list").fails(1, &["no such file"]);
    set_mode(&fixture, "keys.toml", 0o440);
    with(&fixture, "keys.toml", "run agent.toml hello").ends(0);
    with(&fixture, "nothing.toml", "sessions list").fails(2, &["HOLDOVER_KEYS: nothing.toml"]);
}
