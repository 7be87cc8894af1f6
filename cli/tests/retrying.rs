//! Failed model calls are retried: at once if a person asks for it, and by another model if the agent has
//! one.
//!
//! Requirements: B40, C53, D10, U10.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use support::Fixture;

const AGENT: &str = r#"
name = "patient"
model = "scripted:own.toml"

[retries.model_waits_by_kind_ms]
rate_limited = [3_600_000]
"#;

/// A model that fails once with a rate limit, then answers.
const OWN: &str = r#"
[[turns]]
say = "At last."
fail = [{ attempt = 0, kind = "rate_limited", detail = "slow down" }]
"#;

fn backing_off() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("patient.toml", AGENT);
    fixture.write("own.toml", OWN);
    fixture.run(&["run", "patient.toml", "--session", "s", "--detach", "hello"]).ends(0);
    fixture.run(&["work", "--until-idle"]).ends(0);
    fixture.run(&["events", "s"]).ends(0).says("backs off until").says("slow down");
    fixture.run(&["sessions", "show", "s"]).ends(0).says("waiting");
    fixture
}

#[test]
fn b40_retry_and_resume_cut_a_back_off_short() {
    for command in ["retry", "resume"] {
        backing_off().run(&[command, "s"]).ends(0).says("At last.");
    }
}

#[test]
fn b40_a_back_off_is_cut_short_for_the_workers_too() {
    let fixture = backing_off();
    fixture.run(&["retry", "s", "--detach"]).ends(0).says("left to a worker");
    fixture.run(&["work", "--until-idle"]).ends(0);
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("At last.");
}

#[test]
fn b40_a_back_off_is_called_off() {
    let fixture = backing_off();
    fixture.run(&["interrupt", "s"]).ends(20).says("interrupted");
    fixture.run(&["work", "--until-idle"]).ends(0);
    let messages = fixture.run(&["sessions", "messages", "s"]).ends(0);
    assert!(!messages.out.contains("At last."), "{messages:#?}");
}

#[test]
fn c53_an_agent_file_names_the_models_to_fall_back_on() {
    let fixture = Fixture::new();
    fixture.write(
        "chain.toml",
        r#"
model = "scripted:refuses.toml"
fallback = ["scripted:refuses.toml", { model = "scripted:spare.toml", prices = { output_microusd = 5_000_000 } }]
"#,
    );
    fixture.write(
        "refuses.toml",
        "[[turns]]\nsay = 'No.'\nfail = [{ attempt = 0, kind = 'quota', detail = 'pay first' }]\n",
    );
    fixture.write("spare.toml", "[[turns]]\nsay = 'The spare one.'\n");
    let ran = fixture.run(&["run", "chain.toml", "--session", "s", "hello"]).ends(0).says("The spare one.");
    assert!(ran.err.contains("is asked instead") || ran.out.contains("is asked instead"), "{ran:#?}");
    let told = fixture.run(&["events", "s"]).ends(0);
    assert_eq!(told.out.matches("falls back on").count(), 2, "{told:#?}");
    // Another process builds the same chain of models from the stored agent.
    fixture.run(&["send", "s", "hello again"]).ends(0).says("The spare one.");
    fixture.run(&["sessions", "replay", "s"]).ends(0);
}

#[test]
fn c53_an_agent_file_names_the_tool_to_fall_back_on_as_the_page_shows() {
    let page = include_str!("../../docs/how-to/failures.md");
    let (_, example) = page.split_once("```toml\ntool_fallbacks").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let fixture = Fixture::new();
    let call = "{ tool = 'charge', arguments = { cents = 5 } }";
    let play = format!("[[turns]]\nwhen = {{ nth = 1 }}\ncalls = [{call}]\n[[turns]]\nsay = 'Done.'\n");
    fixture.write("play.toml", &play);
    let file =
        format!("model = 'scripted:play.toml'\ntool_fallbacks{example}\n[retries]\ntool_waits_ms = []\n");
    fixture.write("till.toml", &file);
    fixture.run(&["run", "till.toml", "--session", "s", "charge it"]).ends(0).says("Done.");
    let told = fixture.run(&["events", "s"]).ends(0);
    assert!(
        told.out.contains("falls back from charge to charge_elsewhere: charge-card: could not be started"),
        "{told:#?}"
    );
    let said = fixture.run(&["sessions", "messages", "s"]).ends(0);
    assert!(said.out.contains("charge could not be run") && said.out.contains("charged 5"), "{said:#?}");
    fixture.run(&["sessions", "replay", "s"]).ends(0);
    let one_way = "charge = \"charge_elsewhere\"";
    let circle = file.replace(one_way, &format!("{one_way}, charge_elsewhere = \"charge\""));
    fixture.write("circle.toml", &circle);
    let refused = fixture.run(&["run", "circle.toml", "charge it"]).ends(2);
    assert!(refused.err.contains("tool_fallbacks.charge: the fallbacks lead back to charge"), "{refused:#?}");
}

