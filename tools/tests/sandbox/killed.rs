//! Tests of the processes and files that a killed process leaves behind, and of their removal.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use holdover_core::ids::TurnNumber;
use holdover_tools::{Job, LocalSandboxes, SandboxOptions, SandboxProvider, Sandboxes, WallsPolicy};

use crate::ground::{Ground, LIVES_ON, Witness, left_in, session, until};

const ROOT: &str = "HOLDOVER_TEST_SANDBOX_ROOT";
const WALLS: &str = "HOLDOVER_TEST_SANDBOX_WALLS";

/// The entry point of the child process: runs a command in a sandbox until it is killed. Without the variable
/// `ROOT`, this test does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_one_that_is_killed() {
    let Some(root) = std::env::var_os(ROOT) else { return };
    let walls = if std::env::var_os(WALLS).is_some() { WallsPolicy::Preferred } else { WallsPolicy::Off };
    let options = SandboxOptions::default().root(Some(PathBuf::from(root))).walls(walls);
    let sandbox = LocalSandboxes::open(&options).unwrap().enter(&session("a")).await.unwrap();
    let job = Job { limit: Duration::from_secs(600), ..Job::shell(format!("{LIVES_ON} sleep 1000")) };
    panic!("it runs until it is killed: {:?}", sandbox.run(job).await);
}

/// Starts a child process and kills it in the middle of its sandbox command.
fn kill_one(ground: &Ground, walls: bool) -> Witness {
    std::fs::create_dir_all(ground.root()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "killed::the_one_that_is_killed", "--nocapture"]).env(ROOT, ground.root());
    if walls {
        command.env(WALLS, "1");
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let workspace = until(|| {
        let found = left_in(&ground.root()).into_iter().find(|name| !name.contains('.'));
        found.map(|name| ground.root().join(name).join("work"))
    });
    let mut witness = Witness::of(&workspace);
    assert!(witness.sees_them());
    child.kill().unwrap();
    child.wait().unwrap();
    witness
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_the_turn_that_begins_next_clears_what_a_killed_process_left() {
    for walls in [true, false] {
        let ground = Ground::new();
        let witness = kill_one(&ground, walls);
        assert_eq!(ground.left().len(), 2, "its folder and its lock are there: {:?}", ground.left());
        let sandboxes = Sandboxes::new(ground.open());
        sandboxes.provisioner().provision(&session("a"), TurnNumber(2)).await.unwrap();
        witness.saw_their_end();
        assert!(ground.left().is_empty(), "{:?}", ground.left());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_a_run_that_goes_on_with_the_turn_finds_its_files_and_no_process() {
    for walls in [true, false] {
        let ground = Ground::new();
        let witness = kill_one(&ground, walls);
        let sandbox = ground.open().enter(&session("a")).await.unwrap();
        witness.saw_their_end();
        assert!(!sandbox.is_new() && sandbox.workspace().join("pipe").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_any_process_sweeps_what_a_killed_one_left() {
    let ground = Ground::new();
    let witness = kill_one(&ground, false);
    // The sandbox is not yet idle for long enough, so its lock is given an old date.
    for name in ground.left().iter().filter(|name| name.ends_with(".lock")) {
        let lock = std::fs::File::options().write(true).open(ground.root().join(name)).unwrap();
        lock.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    ground.open().sweep().await.unwrap();
    witness.saw_their_end();
    assert!(ground.left().is_empty(), "{:?}", ground.left());
}
