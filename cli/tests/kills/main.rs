//! Workers are killed at random moments, mostly with an effect out; every session ends, and the effects that
//! are found in the file system are those that were promised.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::Fixture;

/// Kills in one round, unless `HOLDOVER_KILLS` says otherwise; more of them are more rounds.
const KILLS: usize = 50;
const SESSIONS: usize = 20;
/// More steps than a session needs: it ends once it is told that it is enough. Each step has one effect that is
/// never repeated, and one that may be.
const STEPS: usize = 300;
/// Of all kills, so many per cent must hit a worker with an effect out.
const INSIDE_MIN: usize = 40;
const PATIENCE: Duration = Duration::from_secs(120);

/// Notes that it began, takes its time, notes that it ended, and says whether it is enough. The parent is the worker that sent it.
const EFFECT: &str = "echo \"start $1 $PPID\" >> world.log\nsleep 0.4\necho \"end $1 $PPID\" >> world.log\n\
     test -e enough && echo enough\n";

const AGENT: &str = r#"
name = "tester"
model = "scripted:SESSION-script.toml"
root = "files"
tools = ["read_file", "write_file", "run_command"]

[[approval]]
tool = "run_command"
action = "allow"

[limits]
max_steps = 300
"#;

fn key(session: usize, step: usize) -> String {
    format!("s{session:02}-{step:02}")
}

/// One turn for each step of the session, whatever became of the step before it.
fn script(session: usize) -> String {
    let mut script = String::from(
        "[[turns]]\nwhen = { result_of = 'run_command', result_contains = 'enough' }\nsay = 'All done.'\n\n",
    );
    for step in 1..=STEPS {
        let key = key(session, step);
        let command = format!("{{ program = 'sh', args = ['effect.sh', '{key}'] }}");
        let file = format!("{{ path = '{key}.txt', content = '{key}' }}");
        let calls = format!(
            "{{ tool = 'run_command', arguments = {command} }}, {{ tool = 'write_file', arguments = {file} }}"
        );
        writeln!(script, "[[turns]]\nwhen = {{ nth = {step} }}\ncalls = [{calls}]\n").unwrap();
    }
    script
}

/// What the world saw: what began and what ended, in which worker.
#[derive(Debug, Default)]
struct World {
    starts: BTreeMap<String, Vec<u32>>,
    ends: BTreeMap<String, Vec<u32>>,
}

impl World {
    fn read(fixture: &Fixture) -> Self {
        let mut world = Self::default();
        for line in std::fs::read_to_string(fixture.path("files/world.log")).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, key, worker] = words.as_slice() else { panic!("{line:?}") };
            let seen = if *what == "start" { &mut world.starts } else { &mut world.ends };
            seen.entry((*key).to_owned()).or_default().push(worker.parse().unwrap());
        }
        world
    }

    /// What has begun in this worker and not ended.
    fn inside(&self, worker: u32) -> Vec<&str> {
        let began = self.starts.iter().filter(|(_, by)| by.contains(&worker));
        began.filter(|(key, _)| !self.ends.contains_key(*key)).map(|(key, _)| key.as_str()).collect()
    }
}

/// Numbers that look random and are not.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A worker that is killed when the test is over.
struct Mortal(Child);

impl Mortal {
    fn start(fixture: &Fixture) -> Self {
        let mut command = fixture.command(&["work", "--lease", "2s", "--max-running", "20"]);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
    }

