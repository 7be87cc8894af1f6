//! Schedules on the command line: the page about them is played, and wrong use is refused.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod support;

use support::{Fixture, wait_until};

const PAGE: &str = include_str!("../../docs/how-to/schedules.md");

const SCRIPT: &str = r#"
[[turns]]
say = "Nothing new."
"#;

fn blocks(language: &str) -> Vec<&'static str> {
    let begins = format!("```{language}\n");
    PAGE.split(begins.as_str()).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect()
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("play.toml", SCRIPT);
    fixture.write("clerk.toml", &blocks("toml")[0].replace("openai:gpt-5-mini", "scripted:play.toml"));
    fixture
}

#[test]
fn the_page_is_played() {
    let fixture = fixture();
    let binary = std::path::Path::new(support::HOLDOVER).parent().expect("a folder").display().to_string();
    let steps: Vec<_> = blocks("sh")[0].lines().collect();
    assert_eq!(steps.len(), 10);
    let play = |step: &str| fixture.shell(&format!("PATH={binary}:$PATH; {step}")).ends(0);
    play(steps[0]).says("schedule daily: added; next ").says("Z (in ");
    play(steps[1]).says("schedule often: added");
    let listed = play(steps[2]);
    listed
        .says("daily on: 0 9 * * 1-5 Europe/Berlin; next ")
        .says("never started")
        .says("often on: every 15m");
    let triggered = play(steps[3]);
    let listed = fixture.run(&["schedules", "list", "--json"]).ends(0).lines();
    assert_eq!(
        (listed[0]["schedule"].as_str(), listed[1]["schedule"].as_str()),
        (Some("often"), Some("daily"))
    );
    let daily = &listed[1];
    let session = daily["last_start"]["session"].as_str().unwrap();
    assert!(session.starts_with("daily:trigger-"), "{daily:#}");
    triggered.says(session);
    assert_eq!(daily["times"], serde_json::json!({ "cron": "0 9 * * 1-5", "zone": "Europe/Berlin" }));
    assert!(
        daily["next"].as_i64() == daily["next_due"].as_i64() && daily["next"].as_i64() > Some(0),
        "{daily:#}"
    );
    let often = &listed[0];
    let late = often["next_due"].as_i64().unwrap() - often["next"].as_i64().unwrap();
    assert!((0..30_000).contains(&late), "{often:#}");
    assert_eq!((&often["overlap"], &often["catch_up"]), (&"queue".into(), &"last".into()));
    // The worker begins both schedules, and runs the session.
    play(steps[4]);
    play(steps[5]).says(session);
    fixture.run(&["sessions", "messages", session]).ends(0).says("The daily round").says("Nothing new.");
    fixture.run(&["sessions", "show", "schedule:daily"]).ends(0).says("it runs a schedule");
    fixture.run(&["schedules", "trigger", "daily", "--key", "first-try"]).ends(0).says(session);
    play(steps[6]).says("schedule often: paused; no next instant");
    fixture.run(&["schedules", "pause", "often"]).ends(0).says("paused; nothing was changed");
    play(steps[7]).says("standing  paused").says("every 15m").says("jitter    30s").says("schedule:often");
    play(steps[8]).says("schedule often: resumed; next ");
    fixture.run(&["work", "--until-idle"]).ends(0);
    let shown = fixture.run(&["schedules", "show", "often", "--json"]).ends(0).last();
    assert_eq!((&shown["standing"], &shown["started"]), (&"on".into(), &0.into()), "{shown:#}");
    play(steps[9]).says("removed");
    fixture.run(&["schedules", "show", "often"]).fails(1, &["schedule often: there is no such schedule"]);
    let left = fixture.run(&["schedules", "list", "--json"]).ends(0).lines();
    assert_eq!(left.len(), 1);
    let again = fixture.shell(&format!("PATH={binary}:$PATH; {}", steps[0])).ends(0);
    again.says("it was added before, and nothing was changed");
}

#[test]
fn a_worker_starts_the_target_at_each_instant() {
    let fixture = fixture();
    let add =
        ["schedules", "add", "often", "--agent", "clerk.toml", "--every", "1s", "--overlap", "allow", "Look"];
    let added = fixture.run(&[&add[..], &["--label", "team=desk", "--json"]].concat()).ends(0).last();
    assert_eq!((&added["added"], &added["standing"]), (&"created".into(), &"on".into()), "{added:#}");
    fixture.run(&["run", "clerk.toml", "--session", "desk", "hello"]).ends(0);
    fixture.run(&["schedules", "add", "more", "--to", "desk", "--every", "1s", "More"]).ends(0);
    let worker = fixture.start(&["work"]);
    let started = |name: &str| {
        let shown = fixture.run(&["schedules", "show", name, "--json"]).ends(0).last();
        shown["started"].as_u64().unwrap_or_default()
    };
    wait_until("three instants", || started("often") >= 3 && started("more") >= 2);
    // While the worker goes on: of a worker that is killed, a run may still have the schedule.
    fixture.run(&["schedules", "remove", "more"]).ends(0);
    fixture.run(&["schedules", "show", "more"]).fails(1, &["there is no such schedule"]);
    drop(worker);
    let listed = fixture.run(&["sessions", "list", "--label", "team=desk", "--json"]).ends(0).lines();
    assert!(listed.len() >= 3 && listed.iter().all(|session| session["agent"] == "clerk"), "{listed:#?}");
    let messages = fixture.run(&["sessions", "messages", "desk"]).ends(0);
    assert!(messages.out.matches("More").count() >= 1, "{messages:#?}");
}

#[test]
fn wrong_schedules_are_refused_and_change_nothing() {
    let fixture = fixture();
    let add = |words: &[&str]| {
        fixture.run(&[&["schedules", "add", "wrong", "--agent", "clerk.toml"], words, &["hello"]].concat())
    };
    for (words, why) in [
        (&["--cron", "0 9 * *"][..], "cron \"0 9 * *\": Invalid pattern"),
        (&["--cron", "0 0 30 2 *"], "no instant to come fits it"),
        (&["--cron", "0 9 * * *", "--zone", "Europe/Atlantis"], "zone \"Europe/Atlantis\": unknown"),
        (&["--every", "0s"], "every 0ns: an interval takes from 1s"),
        (&["--every", "1h", "--catch-up", "all:0"], "catch-up of 0"),
        (&["--every", "1h", "--jitter", "11years"], "jitter"),
    ] {
        add(words).fails(2, &[why]);
    }
    for words in [
        &["--every", "1h", "--catch-up", "some"][..],
        &["--every", "1h", "--overlap", "sometimes"],
        &["--every", "1h", "--cron", "@daily"],
        &["--every", "1h", "--zone", "UTC"],
        &["--every", "1h", "--to", "desk"],
        &[],
    ] {
        add(words).ends(2);
    }
    assert!(
        !fixture.has("holdover.db") || fixture.run(&["schedules", "list", "--json"]).ends(0).out.is_empty()
    );
    fixture.run(&["schedules", "add", "a b", "--agent", "clerk.toml", "--every", "1h", "x"]).ends(2);
    fixture.run(&["run", "clerk.toml", "--session", "desk", "hello"]).ends(0);
    fixture.run(&["schedules", "add", "x", "--to", "nowhere", "--every", "1h", "x"]).fails(1, &["nowhere"]);
    assert!(fixture.run(&["schedules", "list", "--json"]).ends(0).out.is_empty());
    add(&["--every", "1h"]).ends(0);
    add(&["--every", "2h"]).fails(1, &["another schedule has this name"]);
    fixture.run(&["schedules", "trigger", "missing"]).fails(1, &["there is no such schedule"]);
}
