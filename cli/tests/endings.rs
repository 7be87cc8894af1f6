//! Turns that end early: each kind has its own exit code, the same for the command that ran the turn and for
//! those that waited.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

/// A model that lists the same folder at every step.
const SCRIPT: &str =
    "[[turns]]\ncalls = [{ tool = 'list_files', arguments = {} }]\nusage = { input = 10, output = 4 }\n";

fn agent(bounds: &str) -> String {
    format!(
        "name = 'ends'\nmodel = 'scripted:again.toml'\nroot = 'files'\ntools = ['list_files']\n{bounds}\n"
    )
}

#[test]
fn a_turn_that_ends_before_it_is_done_says_so_with_its_exit_code() {
    let fixture = Fixture::new();
    fixture.write("again.toml", SCRIPT);
    for (reason, bounds, code) in [
        ("max_turns", "[limits]\nmax_steps = 1", 21),
        ("budget_exceeded", "[limits]\nmax_tokens = 1", 22),
        ("loop_detected", "", 23),
    ] {
        let file = format!("{reason}.toml");
        fixture.write(&file, &agent(bounds));
        let ran = fixture.run(&["run", &file, "--session", reason, "go"]);
        ran.ends(code).says(reason);
        // The turn is over already: `interrupt` says how it ended, and succeeds.
        fixture.run(&["interrupt", reason]).ends(0).says(reason);
        let quiet = format!("{reason}-quiet");
        fixture.run(&["run", &file, "--session", &quiet, "--quiet", "go"]).ends(code);
        let left = format!("{reason}-left");
        fixture.run(&["run", &file, "--session", &left, "--detach", "go"]).ends(0);
        fixture.run(&["work", "--until-idle"]).ends(0);
        let again = fixture.start(&["work"]);
        let waited = fixture.run(&["send", &left, "--wait=50s", "more"]);
        drop(again);
        waited.ends(code).says(reason);
    }
    let help = fixture.run(&["--help"]).ends(0);
    help.says("max_turns").says("budget_exceeded").says("loop_detected");
}