    /// SIGKILL; it must have been alive.
    fn kill(mut self) -> u32 {
        assert_eq!(self.0.try_wait().unwrap(), None, "a worker ended by itself");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
        self.0.id()
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_worker_killed_at_any_moment_loses_nothing_and_repeats_no_effect() {
    let kills: usize = std::env::var("HOLDOVER_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let (mut done, mut inside, mut doubts, mut report) = (0, 0, 0, String::new());
    let mut round = 0;
    while done < kills {
        let here = (kills - done).min(KILLS);
        let damage = storm(round, here, &mut report);
        done += here;
        inside += damage.inside;
        doubts += damage.doubts;
        round += 1;
    }
    let share = inside * 100 / done;
    assert!(share >= INSIDE_MIN, "{inside} of {done} kills hit a started effect:\n{report}");
    assert!(doubts > 0, "no effect was left in doubt:\n{report}");
}

struct Damage {
    inside: usize,
    doubts: usize,
}

fn storm(round: u64, kills: usize, report: &mut String) -> Damage {
    let fixture = Fixture::new();
    fixture.write("files/effect.sh", EFFECT);
    for session in 0..SESSIONS {
        let name = format!("s{session:02}");
        let agent = format!("{name}.toml");
        fixture.write(&format!("{name}-script.toml"), &script(session));
        fixture.write(&agent, &AGENT.replace("SESSION", &name));
        fixture.run(&["run", &agent, "--session", &name, "--detach", &name]).ends(0);
    }
    let mut dice = Dice(round);
    let mut inside = 0;
    let mut workers = [Mortal::start(&fixture), Mortal::start(&fixture)];
    for kill in 0..kills {
        // Mostly one that is at work, sometimes whichever.
        let which = if dice.below(6) > 0 {
            one_that_acts(&fixture, [workers[0].0.id(), workers[1].0.id()], report)
        } else {
            dice.below(2) as usize
        };
        std::thread::sleep(Duration::from_millis(dice.below(900)));
        let dead = std::mem::replace(&mut workers[which], Mortal::start(&fixture)).kill();
        let world = World::read(&fixture);
        let out = world.inside(dead);
        inside += usize::from(!out.is_empty());
        let began = world.starts.values().any(|by| by.contains(&dead));
        let what = match (out.is_empty(), began) {
            (false, _) => format!("inside {}", out.join(", ")),
            (true, true) => "between effects".to_owned(),
            (true, false) => "before its first effect".to_owned(),
        };
        writeln!(report, "round {round}, kill {kill}, worker {dead}: {what}").unwrap();
        assert!(open_sessions(&fixture) > 0, "the work ended before the kills:\n{report}");
    }
    fixture.write("files/enough", "");
    let began = Instant::now();
    while open_sessions(&fixture) > 0 {
        assert!(began.elapsed() < PATIENCE, "sessions do not end:\n{report}");
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(workers);
    let doubts = (0..SESSIONS).map(|session| check(&fixture, session, report)).sum();
    Damage { inside, doubts }
}

/// The first of these workers that has sent an effect.
fn one_that_acts(fixture: &Fixture, workers: [u32; 2], report: &str) -> usize {
    let began = Instant::now();
    loop {
        let world = World::read(fixture);
        let acts = |worker: &u32| world.starts.values().any(|by| by.contains(worker));
        if let Some(which) = workers.iter().position(acts) {
            return which;
        }
        assert!(began.elapsed() < PATIENCE, "no worker does anything:\n{report}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn open_sessions(fixture: &Fixture) -> usize {
    let listed = fixture.run(&["sessions", "list", "--json", "--limit", "100"]).ends(0).lines();
    assert_eq!(listed.len(), SESSIONS);
    listed
        .iter()
        .filter(|session| session["status"] != "idle")
        .inspect(|session| {
            let status = session["status"].as_str().unwrap();
            let name = session["session"].as_str().unwrap();
            let shown = || fixture.run(&["sessions", "show", name]).out;
            assert!(["active", "suspended"].contains(&status), "{}", shown());
        })
        .count()
}

/// Holds each result of the session against the world. How many calls are in doubt.
fn check(fixture: &Fixture, session: usize, report: &str) -> usize {
    let name = format!("s{session:02}");
    let world = World::read(fixture);
    let messages = fixture.run(&["sessions", "messages", &name, "--json"]).ends(0).lines();
    let of = |role: &str| -> Vec<&Value> {
        messages.iter().map(|entry| &entry["message"]).filter(|message| message["role"] == role).collect()
    };
    let results = of("tool");
    let said = of("assistant");
    assert_eq!(results.len(), 2 * (said.len() - 1), "{name}: one result for each call\n{report}");
    let last = said.last().unwrap();
    assert_eq!(last["parts"][0]["text"], "All done.", "{name}");
    let mut doubts = 0;
    for (at, result) in results.iter().enumerate() {
        let key = key(session, at / 2 + 1);
        let (starts, ends) =
            (world.starts.get(&key).map_or(0, Vec::len), world.ends.get(&key).map_or(0, Vec::len));
        let status = result["status"].as_str().unwrap();
        if result["tool"] == "write_file" {
            let written = fixture.read(&format!("files/{key}.txt"));
            assert_eq!((status, written.as_str()), ("done", key.as_str()), "{report}");
            continue;
        }
        match status {
            "done" => assert_eq!((starts, ends), (1, 1), "{key} is done\n{report}"),
            // It may end by itself after its worker died.
            "in_doubt" => {
                assert!(starts <= 1, "{key} is in doubt and began {starts} times\n{report}");
                doubts += 1;
            }
            "cancelled" => assert_eq!(starts, 0, "{key} is cancelled\n{report}"),
            other => panic!("{key} is {other}: {result}\n{report}"),
        }
    }
    doubts
}