#[test]
fn u10_a_breaker_is_seen_and_is_closed_by_hand() {
    let fixture = Fixture::new();
    let agent = "name = 'guarded'\nmodel = 'scripted:out.toml'\n[retries]\nmodel_waits_ms = []\n[breaker]\nfailures = 2\n";
    fixture.write("guarded.toml", agent);
    let out = "[[turns]]\nsay = 'never'\nfail = [{ attempt = 0, kind = 'provider', detail = 'out' }]\n";
    fixture.write("out.toml", out);
    let fails = |code: &str| {
        let ran = fixture.run(&["run", "guarded.toml", "--json", "hello"]).ends(1);
        assert_eq!(ran.last()["outcome"]["error"]["code"], code, "{ran:#?}");
    };
    fails("model.provider");
    fails("model.provider");
    fails("model.circuit_open");
    let theirs = ["--tenant", "holdover"];
    let listed = fixture.run(&[&["sessions", "list", "--json"], &theirs[..]].concat()).ends(0).lines();
    assert_eq!(listed.len(), 1, "{listed:#?}");
    let session = listed[0]["session"].as_str().expect("an id");
    assert!(session.starts_with("breaker scripted:") && session.ends_with("out.toml"), "{session}");
    // The breaker's session is not taken for one to run, and `doctor` finds nothing wrong with it.
    fixture.run(&[&["work", "--until-idle"], &theirs[..]].concat()).ends(0);
    fixture.run(&[&["doctor"], &theirs[..]].concat()).ends(0);
    fails("model.circuit_open");
    fixture.run(&[&["sessions", "delete", session], &theirs[..]].concat()).ends(0);
    fails("model.provider");
}

/// Reads one request from `connection` and answers it as a model does.
fn answers(connection: &TcpStream) {
    let mut reader = BufReader::new(connection);
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap();
        }
        line.clear();
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    let said = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Still here.\"},\"finish_reason\":\"stop\"}]}\n\n\
                data: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    let mut connection = connection;
    write!(connection, "{head}content-length: {}\r\n\r\n{said}", said.len()).unwrap();
}

#[test]
fn u10_a_server_that_is_out_holds_no_other_that_serves_the_same_model() {
    let fixture = Fixture::new();
    let out = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |listener: &TcpListener| format!("http://{}/v1", listener.local_addr().unwrap());
    let here = TcpListener::bind("127.0.0.1:0").unwrap();
    let (broken, good) = (url(&out), url(&here));
    // From now on nothing listens at this address.
    drop(out);
    std::thread::spawn(move || here.incoming().for_each(|connection| answers(&connection.unwrap())));
    let agent = format!(
        "model = {{ provider = 'openai', name = 'm', base_url = '{broken}' }}\n\
         fallback = [{{ provider = 'openai', name = 'm', base_url = '{good}' }}]\n\
         [retries]\nmodel_waits_ms = []\n[breaker]\nfailures = 1\n"
    );
    fixture.write("chain.toml", &agent);
    for _ in 0..2 {
        fixture.run(&["run", "chain.toml", "hello"]).ends(0).says("Still here.");
    }
    let listed = fixture.run(&["sessions", "list", "--tenant", "holdover", "--json"]).ends(0).lines();
    assert_eq!(listed.len(), 1, "{listed:#?}");
    assert_eq!(listed[0]["session"], format!("breaker openai:m at {broken}/"));
}
