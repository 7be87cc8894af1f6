//! Dead letters: listed across sessions, and replayed.
//!
//! Requirements: C52.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const AGENT: &str = "name = 'clerk'\nmodel = 'scripted:down.toml'\n[retries]\nmodel_waits_ms = [1]\n";

/// A model that is down for two attempts at a step, and answers the third.
const DOWN: &str = "[[turns]]\nsay = 'Back again.'\nfail = [{ attempt = 0, kind = 'provider', detail = 'down' }, { attempt = 1, kind = 'provider', detail = 'down' }]\n";

const UP: &str = "[[turns]]\nsay = 'Back again.'\n";

/// Creates two sessions that failed although they may succeed later, and one that failed for good.
fn two_dead() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("clerk.toml", AGENT);
    fixture.write("down.toml", DOWN);
    for session in ["a", "b"] {
        fixture.run(&["run", "clerk.toml", "--session", session, "hello"]).ends(1);
    }
    fixture.write("refused.toml", "name = 'refused'\nmodel = 'scripted:refuses.toml'\n");
    fixture.write(
        "refuses.toml",
        "[[turns]]\nsay = 'No.'\nfail = [{ attempt = 0, kind = 'auth', detail = 'no key' }]\n",
    );
    fixture.run(&["run", "refused.toml", "--session", "c", "hello"]).ends(1);
    fixture
}

#[test]
fn c52_dead_letters_are_listed_and_replayed_once() {
    let fixture = two_dead();
    let letters = fixture.run(&["dead", "list", "--json"]).ends(0).lines();
    let sessions: Vec<_> = letters.iter().map(|letter| letter["session"].as_str().expect("an id")).collect();
    assert_eq!(sessions, ["a", "b"]);
    let letter = letters[0]["letter"].as_str().expect("an id");
    assert_eq!(letters[0]["cause"], "retries");
    assert_eq!(letters[0]["attempts"], 2);
    assert_eq!(letters[0]["error"]["code"], "model.provider");
    assert_eq!(letters[0]["replayed"], false);
    fixture
        .run(&["dead", "list"])
        .ends(0)
        .says("session a: ")
        .says("model.provider: down")
        .says("dead replay");
    fixture.run(&["sessions", "list"]).ends(0).says("failed (dead letter)");
    fixture.run(&["sessions", "pending", "a"]).ends(0).says("dead replay").says("model.provider: down");
    fixture.run(&["doctor"]).ends(1).says("2 dead letters");
    assert_eq!(fixture.run(&["doctor", "--json"]).ends(1).last()["dead_letters"], 2);

    fixture.write("down.toml", UP);
    fixture.run(&["dead", "replay", letter]).ends(0).says("session a: tries again");
    fixture.run(&["dead", "replay", letter]).ends(0).says("was replayed before");
    fixture.run(&["dead", "list"]).ends(0).says("a run takes it up");
    fixture.run(&["dead", "replay", "--all"]).ends(0).says("session b: tries again");
    fixture.run(&["work", "--until-idle"]).ends(0);
    for session in ["a", "b"] {
        fixture.run(&["sessions", "messages", session]).ends(0).says("Back again.");
    }
    fixture.run(&["dead", "list"]).ends(0).says("no dead letters");
    fixture.run(&["dead", "replay", "--all"]).ends(0).says("no dead letters");
    fixture.run(&["dead", "replay", letter]).ends(0).says("was replayed before");
}

const FAMILY: &str = r#"
[[turns]]
when = { system_contains = "You help." }
say = "Helped."
fail = [{ attempt = 0, kind = "provider", detail = "down" }, { attempt = 1, kind = "provider", detail = "down" }]
[[turns]]
when = { nth = 1 }
calls = [{ tool = "helper", arguments = { tasks = ["help"] } }]
[[turns]]
say = "Done without help."
"#;

#[test]
fn c52_all_letters_are_not_those_of_children_whose_parents_have_gone_on() {
    let fixture = Fixture::new();
    let helper = "[[agent]]\nname = 'helper'\ndescription = 'Helps.'\ninstructions = 'You help.'\n";
    fixture.write("clerk.toml", &format!("{AGENT}{helper}"));
    fixture.write("down.toml", FAMILY);
    fixture.run(&["run", "clerk.toml", "--session", "a", "go"]).ends(0).says("Done without help.");
    let letters = fixture.run(&["dead", "list", "--json"]).ends(0).lines();
    assert_eq!(letters.len(), 1, "{letters:?}");
    let letter = letters[0]["letter"].as_str().expect("an id");
    let all = fixture.run(&["dead", "replay", "--all"]).ends(0);
    assert!(all.err.contains("left out: its parent has gone on"), "{all:#?}");
    assert_eq!(fixture.run(&["dead", "list", "--json"]).ends(0).lines()[0]["replayed"], false);
    fixture.run(&["dead", "replay", letter]).ends(0).says("tries again");
}

#[test]
fn c52_a_letter_of_a_session_that_went_on_is_refused() {
    let fixture = two_dead();
    let letters = fixture.run(&["dead", "list", "--json"]).ends(0).lines();
    let letter = letters[1]["letter"].as_str().expect("an id");
    fixture.write("down.toml", UP);
    fixture.run(&["send", "b", "hello again"]).ends(0).says("Back again.");
    let refused = fixture.run(&["dead", "replay", letter]).ends(1);
    assert!(refused.err.contains("it is closed and takes no answer"), "{refused:#?}");
    let unknown = fixture.run(&["dead", "replay", "nothing"]).ends(1);
    assert!(unknown.err.contains("letter nothing: there is no such dead letter"), "{unknown:#?}");
    // A retention rule leaves the session with an open letter alone.
    fixture.run(&["sessions", "purge", "--unchanged-for", "0s"]).ends(0);
    fixture.run(&["sessions", "show", "a"]).ends(0);
    fixture.run(&["sessions", "show", "c"]).ends(1);
    fixture.run(&["sessions", "delete", "a"]).ends(0);
    fixture.run(&["dead", "list"]).ends(0).says("no dead letters");
    fixture.run(&["dead", "replay"]).ends(2);
}
