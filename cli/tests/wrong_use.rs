//! Errors of use, each reported in one line.
//!
//! Requirements: U11.

mod support;

use support::Fixture;

#[test]
fn an_unknown_key_is_refused_with_its_line() {
    let fixture = Fixture::new();
    fixture.write("bad.toml", "model = 'scripted:script.toml'\ntools = []\n\n[limits]\nmax_step = 3\n");
    fixture.run(&["run", "bad.toml", "hello"]).fails(2, &["bad.toml: line 5: limits.max_step: "]);
    fixture.write("bad.toml", "model = 'scripted:script.toml'\ntolls = []\n");
    fixture.run(&["run", "bad.toml", "hello"]).fails(2, &["bad.toml: line 2: tolls: "]);
    assert!(!fixture.has("holdover.db"), "nothing was begun");
}

#[test]
fn an_unknown_tool_is_refused_with_its_line() {
    let fixture = Fixture::new();
    fixture.write("bad.toml", "model = 'scripted:script.toml'\ntools = [\n  'read_files',\n]\n");
    fixture
        .run(&["run", "bad.toml", "hello"])
        .fails(2, &["bad.toml: line 3: ", "\"read_files\"", "read_file"]);
}

#[test]
fn an_agent_that_cannot_be_built_says_why() {
    let fixture = Fixture::new();
    fixture.run(&["run", "no-such.toml", "hello"]).fails(2, &["no-such.toml"]);
    fixture.write("bad.toml", "model = 'scripted:no-such-script.toml'\n");
    fixture.run(&["run", "bad.toml", "hello"]).fails(2, &["bad.toml", "no-such-script.toml"]);
    fixture.write("bad.toml", "model = 'scripted:script.toml'\n[limits]\nmax_steps = 0\n");
    fixture.run(&["run", "bad.toml", "hello"]).fails(2, &["bad.toml", "max_steps"]);
    fixture.write(
        "bad.toml",
        "[model]\nprovider = 'openai'\nname = 'm'\napi_key_env = 'HOLDOVER_NO_SUCH_KEY'\n",
    );
    fixture.run(&["run", "bad.toml", "hello"]).fails(2, &["HOLDOVER_NO_SUCH_KEY"]);
    fixture.run(&["run", "agent.toml", "--model", "gpt-5", "hello"]).ends(2);
    fixture.run(&["run", "agent.toml", "--root", "no-such-folder", "hello"]).fails(2, &["no-such-folder"]);
}

#[test]
fn an_unknown_session_is_named() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "hello"]).ends(0);
    for words in [
        &["send", "nobody", "hello"][..],
        &["resume", "nobody"],
        &["retry", "nobody"],
        &["approve", "nobody"],
        &["deny", "nobody", "c1-0"],
        &["answer", "nobody", "c1-0", "yes"],
        &["interrupt", "nobody"],
        &["abort", "nobody"],
        &["sessions", "show", "nobody"],
        &["sessions", "messages", "nobody"],
        &["events", "nobody"],
    ] {
        fixture.run(words).fails(1, &["session nobody: there is no such session"]);
    }
}

#[test]
fn a_store_that_cannot_be_opened_is_named() {
    let fixture = Fixture::new();
    fixture.write("text.db", "this is no database, but a text that is long enough to be taken for one.\n");
    let run = |store: &str| fixture.run(&["run", "agent.toml", "hello", "--store", store]);
    run("sqlite:text.db").fails(1, &["text.db"]);
    run("sqlite:no/such/folder/x.db").fails(1, &["no/such/folder/x.db"]);
    run("sqlite:files").fails(1, &["files"]);
    run("sqlite:").fails(2, &["names no file"]);
    run("mysql:x").fails(2, &["mysql"]);
    run("holdover.db").fails(2, &["sqlite:PATH"]);
    fixture.run(&["sessions", "list"]).fails(1, &["sqlite:holdover.db", "no such file"]);
    assert!(!fixture.has("holdover.db"), "looking creates nothing");
}

#[test]
fn the_store_comes_from_the_environment_too() {
    let fixture = Fixture::new();
    let mut command = fixture.command(&["run", "agent.toml", "write"]);
    let output = command.env("HOLDOVER_STORE", "sqlite:from-env.db").output().expect("it starts");
    assert_eq!(output.status.code(), Some(10));
    assert!(fixture.has("from-env.db"));
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(said.contains("--store sqlite:from-env.db"), "{said}");
}

#[test]
fn standard_input_is_bounded_and_is_text() {
    let fixture = Fixture::new();
    let file = std::fs::File::create_new(fixture.path("large")).expect("a file");
    file.set_len(65 * 1024 * 1024).expect("it grows");
    std::fs::write(fixture.path("latin"), b"caf\xe9").expect("a file is written");
    for (name, why) in [("large", "more than 67108864 bytes"), ("latin", "no UTF-8 text")] {
        let input = std::fs::File::open(fixture.path(name)).expect("a file");
        let mut command = fixture.command(&["run", "agent.toml", "-"]);
        let output = command.stdin(input).output().expect("it starts");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: standard input: ") && said.contains(why), "{said}");
    }
    assert!(!fixture.has("holdover.db"), "nothing was begun");
}

#[test]
fn wrong_words_end_with_two() {
    let fixture = Fixture::new();
    for words in [
        &[][..],
        &["dance"],
        &["run"],
        &["run", "agent.toml", "hello", "--jsno"],
        &["run", "agent.toml", "hello", "--lease", "0s"],
        &["work", "--max-running", "0"],
        &["work", "--all-tenants", "--until-idle"],
        &["events", "s", "--after", "xyz"],
        &["machine", "--json", "--mermaid"],
        &["demo", "--json"],
        &["completions", "bash", "--json"],
        &["conformance", "--store", "memory", "--json", "--report", "md"],
    ] {
        let ran = fixture.run(words).ends(2);
        assert!(!ran.err.contains("panicked"), "{ran:#?}");
    }
    fixture.run(&["--help"]).ends(0).says("Exit codes:");
    fixture.run(&["--version"]).ends(0);
}

#[test]
fn u11_what_goes_wrong_names_its_session_its_step_its_call_and_its_field() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let failed = fixture.run(&["send", "s", "nonsense"]).ends(1);
    let path = "session s: failed: step 2: model.configuration: ";
    assert!(failed.out.contains(path), "{failed:#?}");
    let response = &fixture.run(&["send", "s", "nonsense", "--json"]).ends(1).last()["response"];
    assert_eq!(
        (&response["failed_in"], &response["error"]["code"]),
        (&3.into(), &"model.configuration".into())
    );
    fixture.run(&["sessions", "show", "s"]).ends(0).says("step 3: model.configuration: ");

    fixture.run(&["run", "agent.toml", "--session", "w", "write"]).ends(10);
    for (words, path) in [
        (&["approve", "w", "c9-9"][..], &["session w", "c9-9"][..]),
        (&["answer", "w", "c1-0", "blue"], &["w: ", "c1-0", "approval"]),
        (&["interrupt", "w", "--call", "c9-9"], &["session w", "call c9-9"]),
        (&["sessions", "withdraw", "w", "77"], &["session w", "77"]),
        (&["sessions", "fork", "w", "--at", "999"], &["w: ", "checkpoint 999"]),
        (&["sessions", "history", "w", "--after", "999"], &["session w", "999"]),
        (&["send", "w", "no", "--instead-of", "999"], &["session w", "message 999"]),
    ] {
        fixture.run(words).fails(1, path);
    }
}
