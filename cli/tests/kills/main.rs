//! Workers are killed at random moments, often while an effect is running, and people go on sending messages and
//! answers. Every session must end, and no message or answer may be lost. No effect may be repeated unless that is
//! allowed. A call may be in doubt only if a kill may have hit it, or if its session lost a run for another reason.
//!
//! Requirements: U03.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

#[path = "../support/mod.rs"]
mod support;

mod deaths;
mod outcome;
mod people;
mod scene;
mod world;

use std::fmt::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use deaths::Deaths;
use fastrand::Rng;
use people::People;
use support::Fixture;
use world::{Hit, World};

/// The maximum number of kills in one round, and the number of all kills unless `HOLDOVER_KILLS` sets another.
const KILLS: usize = 50;
/// The minimum percentage of kills that must hit a worker while an effect is running.
const INSIDE_MIN: usize = 40;
/// The longest random delay before a worker is killed.
const MOMENT_MAX_MS: u64 = 1200;
const PATIENCE: Duration = Duration::from_secs(180);

/// A worker process that is killed when the value is dropped.
struct Mortal(Child);

impl Mortal {
    fn start(fixture: &Fixture) -> Self {
        let mut command = fixture.command(&["work", "--lease", "2s", "--max-running", "30"]);
        if fixture.engine.is_some() {
            // The net serves nobody here: only the engine can have the sessions run.
            command.args(["--tenant", "nobody"]);
        }
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills the worker with SIGKILL and returns its process id. Panics if the worker has ended already.
    fn kill(mut self) -> u32 {
        assert_eq!(self.0.try_wait().unwrap(), None, "a worker ended by itself");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
        self.0.id()
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        // The process may be dead already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Requirements: U03.
#[test]
fn a_worker_killed_at_any_moment_loses_nothing_and_repeats_no_effect() {
    kills_workers(None);
}

/// Requirements: R01, U03.
#[cfg(feature = "temporal")]
#[test]
fn r01_the_same_holds_for_workers_of_temporal() {
    let launcher = holdover_launcher::Launcher::new().unwrap();
    let server = launcher.temporal(&["HoldoverStatus"]).unwrap();
    kills_workers(Some(server.url()));
}

/// The workers share an address, at which Restate reaches one of them.
///
/// Requirements: R02, U03.
#[cfg(feature = "restate")]
#[test]
fn r02_the_same_holds_for_workers_of_restate() {
    let launcher = holdover_launcher::Launcher::new().unwrap();
    let server = launcher.restate().unwrap();
    let ingress = server.ingress_url().replace("http://", "restate://");
    let port = holdover_launcher::free_port().unwrap();
    kills_workers(Some(format!("{ingress}?admin={}&listen=127.0.0.1:{port}", server.admin_url())));
}

fn kills_workers(engine: Option<String>) {
    let kills: usize = std::env::var("HOLDOVER_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let (mut done, mut inside, mut doubts, mut report) = (0, 0, 0, String::new());
    let mut round = 0;
    while done < kills {
        let here = (kills - done).min(KILLS);
        let damage = storm(engine.clone(), round, here, &mut report);
        done += here;
        inside += damage.inside;
        doubts += damage.doubts;
        round += 1;
    }
    let share = inside * 100 / done;
    assert!(share >= INSIDE_MIN, "{inside} of {done} kills hit a started effect:\n{report}");
    assert!(doubts > 0, "no effect was left in doubt:\n{report}");
}

/// Prepares the sessions, and starts two workers. Restate must know the workers before it can be woken for their sessions.
fn begin(fixture: &Fixture) -> [Mortal; 2] {
    let start = || [Mortal::start(fixture), Mortal::start(fixture)];
    if fixture.engine.is_none() {
        scene::prepare(fixture);
        return start();
    }
    let workers = start();
    fixture.run(&["run", "agent.toml", "--session", "first", "hello"]).ends(0);
    fixture.run(&["sessions", "delete", "first"]).ends(0);
    scene::prepare(fixture);
    workers
}

struct Damage {
    inside: usize,
    doubts: usize,
}

fn storm(engine: Option<String>, round: u64, kills: usize, report: &mut String) -> Damage {
    let mut fixture = Fixture::new();
    fixture.engine = engine;
    let mut workers = begin(&fixture);
    let people = People::default();
    let (hits, said) = std::thread::scope(|scope| {
        let speaking = scope.spawn(|| people.speak(&fixture, round));
        // The people also stop if an assertion below fails.
        let leaving = people.leaving();
        let hits = kill_workers(&fixture, round, kills, &mut workers, report);
        fixture.write("files/enough", "");
        people.come_to_an_end();
        let began = Instant::now();
        while scene::open_sessions(&fixture) > 0 {
            assert!(!speaking.is_finished(), "the people ended by themselves");
            assert!(began.elapsed() < PATIENCE, "sessions do not end:\n{report}");
            std::thread::sleep(Duration::from_millis(200));
        }
        drop(leaving);
        (hits, speaking.join().expect("they were answered"))
    });
    drop(workers);
    said.check(&fixture);
    let world = World::read(&fixture);
    let doubts =
        (0..scene::SESSIONS).map(|session| outcome::check(&fixture, session, &world, &hits, report)).sum();
    Damage { inside: hits.iter().filter(|hit| !hit.inside.is_empty()).count(), doubts }
}

fn kill_workers(
    fixture: &Fixture,
    round: u64,
    kills: usize,
    workers: &mut [Mortal; 2],
    report: &mut String,
) -> Vec<Hit> {
    let mut rng = Rng::with_seed(round);
    let deaths = Deaths::of(fixture);
    let mut hits = Vec::new();
    for kill in 0..kills {
        // Mostly a worker that has begun an effect, sometimes any worker.
        let which = if rng.u32(0..6) > 0 {
            one_that_acts(fixture, [workers[0].id(), workers[1].id()], &mut rng, report)
        } else {
            rng.usize(0..2)
        };
        std::thread::sleep(Duration::from_millis(rng.u64(0..MOMENT_MAX_MS)));
        deaths.are_few(report);
        let survivor = workers[1 - which].id();
        let dead = std::mem::replace(&mut workers[which], Mortal::start(fixture)).kill();
        let at_ms = now_ms();
        let hit = World::read(fixture).hit(dead, survivor, at_ms, &hits);
        writeln!(report, "round {round}, kill {kill}, worker {dead}: {hit}").unwrap();
        hits.push(hit);
        assert!(scene::open_sessions(fixture) > 0, "the work ended before the kills:\n{report}");
    }
    hits
}

/// Returns the current time in milliseconds since 1970, by the clock that the store uses.
fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Waits until one of the workers has begun an effect, and returns its index. Chooses at random if both have.
fn one_that_acts(fixture: &Fixture, workers: [u32; 2], rng: &mut Rng, report: &str) -> usize {
    let began = Instant::now();
    loop {
        let world = World::read(fixture);
        let acting: Vec<usize> = (0..2).filter(|which| world.has_acted(workers[*which])).collect();
        if let Some(which) = rng.choice(acting) {
            return which;
        }
        assert!(began.elapsed() < PATIENCE, "no worker does anything:\n{report}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
