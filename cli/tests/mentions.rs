//! Files that a message mentions.
//!
//! Requirements: B09, G02.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::os::unix::fs::{PermissionsExt, symlink};

use support::Fixture;

const PAGE: &str = include_str!("../../docs/how-to/sessions.md");

/// The SHA-256 digest of "12 apples\n".
const APPLES: &str = "80af843e5b79bfafc4c9eb606221ffb5b036131c025cbc547b6483cf3e4fe76d";

/// Returns the first code block of the page that begins so, within the part about mentions.
fn block(beginning: &str) -> &'static str {
    let (_, part) = PAGE.split_once("## Mention files").unwrap();
    let (_, rest) = part.split_once(&format!("```{beginning}")).unwrap();
    rest.split_once("```").unwrap().0.trim_start()
}

#[test]
fn b09_the_example_of_the_page_tracks_a_file() {
    let fixture = Fixture::new();
    fixture.write("reader.toml", block("toml\n# reader.toml"));
    fixture.write("words.toml", block("toml\n# words.toml"));
    let binary = std::path::Path::new(support::HOLDOVER).parent().unwrap().display().to_string();
    let ran = fixture.shell(&format!("set -e; PATH={binary}:$PATH; {}", block("sh\n"))).ends(0);
    let told = format!(r#""mentions":[{{"bytes":10,"path":"stock.txt","sha256":"{APPLES}"}}]"#);
    ran.says("> [mentions stock.txt (10 bytes)]").says(&told);
}

/// Returns a folder with an agent `a.toml` that has these keys, and a file `files/stock.txt`.
fn fixture(keys: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write(
        "a.toml",
        &format!("model = 'scripted:w.toml'\ntools = ['read_file']\nroot = 'files'\n{keys}"),
    );
    fixture.write("w.toml", "[[turns]]\nsay = 'Yes.'\n");
    fixture.write("files/stock.txt", "12 apples\n");
    fixture
}

#[test]
fn b09_hooks_outside_and_events_are_shown_the_mentions() {
    let hook = "mentions = true\n[[hook]]\nname = 'h'\npoints = ['before_model']\ncommand = ['./hook.sh']\n";
    let fixture = fixture(hook);
    fixture.write("hook.sh", "#!/bin/sh\ncat >seen\n");
    let runnable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fixture.path("hook.sh"), runnable).unwrap();
    fixture.write("files/with space.txt", "");
    symlink("/etc", fixture.path("files/etc")).unwrap();
    let text = "see @stock.txt, @\"with space.txt\", @etc/passwd, @nobody and ann@stock.txt";
    fixture.run(&["run", "a.toml", "--session", "s", text]).ends(0);
    let file = format!(r#"{{"path":"stock.txt","sha256":"{APPLES}","bytes":10}}"#);
    let seen = fixture.read("files/seen");
    assert!(seen.contains(&format!(r#""mentions":[{file},"#)), "{seen}");
    assert!(seen.contains(r#"{"path":"etc/passwd","not_read":"outside"}]"#), "{seen}");
    assert!(!seen.contains("nobody\",") && seen.matches("\"path\":\"").count() == 3, "{seen}");
    let events = fixture.run(&["events", "s", "--json"]).ends(0);
    let line = events.out.lines().find(|line| line.contains("mentions")).unwrap();
    let event: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(event["event"]["mentions"][0]["sha256"], APPLES, "{event}");
    assert_eq!(event["event"]["mentions"], event["message"]["mentions"]);
    let events = fixture.run(&["events", "s"]).ends(0);
    events.says("by user; mentions stock.txt (10 bytes); mentions with space.txt (0 bytes)");
}

#[test]
fn b09_a_file_is_mentioned_by_an_option_and_one_that_is_not_there_changes_nothing() {
    let fixture = fixture("");
    std::fs::create_dir(fixture.path("files/folder")).unwrap();
    let run = ["run", "a.toml", "--mention"];
    for (path, why) in [
        ("gone", "--mention: gone (does not exist)"),
        ("folder", "--mention: folder (is a folder)"),
        ("../w.toml", "--mention: path \"../w.toml\" contains `..`"),
        ("/etc/passwd", "is absolute"),
    ] {
        fixture.run(&[&run[..], &[path, "look"]].concat()).fails(2, &[why]);
    }
    // The run did not begin: there is no store.
    fixture.run(&["sessions", "list"]).fails(1, &["there is no"]);

    // The text alone mentions nothing, because the agent file does not say so.
    let session = ["--session", "s"];
    fixture.run(&[&run[..], &["stock.txt"], &session, &["see @folder"]].concat()).ends(0);
    fixture.run(&["send", "s", "see @stock.txt"]).ends(0);
    let send = ["send", "s", "--key", "k", "--mention", "stock.txt", "and now"];
    fixture.run(&send).ends(0);
    // The file changes, and the message is sent again.
    fixture.write("files/stock.txt", "11 apples\n");
    fixture.run(&[&send[..], &["--detach"]].concat()).ends(0).says("duplicate");
    fixture.write("files/other.txt", "");
    let other = [&send[..], &["--mention", "other.txt", "--detach"]].concat();
    fixture.run(&other).fails(1, &["the key was used before for something else"]);
    fixture.run(&["send", "s", "--mention", "gone", "look"]).fails(2, &["gone (does not exist)"]);
    let told = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
    assert_eq!(
        (told.out.matches("\"mentions\"").count(), told.out.matches(APPLES).count()),
        (2, 2),
        "{told:#?}"
    );
    assert_eq!(told.out.matches("\"role\":\"user\"").count(), 3, "{told:#?}");
}

#[test]
fn b09_a_session_keeps_its_folder_and_messages_can_come_from_anywhere() {
    let fixture = fixture("mentions = true\n");
    fixture.run(&["run", "a.toml", "--session", "s", "hello"]).ends(0);
    // Another file for the same session: the session keeps its agent.
    fixture.write("a.toml", "name = 'a'\nmodel = 'scripted:w.toml'\nroot = '.'\n");
    fixture.run(&["run", "a.toml", "--session", "s", "--mention", "stock.txt", "and @stock.txt"]).ends(0);
    fixture.run(&["send", "s", "--note", "see @stock.txt"]).ends(0);
    fixture.run(&["sessions", "replace", "s", "3", "never mind"]).ends(0);
    let queued = fixture.run(&["sessions", "queue", "s", "--json"]).ends(0);
    assert!(queued.out.contains("never mind") && !queued.out.contains("mentions"), "{queued:#?}");
    fixture.run(&["sessions", "replace", "s", "3", "rather @stock.txt"]).ends(0);
    fixture.run(&["sessions", "queue", "s", "--json"]).ends(0).says(APPLES);
    let told = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
    assert_eq!(told.out.matches(APPLES).count(), 1, "{told:#?}");

    std::fs::rename(fixture.path("files"), fixture.path("moved")).unwrap();
    fixture.run(&["send", "s", "--mention", "stock.txt", "look"]).fails(2, &["--mention: root folder"]);
    let sent = fixture.run(&["send", "s", "--detach", "ask ann@example.com"]).ends(0);
    assert!(sent.err.contains("no mentioned file is tracked: root folder"), "{sent:#?}");
}

#[test]
fn b09_an_agent_with_a_sandbox_tracks_no_files() {
    let fixture = fixture("mentions = true\n[sandbox]\nwalls = 'off'\n");
    let why = "mentions: the files of the agent lie in a sandbox, not in root";
    fixture.run(&["run", "a.toml", "hello"]).fails(2, &["a.toml: line 4", why]);
    let text = fixture.read("a.toml").replace("mentions = true", "mentions = false");
    fixture.write("a.toml", &text);
    fixture.run(&["run", "a.toml", "--mention", "stock.txt", "hello"]).fails(2, &["--mention: the files"]);
    fixture.write("a.toml", &text.replace("false", "'yes'"));
    fixture.run(&["run", "a.toml", "hello"]).fails(2, &["mentions: true or false is wanted"]);
}
