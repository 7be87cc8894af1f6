//! Commands with `--engine`: on a Temporal server and on a Restate server.
//!
//! Requirements: R01, R02.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::net::TcpListener;

use holdover_launcher::{Launcher, Restate, Temporal, free_port, shared};
use serde_json::{Value, json};
use support::{Fixture, Ran, Running, wait_until};

/// A server of one kind.
enum Server {
    Temporal(Temporal),
    Restate(Restate),
}

impl Server {
    fn start(launcher: &Launcher, kind: &str) -> Self {
        match kind {
            "temporal" => Self::Temporal(launcher.temporal(&["HoldoverStatus"]).unwrap()),
            _ => Self::Restate(launcher.restate().unwrap()),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Temporal(server) => server.url(),
            Self::Restate(server) => {
                let ingress = server.ingress_url().replace("http://", "restate://");
                let port = free_port().unwrap();
                format!("{ingress}?admin={}&listen=127.0.0.1:{port}", server.admin_url())
            }
        }
    }

    /// Kills the server.
    fn kill(&mut self) {
        match self {
            Self::Temporal(server) => server.process().kill(),
            Self::Restate(server) => server.process().kill(),
        }
    }

    /// Starts the server again, on its data.
    fn start_again(&mut self) {
        match self {
            Self::Temporal(server) => server.start().unwrap(),
            Self::Restate(server) => server.start().unwrap(),
        }
    }
}

/// An agent's folder, and the engine and the store that all commands in it name.
struct World {
    fixture: Fixture,
    engine: String,
    store: String,
}

impl World {
    fn new(engine: String) -> Self {
        Self { fixture: Fixture::new(), engine, store: "sqlite:holdover.db".into() }
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.fixture.run(&[words, &["--engine", &self.engine, "--store", &self.store]].concat())
    }

    fn start(&self, words: &[&str]) -> Running {
        self.fixture.start(&[words, &["--engine", &self.engine, "--store", &self.store]].concat())
    }

    fn session(&self, id: &str) -> Value {
        let shown = self.fixture.run(&["sessions", "show", id, "--json", "--store", &self.store]);
        shown.ends(0).last()
    }

    /// Waits until the session has this status.
    fn until(&self, id: &str, status: &str) {
        wait_until(&format!("{id} is {status}"), || self.session(id)["status"] == status);
    }

    fn compared(&self) -> Value {
        self.run(&["doctor", "--json"]).last()["engine"].clone()
    }
}

fn on_each(test: impl Fn(Server)) {
    let launcher = Launcher::new().unwrap();
    for kind in ["temporal", "restate"] {
        test(Server::start(&launcher, kind));
    }
}

/// Requirements: R01, R02.
#[test]
fn r01_r02_a_worker_of_the_engine_runs_what_every_command_begins_and_answers() {
    on_each(|mut server| main_job(&mut server, "sqlite:holdover.db"));
}

/// Requirements: R01, R02.
#[test]
fn r01_r02_the_same_on_postgres() {
    on_each(|mut server| {
        let schema = format!("engines_{}", std::process::id());
        let kind = if matches!(server, Server::Temporal(_)) { "t" } else { "r" };
        main_job(&mut server, &format!("{}?schema={schema}_{kind}", shared::postgres_url()));
    });
}

