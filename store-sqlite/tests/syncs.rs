//! The writer's disk accesses, as seen from outside. These tests run themselves under `strace`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use holdover_store::ids::Fence;
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use support::*;

/// Runs the test `child` on the file of `folder` under strace. Returns the output and one line for each sync.
fn traced_in(folder: &Folder, child: &str, inject: Option<String>) -> (Output, Vec<String>) {
    let log = folder.path().join("strace.log");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-qq", "-e", "trace=fsync,fdatasync", "-e", "signal=none", "-o"]).arg(&log);
    if let Some(inject) = inject {
        strace.args(["-e", &inject]);
    }
    let output = strace
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", child])
        .env("HOLDOVER_TEST_FILE", folder.file())
        .output()
        .unwrap_or_else(|error| panic!("this test needs strace, which cannot be started: {error}"));
    let lines = std::fs::read_to_string(&log).unwrap();
    let syncs = lines.lines().filter(|line| line.contains("sync(")).map(str::to_owned).collect();
    (output, syncs)
}

/// Runs the test `child`, which must succeed, on a new file. Returns one line for each sync.
fn traced(child: &str, inject: Option<String>) -> Vec<String> {
    let (output, syncs) = traced_in(&Folder::new(), child, inject);
    succeeded(child, &output);
    syncs
}

fn succeeded(child: &str, output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{child}: {text}\n{errors}");
}

/// Returns the position of the last sync among the syncs of its thread. strace counts for each thread, and the last
/// sync of the writer's thread is that of the commit.
fn place_of_last(syncs: &[String]) -> usize {
    let thread = |line: &String| line.split_whitespace().next().map(str::to_owned);
    let last = thread(syncs.last().unwrap());
    syncs.iter().filter(|line| thread(line) == last).count()
}

fn file() -> std::ffi::OsString {
    std::env::var_os("HOLDOVER_TEST_FILE").expect("run by the tests of this file")
}

/// Opens a store with two claimed sessions, each with a commit, so that the log has its header.
async fn two_claims() -> (SqliteStore, Claim, Claim) {
    let (store, a, b, _) = two_claims_and_a_gate().await;
    (store, a, b)
}

/// Opens a store like `two_claims`, with a third session, the gate. Writes that are to form a group wait behind its
/// renewal.
async fn two_claims_and_a_gate() -> (SqliteStore, Claim, Claim, Claim) {
    let store = SqliteStore::open(SqliteOptions::new(file())).await.unwrap();
    let (a, b) = (claimed(&store, "a").await, claimed(&store, "b").await);
    let gate = claimed(&store, "gate").await;
    for claim in [&a, &b] {
        receipt(store.commit(&claim.fence, saying("c1", "first")).await.unwrap());
    }
    (store, a, b, gate)
}

#[test]
fn two_sessions_commits_share_one_sync() {
    let idle = traced("child_rests", None);
    let apart = traced("child_commits_twice_apart", None);
    let together = traced("child_commits_twice_together", None);
    assert_eq!(apart.len() - idle.len(), 2, "one sync for each commit: {apart:?}");
    assert_eq!(together.len() - idle.len(), 1 + 1, "one sync for the gate, one for both: {together:?}");
}

/// Deltas and commits alternate: the setting that skips the sync must be switched each time.
#[test]
fn deltas_are_not_synced_and_every_commit_among_them_is() {
    let idle = traced("child_rests", None);
    let deltas = traced("child_streams", None);
    assert_eq!(deltas.len() - idle.len(), 0, "no sync for deltas: {deltas:?}");
    let among = traced("child_commits_while_it_streams", None);
    assert_eq!(among.len() - idle.len(), STREAMED as usize, "one sync for each commit: {among:?}");
    let beside = traced("child_commits_in_the_group_of_a_delta", None);
    assert_eq!(beside.len() - idle.len(), 1 + 1, "a group with a commit in it is synced: {beside:?}");
}

