//! The README's first steps, as they stand there.

mod support;

use support::Fixture;

/// The blocks of the README's command line chapter in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let chapter =
        include_str!("../../README.md").split("\n## ").find(|part| part.starts_with("The command line"));
    let begins = format!("```{language}\n");
    let parts = chapter.unwrap_or_default().split(begins.as_str()).skip(1);
    parts.filter_map(|rest| Some(rest.split_once("```")?.0)).collect()
}

#[test]
fn a_stranger_who_follows_it_comes_to_the_end() {
    let fixture = Fixture::new();
    let files = blocks("toml");
    fixture.write("clerk.toml", files[0]);
    fixture.write("script.toml", files[1]);
    let steps = blocks("sh").into_iter().find(|block| block.contains("mkdir")).expect("first steps");
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
    fixture.write("clerk.toml", blocks("toml")[2]);
    let command = &mut fixture.command(&["run", "clerk.toml", "hello"]);
    let output = command.env_remove("MY_KEY").output().expect("it starts");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.code() == Some(2) && said.contains("MY_KEY"), "{said}");
}
