//! The number of syncs of a step, measured from outside: the test runs this binary under `strace`.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::agent::{self, Answer};
use crate::kinds::KINDS;
use crate::watch::Watched;

const CHILD: &str = "syncs::child_takes_steps_of_one_kind";
const FOLDER: &str = "HOLDOVER_GROWTH_FOLDER";
const KIND: &str = "HOLDOVER_GROWTH_KIND";
const STEPS: &str = "HOLDOVER_GROWTH_STEPS";

/// The steps of the short session. The long session has twice as many, so their difference is the cost of the steps
/// alone.
const FEW: u64 = 10;

#[test]
fn a_step_syncs_once_for_each_of_its_durable_points_and_never_for_deltas() {
    for (place, kind) in KINDS.iter().enumerate() {
        let steps = syncs(place, 2 * FEW) - syncs(place, FEW);
        let asks = kind.asks;
        assert_eq!(
            steps,
            FEW * kind.synced(),
            "syncs of {FEW} steps that ask for {asks:?}, {} words",
            kind.words
        );
    }
}

/// Returns the number of syncs of a whole session.
fn syncs(kind: usize, steps: u64) -> u64 {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let log = folder.path().join("strace.log");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-e", "signal=none", "-o"])
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", CHILD])
        .env(FOLDER, folder.path())
        .env(KIND, kind.to_string())
        .env(STEPS, steps.to_string())
        .output()
        .unwrap_or_else(|error| panic!("this test needs strace, which cannot be started: {error}"));
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{errors}");
    let lines = std::fs::read_to_string(&log).unwrap();
    lines.lines().filter(|line| line.contains("sync(")).count() as u64
}

#[tokio::test]
#[ignore = "run under strace by the test above"]
async fn child_takes_steps_of_one_kind() {
    let var = |name: &str| std::env::var(name).expect("run by the test of this file");
    let store = agent::open(Path::new(&var(FOLDER))).await;
    let watched = Watched::deaf(store);
    let answers: [agent::Answers; 5] = [answer::<0>, answer::<1>, answer::<2>, answer::<3>, answer::<4>];
    let answers = answers[var(KIND).parse::<usize>().unwrap()];
    let agent = agent::agent(answers, var(STEPS).parse().unwrap(), watched.hooks(drop));
    agent::run(Arc::new(watched.store()), agent).await;
    // Exits without closing the store, which would also sync.
    say("1 passed");
    std::process::exit(0);
}

#[allow(clippy::print_stdout, reason = "the test that started this process reads it")]
fn say(line: &str) {
    println!("{line}");
}

fn answer<const KIND: usize>(_step: u64) -> Answer {
    Answer { asks: KINDS[KIND].asks, words: KINDS[KIND].words }
}
