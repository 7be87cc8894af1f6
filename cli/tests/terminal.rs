//! The output of commands on a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU16;

use rustix::process::{Signal, kill_process};
use support::{Fixture, Ran};

/// A model that runs a command until the test lets it end, and that streams text slowly.
const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "hold", nth = 1 }
calls = [{ tool = "run_command", arguments = { command = "while [ ! -e go ]; do sleep 0.02; done" } }]

[[turns]]
when = { user_contains = "slowly", nth = 1 }
say = "one two\nthree four"
stream = { delay_ms = 400 }

[[turns]]
say = "Held."
"#;

/// Returns the lines of the terminal after `shown` was written to it.
fn screen(shown: &str) -> Vec<String> {
    let mut terminal = vt100::Parser::new(NonZeroU16::new(40).unwrap(), NonZeroU16::new(80).unwrap(), 0);
    terminal.process(shown.as_bytes());
    terminal.screen().contents().lines().map(str::to_owned).collect()
}

fn slow() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("script.toml", SCRIPT);
    fixture
}

/// Runs the command until `drawn` is shown, then lets the agent's command end.
fn until_drawn(fixture: &Fixture, words: &[&str], environment: &[(&str, &str)], drawn: &str) -> Ran {
    let mut found = false;
    let ran = fixture.watch_on_terminal(words, environment, |shown, _| {
        if !found && shown.contains(drawn) {
            found = true;
            fixture.write("files/go", "");
        }
    });
    assert!(found, "{ran:#?}");
    ran
}

#[test]
fn what_is_drawn_while_a_call_is_out_is_gone_in_the_end() {
    let fixture = slow();
    let words = ["run", "agent.toml", "--session", "s", "hold"];
    let ran = until_drawn(&fixture, &words, &[], "run_command c1-0  1 s").ends(0);
    assert!(ran.out.contains("◦ 1 call is out"), "{ran:#?}");
    let screen = screen(&ran.out);
    assert_eq!(screen[..2], ["session s", "> hold"]);
    assert_eq!(screen[screen.len() - 2..], ["Held.", "session s: completed (model_stop)"]);
    assert!(screen.iter().all(|line| !line.contains('◦') && !line.contains(" is out")), "{screen:#?}");
    assert_eq!(screen.len(), 6, "no line is lost, and none is left: {screen:#?}");
    assert!(!ran.out.contains("\u{1b}[?25l"), "the cursor is never hidden");
}

#[test]
fn streamed_text_is_never_garbled() {
    let fixture = slow();
    let mut drawn = 0;
    let ran =
        fixture.watch_on_terminal(&["run", "agent.toml", "--session", "s", "slowly"], &[], |shown, _| {
            for line in screen(shown) {
                let text = ["one", "three", "four"].iter().any(|word| line.contains(word));
                assert!(!(text && line.contains('◦')), "{line:?} in {shown:?}");
                drawn += usize::from(line.contains('◦'));
            }
        });
    assert!(drawn > 0, "it was drawn beneath: {ran:#?}");
    let ran = ran.ends(0);
    let all = ["session s", "> slowly", "one two", "three four", "session s: completed (model_stop)"];
    assert_eq!(screen(&ran.out), all);
}

#[test]
fn nothing_is_drawn_where_it_would_not_be_read() {
    for (words, environment) in [(&["--json"][..], &[][..]), (&["--quiet"], &[]), (&[], &[("TERM", "dumb")])]
    {
        let fixture = slow();
        let words = [&["run", "agent.toml", "slowly"], words].concat();
        let ran = fixture.watch_on_terminal(&words, environment, |_, _| {}).ends(0);
        assert!(!ran.out.contains('◦') && !ran.out.contains("\u{1b}[2K"), "{ran:#?}");
    }
    let fixture = slow();
    let words = ["run", "agent.toml", "hold"];
    let ran = until_drawn(&fixture, &words, &[("NO_COLOR", "1")], "run_command c1-0").ends(0);
    assert!(!ran.out.contains("\u{1b}[1m") && !ran.out.contains("\u{1b}[2m"), "no colours: {ran:#?}");
    assert_eq!(ran.err, "");
}

#[test]
fn a_run_that_is_interrupted_leaves_the_terminal_as_it_was() {
    let fixture = slow();
    let mut told = false;
    let words = ["run", "agent.toml", "--session", "s", "hold"];
    let ran = fixture.watch_on_terminal(&words, &[], |shown, pid| {
        if !told && shown.contains("run_command c1-0") && shown.contains('◦') {
            told = true;
            kill_process(pid, Signal::INT).expect("it is there");
        }
    });
    let ran = ran.ends(20);
    let screen = screen(&ran.out);
    assert!(screen.iter().all(|line| !line.contains('◦')), "{screen:#?}");
    assert_eq!(screen.last().map(String::as_str), Some("session s: interrupted (user_abort)"));
    assert!(ran.err.contains("interrupting the session"), "{ran:#?}");
}

#[test]
fn a_worker_draws_what_it_runs() {
    let fixture = slow();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "hold"]).ends(0);
    let ran = until_drawn(&fixture, &["work", "--until-idle"], &[], "s  run_command c1-0").ends(0);
    assert!(ran.out.contains("◦ 1 session runs"), "{ran:#?}");
    let screen = screen(&ran.out);
    assert_eq!(screen.len(), 3, "{screen:#?}");
    assert_eq!(screen[1], "session s: completed (model_stop)");
    // On a terminal that cannot draw, the progress is printed as lines.
    fixture.run(&["send", "s", "--detach", "hello"]).ends(0);
    let ran = fixture.watch_on_terminal(&["work", "--until-idle"], &[("TERM", "dumb")], |_, _| {});
    ran.ends(0).says("session s: step 3: the model is asked");
}

#[cfg(feature = "conformance")]
#[test]
fn the_suite_draws_how_far_it_is_and_leaves_its_tree_alone() {
    use holdover_conformance_tests::Level;

    let fixture = Fixture::new();
    let ran = fixture.run_on_terminal(&["conformance", "--store", "memory", "--level", "core"]).ends(0);
    let all = holdover_conformance_tests::all().filter(|case| case.level == Level::Core).count();
    // The count is drawn only a few times a second, so the counts that are seen differ between runs.
    let of_all = format!(" of {all} · ");
    let drawn = ran.out.split("◦ ").filter_map(|line| line.split_once(&of_all)?.0.parse().ok());
    let drawn: Vec<usize> = drawn.collect();
    assert!(
        !drawn.is_empty() && drawn.is_sorted() && drawn.iter().all(|at| (1..=all).contains(at)),
        "{ran:#?}"
    );
    assert!(screen(&ran.out).iter().all(|line| !line.contains('◦')), "{ran:#?}");
}

#[test]
fn what_a_model_says_comes_after_what_it_was_shown() {
    let fixture = Fixture::new();
    let places = |out: &str, texts: &[&str]| -> Vec<usize> {
        texts.iter().map(|text| out.find(text).unwrap_or_else(|| panic!("{text:?} in {out:?}"))).collect()
    };
    let ran = fixture.run_on_terminal(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let at = places(&ran.out, &["> write", "I write.", "→ write_file"]);
    assert!(at.is_sorted(), "{ran:#?}");
    let ran = fixture.run_on_terminal(&["approve", "s"]).ends(0);
    let at = places(&ran.out, &["• approved", "← write_file", "Written."]);
    assert!(at.is_sorted(), "{ran:#?}");
    assert_eq!(ran.out.matches("Written.").count(), 1, "{ran:#?}");
}
