//! The state machine of a session, as another process sees it.
//!
//! Requirements: A13, C10, C58, C59, D06, D07, D16, H04, H23.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use serde_json::json;
use support::{Fixture, wait_until};

#[test]
fn a13_d06_show_tells_the_state_of_a_session_that_another_process_runs() {
    let fixture = Fixture::new();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "linger"]);
    wait_until("the command runs", || fixture.has("files/marker"));
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    let state = &shown["state"];
    assert_eq!((&state["status"], &state["state"]), (&json!("active"), &json!("executing")));
    assert_eq!((&state["classic"], &state["seven"]), (&json!("acting"), &json!("executing")));
    assert_eq!(state["calls"], json!({ "running": 1, "blocked": 0, "waiting": 0 }));
    assert_eq!((&state["inference"], &state["interaction"]), (&json!("idle"), &json!("tool-running")));
    assert_eq!(
        state["takes"],
        json!([
            "call",
            "claimed",
            "parked",
            "interrupted",
            "cut_short",
            "forked",
            "failed",
            "child_began",
            "child_resumed",
            "child_ended"
        ])
    );
    assert_eq!(shown["machine"]["state"]["state"], "executing", "the context, whole");
    let ran = fixture.run(&["sessions", "show", "s"]).ends(0);
    ran.says("executing (acting)").says("calls: 1 run, 0 blocked").says("takes     call, claimed");
    running.signal(rustix::process::Signal::TERM);
}

#[test]
fn c58_show_goes_on_until_the_session_rests_and_says_each_change_once() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let following = fixture.start(&["sessions", "show", "s", "--follow", "--json"]);
    wait_until("it shows what waits", || following.lines_so_far() >= 1);
    fixture.run(&["approve", "s"]).ends(0);
    let seen = following.end().ends(0).lines();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:#?}");
    assert_eq!((&seen[0]["state"], &seen[0]["approvals"]), (&json!("confirming"), &json!(["c1-0"])));
    let last = seen.last().expect("a line");
    assert_eq!((&last["state"], &last["ended"]), (&json!("done"), &json!("stopped")));
    assert_eq!(last["interaction"], "user-message-reply");
}

#[test]
fn d07_the_ways_from_any_state_are_told_five_moves_far_where_nobody_says_how_far() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["machine", "--paths", "--from", "confirming", "--json"]).ends(0);
    let ways = ran.lines();
    let longest = ways.iter().filter_map(|way| way["moves"].as_array()).map(Vec::len).max();
    assert_eq!(longest, Some(5));
    assert!(ways.iter().all(|way| way["from"] == "confirming"), "{ways:#?}");
    let said = fixture.run(&["machine", "--paths=1", "--from", "tearing_down"]).ends(0);
    assert_eq!(said.out, "tearing_down -torn_down-> done\n");
    let from_idle = fixture.run(&["machine", "--paths"]).ends(0);
    assert!(from_idle.out.lines().all(|line| line.starts_with("idle ")), "{}", from_idle.out);
    fixture.run(&["machine", "--from", "idle"]).ends(2);
    fixture.run(&["machine", "--paths", "--from", "nowhere"]).ends(2);
}

#[test]
fn d16_history_says_where_each_move_led_and_what_the_machine_was_after_it() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let moves = fixture.run(&["sessions", "history", "s", "--json"]).ends(0).lines();
    for (at, pair) in moves.windows(2).enumerate() {
        assert_eq!((&pair[0]["number"], &pair[0]["to"]), (&json!(at + 1), &pair[1]["from"]));
    }
    for moved in &moves {
        let number = moved["number"].to_string();
        let then = fixture.run(&["sessions", "history", "s", "--after", &number]).ends(0).last();
        assert_eq!(then["state"]["state"], moved["to"], "{moved}");
    }
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    let last = moves.len().to_string();
    assert_eq!(fixture.run(&["sessions", "history", "s", "--after", &last]).ends(0).last(), shown["machine"]);
    fixture.run(&["sessions", "history", "s", "--after", "999"]).fails(1, &["fewer moves than 999"]);
    // The last move of the turn refers to the checkpoint that holds its machine.
    let kept = fixture.run(&["sessions", "checkpoints", "s", "--json"]).ends(0).lines();
    let at = moves.last().unwrap()["checkpoint"].clone();
    assert_eq!(kept[0]["checkpoint"], at, "{kept:?}");
    fixture.run(&["sessions", "history", "s"]).ends(0).says(&format!("checkpoint {at}"));
}

#[test]
fn c59_h04_h23_the_last_line_holds_the_response_and_each_run_its_kind_and_what_it_used() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write", "--json"]).ends(10);
    fixture.run(&["approve", "s", "--detach"]).ends(0);
    let last = fixture.run(&["resume", "s", "--json"]).ends(0).last();
    let used = json!({ "model_calls": 2, "tool_calls": 1 });
    let response = json!({
        "turn": 1, "stop_reason": "stopped", "reason": "model_stop", "text": "Written.", "steps": 2, "error": null,
        "usage": used, "session_usage": used,
    });
    assert_eq!(last["response"], response);
    let runs = fixture.run(&["sessions", "runs", "s", "--json"]).ends(0).lines();
    assert_eq!((&runs[0]["kind"], &runs[1]["kind"]), (&json!("execute"), &json!("resume")));
    assert_eq!((&runs[1]["usage"]["model_calls"], &runs[1]["usage"]["tool_calls"]), (&json!(1), &json!(1)));
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!((&shown["resumes"], &shown["usage"]["model_calls"]), (&json!(1), &json!(2)));
    assert_eq!((&shown["turn_usage"], &shown["runs"][1]["usage_is_whole"]), (&used, &json!(true)));
    fixture.run(&["sessions", "runs", "s"]).ends(0).says("resume").says("COST").says("$0.000000");
    fixture
        .run(&["sessions", "show", "s"])
        .ends(0)
        .says("2 model calls, 1 tool call")
        .says("used 0 tokens, $0.000000");
}

#[test]
fn c10_a_wait_ends_with_its_bound_and_says_that_it_still_runs() {
    let fixture = Fixture::new();
    let left = ["run", "agent.toml", "--session", "s", "--wait=0s", "hello"];
    fixture.run(&left).ends(11).says("session s: not taken up yet (idle)");
    let working = fixture.start(&["work"]);
    let again =
        fixture.run(&["run", "agent.toml", "--session", "t", "--wait=50s", "hello", "--json"]).ends(0).last();
    assert_eq!(
        (&again["outcome"]["kind"], &again["response"]["text"]),
        (&json!("completed"), &json!("Good day."))
    );
    fixture.run(&["run", "agent.toml", "--session", "l", "--detach", "linger"]).ends(0);
    wait_until("the command runs", || fixture.has("files/marker"));
    let runs = fixture.run(&["send", "l", "more", "--wait=0s", "--json"]).ends(11).last();
    assert_eq!((&runs["outcome"], &runs["state"]["state"]), (&json!(null), &json!("executing")));
    working.signal(rustix::process::Signal::TERM);
}
