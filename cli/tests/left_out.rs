//! A build without optional features: an error names the missing feature and the command that adds it.

#![cfg(not(any(
    feature = "conformance",
    feature = "http",
    feature = "mcp",
    feature = "postgres",
    feature = "redis",
    feature = "schedules",
    feature = "serve"
)))]

mod support;

use support::Fixture;

fn needs(feature: &str) -> String {
    format!(
        " needs the feature {feature}, which this build leaves out: cargo install --locked --path cli --features {feature}"
    )
}

#[test]
fn a_command_that_is_left_out_names_its_feature() {
    let fixture = Fixture::new();
    let line = format!("the command conformance{}", needs("conformance"));
    for words in
        [&["conformance"][..], &["--json", "conformance", "--level", "core"], &["help", "conformance"]]
    {
        fixture.run(words).fails(2, &[&line]);
    }
    fixture.run(&["serve"]).fails(2, &[&format!("the command serve{}", needs("serve"))]);
    fixture.run(&["mcp"]).fails(2, &[&format!("the command mcp{}", needs("serve"))]);
    fixture.run(&["tokens", "list"]).fails(2, &[&format!("the command tokens{}", needs("serve"))]);
    fixture.run(&["schedules", "list"]).fails(2, &[&format!("the command schedules{}", needs("schedules"))]);
    fixture.run(&["conform"]).ends(2);
}

#[test]
fn a_store_that_is_left_out_names_its_feature_and_no_password() {
    let fixture = Fixture::new();
    for (scheme, feature) in [
        ("postgres", "postgres"),
        ("postgresql", "postgres"),
        ("redis", "redis"),
        ("rediss", "redis"),
        ("redis+cluster", "redis"),
        ("rediss+cluster", "redis"),
    ] {
        let url = format!("{scheme}://u:secret@h:1");
        let line = format!("store {scheme}://u:***@h:1:{}", needs(feature));
        for command in [&["run", "agent.toml", "hello"][..], &["sessions", "list"], &["keys", "status"]] {
            fixture.run(&[command, &["--store", &url]].concat()).fails(2, &[&line]);
        }
        let doctor = fixture.run(&["doctor", "--store", &url]).ends(2);
        assert!(doctor.err.contains(&line), "{doctor:#?}");
    }
    fixture.run(&["doctor", "--store", "mysql://h"]).fails(2, &["write sqlite:PATH"]);
}

#[test]
fn an_agent_with_tools_that_are_left_out_names_their_feature() {
    let fixture = Fixture::new();
    let server = "[[mcp]]\nname = 'files'\ncommand = ['true']\n";
    fixture.write("agent.toml", &format!("model = 'scripted:script.toml'\n{server}"));
    let line = format!("agent.toml: mcp server \"files\":{}", needs("mcp"));
    fixture.run(&["run", "agent.toml", "hello"]).fails(2, &[&line]);
    assert!(!fixture.has("holdover.db"), "nothing was begun");
}

#[test]
fn a_model_a_gate_or_a_hook_on_a_server_names_the_feature_that_reaches_it() {
    let fixture = Fixture::new();
    let scripted = "model = 'scripted:script.toml'\n";
    for (text, line) in [
        ("model = 'openai:gpt-5'\n".to_owned(), "agent.toml: model openai:gpt-5:"),
        ("model = 'anthropic:claude'\n".to_owned(), "agent.toml: model anthropic:claude:"),
        (format!("{scripted}[gate]\nurl = 'https://gate.example'\n"), "agent.toml: line 2: gate: url:"),
        (
            format!("{scripted}[[hook]]\nname = 'h'\npoints = ['after_tool']\nurl = 'https://h.example'\n"),
            "agent.toml: line 2: hook \"h\": url:",
        ),
        (
            format!("{scripted}[compaction]\nsummariser = {{ url = 'https://s.example' }}\n"),
            "agent.toml: line 3: compaction.summariser: url:",
        ),
    ] {
        fixture.write("agent.toml", &text);
        fixture.run(&["run", "agent.toml", "hello"]).fails(2, &[&format!("{line}{}", needs("http"))]);
        assert!(!fixture.has("holdover.db"), "nothing was begun");
    }
}

#[test]
fn an_agent_of_another_program_names_the_feature_that_reaches_it() {
    let fixture = Fixture::new();
    let other = "[[agent]]\nname = 'other'\ndescription = ''\nurl = 'https://other.example/tasks'\n";
    fixture.write("agent.toml", &format!("model = 'scripted:script.toml'\n{other}"));
    let line =
        format!("agent.toml: sub_agent other: agent at https://other.example/tasks:{}", needs("serve"));
    fixture.run(&["run", "agent.toml", "hello"]).fails(2, &[&line]);
    assert!(!fixture.has("holdover.db"), "nothing was begun");
}

#[test]
fn help_and_completions_show_only_what_is_there() {
    let fixture = Fixture::new();
    for words in [&["--help"][..], &["run", "--help"], &["doctor", "--help"], &["completions", "bash"]] {
        let shown = fixture.run(words).ends(0).out.to_lowercase();
        for part in ["conformance", "postgres", "redis", "mcp", "schedules", "take tasks"] {
            assert!(!shown.contains(part), "{words:?} show {part}:\n{shown}");
        }
    }
}
