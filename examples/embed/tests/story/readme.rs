//! Tests that every command of the README works, in the order of the page and with the output that it shows.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn every_command_of_the_readme_works() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let address = format!("127.0.0.1:{}", holdover_launcher::free_port().unwrap());
    write("README.md", &include_str!("../../README.md").replace("127.0.0.1:8080", &address));
    // `cargo run` starts the program that was just built, at a free address.
    let program = env!("CARGO_BIN_EXE_holdover-example-embed");
    write("cargo", &format!("#!/bin/sh\nexec {program} --listen {address}\n"));
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("cargo"), executable).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());

    let played = Command::new(format!("{HERE}/../../acceptance/page.sh"))
        .arg("README.md")
        .current_dir(folder.path())
        .env("PATH", path)
        .status()
        .unwrap();
    assert!(played.success(), "the README is played to its end");

    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("desk/ledger.txt"), "7 1250\n", "refunded once");
    let seqs: Vec<u64> = read("events.txt").lines().filter_map(seq).collect();
    assert!(seqs.len() > 12 && seqs.is_sorted_by(|one, next| one < next), "nothing comes twice: {seqs:?}");
}

#[test]
fn a_page_whose_words_could_be_overlooked_is_not_played() {
    let folder = tempfile::tempdir().unwrap();
    let plays = |page: String| {
        std::fs::write(folder.path().join("page.md"), page).unwrap();
        let script = format!("{HERE}/../../acceptance/page.sh");
        Command::new(script).arg("page.md").current_dir(folder.path()).output().unwrap().status.success()
    };
    let block = "```sh\necho hi\n```\n";
    assert!(plays(format!("{block}<!-- shows: hi -->\n```text\n<!-- not: played -->\n```\n")));
    for overlooked in
        ["<!-- show: ho -->", "<!-- shows: ho --> ", " <!-- shows: ho -->", "<!-- shows ho -->", "```sh\n"]
    {
        assert!(!plays(format!("{block}{overlooked}\n")), "{overlooked}");
    }
    assert!(!plays("```sh\ncurl -s --version\n```\n".to_owned()));
    assert!(plays("```sh\ncurl -sf --version\n```\n".to_owned()));
}

/// Returns the sequence number of a committed event.
fn seq(line: &str) -> Option<u64> {
    let data = serde_json::from_str::<serde_json::Value>(line.strip_prefix("data: ")?).unwrap();
    data["seq"].as_u64()
}
