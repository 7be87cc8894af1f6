//! Runs the first steps of docs/first-agent.md as they are printed there, and the model of
//! docs/how-to/models.md.

mod support;

use support::Fixture;

const FIRST_AGENT: &str = include_str!("../../docs/first-agent.md");
const MODELS: &str = include_str!("../../docs/how-to/models.md");

/// Returns the code blocks of the page in one language.
fn blocks(page: &'static str, language: &str) -> Vec<&'static str> {
    let begins = format!("```{language}\n");
    let parts = page.split(begins.as_str()).skip(1);
    parts.filter_map(|rest| Some(rest.split_once("```")?.0)).collect()
}

#[test]
fn a_stranger_who_follows_it_comes_to_the_end() {
    let fixture = Fixture::new();
    let files = blocks(FIRST_AGENT, "toml");
    fixture.write("clerk.toml", files[0]);
    fixture.write("script.toml", files[1]);
    let steps =
        blocks(FIRST_AGENT, "sh").into_iter().find(|block| block.contains("mkdir")).expect("first steps");
    let binary = std::path::Path::new(support::HOLDOVER).parent().expect("a folder").display().to_string();
    for step in steps.lines() {
        let code = match step.split_once("exit code ") {
            Some((_, rest)) => {
                rest.split([' ', ':']).next().and_then(|code| code.parse().ok()).expect("a number")
            }
            None => 0,
        };
        fixture.shell(&format!("PATH={binary}:$PATH; {step}")).ends(code);
    }
    assert_eq!(fixture.read("notes/list.md"), "- milk\n");
    fixture.run(&["sessions", "messages", "tidy"]).ends(0).says("the blue one").says("Done.");
}

#[test]
fn the_other_ways_to_name_a_model_are_read() {
    let fixture = Fixture::new();
    fixture.write("clerk.toml", blocks(MODELS, "toml")[0]);
    let command = &mut fixture.command(&["run", "clerk.toml", "hello"]);
    let output = command.env_remove("MY_KEY").output().expect("it starts");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.code() == Some(2) && said.contains("MY_KEY"), "{said}");
}
