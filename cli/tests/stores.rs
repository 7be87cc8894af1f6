//! Errors about stores that cannot be opened, none of which shows a password.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod support;

use support::{Fixture, Ran};

#[track_caller]
fn keeps(secret: &str, ran: &Ran) {
    assert!(!ran.out.contains(secret) && !ran.err.contains(secret), "{ran:#?}");
}

#[test]
fn a_url_that_names_no_store_is_wrong_use() {
    let fixture = Fixture::new();
    for (url, words) in [
        ("mysql://u:secret@h/d", &["mysql://u:***@h/d", "unknown kind \"mysql\"", "postgres://"][..]),
        ("postgres:h/d", &["postgres:h/d", "write sqlite:PATH, postgres://"]),
        ("postgres//u:secret@h/d", &["unknown kind"]),
        ("postgres://u:secret@h:port/d", &["postgres://u:***@h:port/d", "a Postgres URL is"]),
        ("postgres://u:secret@h/d?shema=a", &["unknown parameter \"shema\""]),
        ("postgres://h/d?schema=Sessions", &["schema \"Sessions\"", "a-z"]),
        ("redis:h", &["redis:h", "write sqlite:PATH"]),
        ("redis://u:secret@h:1?db=2", &["redis://u:***@h:1?db=2", "only namespace and partitions are known"]),
        ("redis://h:1?partitions=0", &["partitions: a number from 1 to 1024"]),
        ("redis://h:1?namespace={a}", &["namespace", "letters, digits"]),
        ("redis+cluster://u:secret@a:b:c", &["redis+cluster://u:***@a:b:c"]),
    ] {
        for command in
            [&["doctor"][..], &["run", "agent.toml", "hello"], &["send", "s", "hello"], &["conformance"]]
        {
            let ran = fixture.run(&[command, &["--store", url]].concat()).fails(2, words);
            keeps("secret", &ran);
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_named_in_one_line() {
    let fixture = Fixture::new();
    let port = holdover_launcher::free_port().expect("a port");
    for scheme in ["postgres", "redis", "redis+cluster"] {
        let url = format!("{scheme}://u:secret@127.0.0.1:{port}");
        let shown = format!("{scheme}://u:***@127.0.0.1:{port}");
        for command in [&["doctor", "--json"][..], &["run", "agent.toml", "hello"], &["conformance"]] {
            let ran = fixture.run(&[command, &["--store", &url]].concat()).fails(1, &[&shown]);
            keeps("secret", &ran);
        }
        let ran = fixture
            .run(&["doctor", "--store", &url])
            .fails(1, &[&shown, "Connection refused"])
            .says(&format!("store     {shown}"));
        keeps("secret", &ran);
    }
}

#[test]
fn help_shows_no_password_of_the_environment() {
    let fixture = Fixture::new();
    let mut command = fixture.command(&["run", "--help"]);
    let output = command.env("HOLDOVER_STORE", "postgres://u:secret@h/d").output().expect("it starts");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(help.contains("HOLDOVER_STORE") && !help.contains("secret"), "{help}");
}