#[test]
fn a_sync_that_fails_leaves_the_outcome_unknown_to_all_and_the_store_usable() {
    let nth = place_of_last(&traced("child_commits_twice_together", None));
    let inject = format!("inject=fsync,fdatasync:error=EIO:when={nth}");
    let syncs = traced("child_meets_a_failing_sync", Some(inject));
    let injected = syncs.iter().filter(|line| line.contains("INJECTED")).count();
    assert_eq!(injected, 1, "the fault fired: {syncs:?}");
}

#[test]
fn a_commit_that_was_written_but_not_synced_is_synced_before_its_repeat_is_acknowledged() {
    let nth = place_of_last(&traced("child_commits_twice_together", None));
    let folder = Folder::new();
    let inject = format!("inject=fsync,fdatasync:signal=KILL:when={nth}");
    let (output, _) = traced_in(&folder, "child_commits_twice_together", Some(inject));
    assert!(!output.status.success(), "the fault fired: {output:?}");
    let (output, syncs) = traced_in(&folder, "child_repeats_a_commit", None);
    succeeded("child_repeats_a_commit", &output);
    assert!(syncs.iter().any(|line| line.contains("holdover.db-wal")), "{syncs:?}");
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_rests() {
    let _open = two_claims().await;
    leave();
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_commits_twice_apart() {
    let (store, a, b) = two_claims().await;
    for claim in [&a, &b] {
        receipt(store.commit(&claim.fence, saying("c2", "second")).await.unwrap());
    }
    leave();
}

/// The number of batches of deltas that are written one after the other.
const STREAMED: u32 = 5;

async fn streams(store: &SqliteStore, claim: &Claim, stream: u32) {
    let batch = DeltaBatch { stream, first: 1, deltas: vec![Payload::new("word")] };
    let outcome = store.append_deltas(&claim.fence, batch).await.unwrap();
    assert!(matches!(outcome, DeltaOutcome::Appended(_)), "{outcome:?}");
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_streams() {
    let (store, a, _) = two_claims().await;
    let before = store.writer_counts();
    for stream in 1..=STREAMED {
        streams(&store, &a, stream).await;
    }
    let after = store.writer_counts();
    let (groups, provisional) = (after.groups - before.groups, after.provisional - before.provisional);
    assert_eq!((groups, provisional), (STREAMED.into(), STREAMED.into()));
    leave();
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_commits_while_it_streams() {
    let (store, a, _) = two_claims().await;
    for stream in 1..=STREAMED {
        streams(&store, &a, stream).await;
        let said = saying(&format!("c{}", stream + 1), "second");
        receipt(store.commit(&a.fence, said).await.unwrap());
    }
    leave();
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_commits_in_the_group_of_a_delta() {
    let (store, a, b, gate) = two_claims_and_a_gate().await;
    let before = store.writer_counts();
    let said = saying("c2", "second");
    let asked = async { tokio::join!(streams(&store, &a, 1), store.commit(&b.fence, said)) };
    let ((), committed) = in_one_group(&store, Path::new(&file()), &gate, asked).await;
    receipt(committed.unwrap());
    let after = store.writer_counts();
    assert_eq!((after.groups - before.groups, after.provisional - before.provisional), (1 + 1, 0));
    leave();
}

/// Commits to both sessions in one group.
async fn together(
    store: &SqliteStore,
    [a, b, gate]: [&Claim; 3],
) -> (Result<CommitOutcome, StoreError>, Result<CommitOutcome, StoreError>) {
    let asked = async {
        tokio::join!(
            store.commit(&a.fence, saying("c2", "second")),
            store.commit(&b.fence, saying("c2", "second")),
        )
    };
    in_one_group(store, Path::new(&file()), gate, asked).await
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_commits_twice_together() {
    let (store, a, b, gate) = two_claims_and_a_gate().await;
    let (first, second) = together(&store, [&a, &b, &gate]).await;
    receipt(first.unwrap());
    receipt(second.unwrap());
    leave();
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_meets_a_failing_sync() {
    let (store, a, b, gate) = two_claims_and_a_gate().await;
    let (first, second) = together(&store, [&a, &b, &gate]).await;
    for failed in [first, second] {
        let error = failed.unwrap_err();
        assert_eq!(
            (error.kind, error.retry),
            (StoreErrorKind::Unavailable, Retry::OutcomeUnknown),
            "{error}"
        );
    }
    // The owner repeats the same commit until it gets an answer.
    let said = || saying("c2", "second");
    let (first, second) = tokio::join!(store.commit(&a.fence, said()), store.commit(&b.fence, said()));
    receipt(first.unwrap());
    receipt(second.unwrap());
    assert_eq!(store.writer_counts().reopened, 1);
    for claim in [&a, &b] {
        assert_eq!(messages(&store, &claim.fence.key).await, ["first", "second"]);
    }
    leave();
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_repeats_a_commit() {
    let store = SqliteStore::open(SqliteOptions::new(file())).await.unwrap();
    let session = store.load_session(&key("a")).await.unwrap().unwrap();
    assert_eq!(messages(&store, &session.key).await, ["first", "second"], "it was written");
    let fence = Fence { key: session.key, incarnation: session.incarnation, epoch: session.epoch };
    let repeat = store.commit(&fence, saying("c2", "second")).await.unwrap();
    assert_eq!(receipt(repeat).version, session.version);
    leave();
}

/// Prints the test harness's last line, and exits without closing the store, because closing would also sync.
fn leave() -> ! {
    say("1 passed");
    std::process::exit(0)
}

#[allow(clippy::print_stdout, reason = "the test that started this process reads it")]
fn say(line: &str) {
    println!("{line}");
}

const COMMITS: u64 = 4;

/// The system calls with which SQLite changes a file.
const WRITES: &str = "pwrite64,fsync,fdatasync,ftruncate,fallocate";

#[test]
fn a_process_killed_at_any_write_keeps_what_it_acknowledged() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut kills = 0;
    for nth in 1.. {
        let folder = Folder::new();
        let output = Command::new("strace")
            .args(["-f", "-qq", "-e", &format!("trace={WRITES}"), "-e", "signal=none", "-o", "/dev/null"])
            .args(["-e", &format!("inject={WRITES}:signal=KILL:when={nth}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", "child_commits_until_it_is_killed"])
            .env("HOLDOVER_TEST_FILE", folder.file())
            .output()
            .unwrap_or_else(|error| panic!("this test needs strace, which cannot be started: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let acked = text.lines().filter(|line| line.starts_with("acked")).count() as u64;
        let finished = text.contains("1 passed");
        runtime.block_on(async {
            let store = folder.store().await;
            match store.load_session(&key("s")).await.unwrap() {
                None => assert_eq!(acked, 0, "killed at write {nth}: {text}"),
                Some(session) => {
                    let (said, told) = (session.last_message.0, session.last_event.0);
                    assert!(
                        said == acked || said == acked + 1,
                        "killed at write {nth}: {said} of {acked} acked"
                    );
                    assert_eq!(told, said, "killed at write {nth}");
                    assert_eq!(
                        messages(&store, &session.key).await.len() as u64,
                        said,
                        "killed at write {nth}"
                    );
                }
            }
        });
        if finished {
            assert_eq!(acked, COMMITS);
            break;
        }
        assert!(!output.status.success(), "{text}");
        kills += 1;
    }
    // Each commit writes to the log at least once.
    assert!(kills > COMMITS, "{kills} kills");
}

#[tokio::test]
#[ignore = "run under strace by the tests above"]
async fn child_commits_until_it_is_killed() {
    let store = SqliteStore::open(SqliteOptions::new(file())).await.unwrap();
    let claim = claimed(&store, "s").await;
    for n in 1..=COMMITS {
        let said = Commit { events: vec![Payload::new("event")], ..saying(&format!("c{n}"), "text") };
        receipt(store.commit(&claim.fence, said).await.unwrap());
        say(&format!("acked {n}"));
    }
    leave();
}