/// The net of the worker serves another tenant, so that only the engine can have the sessions run.
fn main_job(server: &mut Server, store: &str) {
    let world = World { store: store.into(), ..World::new(server.url()) };
    let worker = world.start(&["work", "--lease", "2s", "--json", "--tenant", "nobody"]);
    let asked = world.run(&["run", "agent.toml", "--session", "s", "write", "--json"]).ends(10);
    assert_eq!(asked.last()["outcome"]["kind"], "suspended_client_tool");
    wait_until("the engine shows it", || {
        let compared = world.compared();
        compared["compared"] == 1 && compared["differences"] == json!([])
    });
    world.run(&["approve", "s"]).ends(0).says("Written.");
    assert_eq!(world.fixture.read("files/note.txt"), "it's\nwritten\n");
    // A turn after the turn, and one whose timer the engine keeps.
    world.run(&["send", "s", "hello"]).ends(0).says("Good day.");
    world.run(&["send", "s", "rest"]).ends(0).says("Rested.");
    world.run(&["compact", "s"]).ends(0);

    // The engine dies in the middle of a tool.
    world.run(&["run", "agent.toml", "--session", "t", "linger", "--detach"]).ends(0);
    wait_until("the tool has begun", || world.fixture.has("files/marker"));
    server.kill();
    server.start_again();
    world.run(&["run", "agent.toml", "--session", "u", "write", "--detach"]).ends(0);
    world.until("u", "suspended");
    assert_eq!(world.session("t")["status"], "active", "the run belongs to the worker");

    // So does the worker. The call in it is in doubt, and another worker goes on.
    drop(worker);
    let worker = world.start(&["work", "--lease", "2s", "--json", "--tenant", "nobody"]);
    world.until("t", "idle");
    world.run(&["approve", "u"]).ends(0).says("Written.");
    let shown = world.run(&["sessions", "messages", "t"]).ends(0);
    assert!(shown.out.contains("It had begun."), "{shown:#?}");
    worker.signal(rustix::process::Signal::TERM);
    let ended = worker.end().ends(0);
    assert_eq!(ended.last()["stopped"], "stopped");
    assert!(ended.lines().iter().any(|line| line["session"] == "t"), "{ended:#?}");
}

#[test]
fn doctor_names_the_sessions_that_the_engine_does_not_know() {
    on_each(|mut server| {
        let world = World::new(server.url());
        world.fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
        world.fixture.run(&["run", "agent.toml", "--session", "new", "hello", "--detach"]).ends(0);
        let compared = world.compared();
        let unknown = "the engine does not know it; a worker runs it when it looks at the store";
        let mut differences = compared["differences"].as_array().unwrap().clone();
        differences.sort_by_key(|difference| difference["session"].to_string());
        let detail = |id: &str| json!({ "session": id, "detail": unknown });
        assert_eq!(differences, [detail("new"), detail("s")]);
        world.run(&["doctor"]).says("2 open sessions compared: 2 differences from the store").says(unknown);
        // Whoever resumes a session wakes the engine, although nothing is written.
        let _worker = world.start(&["work", "--tenant", "nobody"]);
        world.run(&["resume", "new"]).ends(0).says("Good day.");
        server.kill();
        let silent = world.run(&["doctor"]).ends(1);
        assert!(silent.out.contains("it does not answer: "), "{silent:#?}");
    });
}

#[test]
fn without_the_engine_everything_is_accepted_and_the_net_runs_it() {
    // Nobody listens on this port.
    let port = { TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port() };
    for engine in [format!("temporal://127.0.0.1:{port}"), format!("restate://127.0.0.1:{port}")] {
        let mut world = World::new(engine.clone());
        let left = world.run(&["run", "agent.toml", "--session", "s", "hello", "--detach"]).ends(0);
        assert!(left.err.contains("it does not answer; a worker finds the session"), "{left:#?}");
        if engine.starts_with("restate") {
            world.engine = format!("{engine}?listen=127.0.0.1:0");
        }
        let _worker = world.start(&["work"]);
        world.until("s", "idle");
        wait_until("it was run", || world.session("s")["unread"] == 0);
    }
}

#[test]
fn a_wrong_engine_is_a_wrong_use_and_changes_nothing() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let down = "temporal://127.0.0.1:1";
    for (words, engine, why) in [
        (
            &["send", "s", "hello"][..],
            "cadence://h",
            "write temporal://HOST:PORT/NAMESPACE or restate://HOST:PORT",
        ),
        (&["send", "s", "hello"], "temporal://h/a/b", "more follows the namespace"),
        (&["send", "s", "hello"], "restate://h?x=1", "unknown parameter \"x\""),
        (
            &["send", "s", "hello", "--model", "scripted:script.toml"],
            down,
            "--model and --base-url are for runs",
        ),
        (&["resume", "s", "--model", "scripted:script.toml"], down, "--model and --base-url are for runs"),
        (&["compact", "s", "--base-url", "http://127.0.0.1:1"], down, "--model and --base-url are for runs"),
        (&["work", "--until-idle"], down, "--until-idle is for a worker alone"),
    ] {
        fixture.run(&[words, &["--engine", engine]].concat()).fails(2, &[why]);
    }
    assert_eq!(fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last()["unread"], 0);
}
