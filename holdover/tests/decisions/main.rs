//! 64 concurrent decisions on one pending call, from two processes on one SQLite file, in 200 rounds. In each round one
//! decision is taken, and the call runs once or never, as that decision says.
//!
//! This binary also runs as the second process. An environment variable names its folder.
//!
//! Requirements: C27, U02.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;
mod stores;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use holdover::pending::{Decision, Digest, PendingEntry};
use holdover::prelude::*;
use holdover::session::{Delivered, DoneReason, Message, ResultStatus, RunOutcome};
use holdover::store::SqliteOptions;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 200;
const DECIDERS_PER_PROCESS: usize = 32;
const FOLDER: &str = "HOLDOVER_DECISIONS_FOLDER";

/// Requirements: C27, U02.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_decisions_from_two_processes_one_is_taken_and_the_call_runs_once() {
    if std::env::var_os(FOLDER).is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let runtime = open(folder.path()).await;
    let stop = CancellationToken::new();
    let working = tokio::spawn(work(runtime.clone(), stop.clone()));
    let mut other = Other::spawn(folder.path());
    let (mut approved, mut by_other) = (0, 0);
    for round in 0..ROUNDS {
        let key = key(round);
        let request = Execute::new(key.tenant.clone(), agent::agent(folder.path()), "pay the bill")
            .in_session(key.id.clone());
        let parked = runtime.execute(request).await.unwrap().outcome().await.unwrap();
        assert!(matches!(parked, RunOutcome::Suspended(_)), "round {round}: {parked:?}");

        other.tell(&round.to_string());
        assert_eq!(other.hear(), "ready");
        let pending = the_pending_call(&runtime, &key).await;
        // In the first two rounds one process has decided before the other begins; in all others they race.
        let (here, there) = match round {
            0 => {
                let here = decide(&runtime, round, &pending, "here").await;
                other.tell("go");
                (here, other.hear())
            }
            1 => {
                other.tell("go");
                let there = other.hear();
                (decide(&runtime, round, &pending, "here").await, there)
            }
            _ => {
                other.tell("go");
                let here = decide(&runtime, round, &pending, "here").await;
                (here, other.hear())
            }
        };
        let taken: Vec<&str> = here.iter().map(String::as_str).chain(there.split_whitespace()).collect();
        assert_eq!(taken.len(), 1, "round {round}: decisions taken: {taken:?}");
        by_other += usize::from(!there.is_empty());

        let outcome = runtime.wait(&key).await.unwrap();
        let RunOutcome::Ended(ending) = &outcome else { panic!("round {round}: {outcome:?}") };
        assert_eq!(ending.reason, DoneReason::ModelStop, "round {round}");
        let approve = taken[0] == "approve";
        approved += usize::from(approve);
        assert_eq!(agent::times_paid(folder.path(), &key), usize::from(approve), "round {round}: executions");
        check_transcript(&runtime, &key, approve).await;
    }
    other.end();
    stop.cancel();
    working.await.unwrap();
    // The first decision wins, whichever process makes it and whatever it says.
    assert!(approved > 0 && approved < ROUNDS, "{approved} of {ROUNDS} were approved");
    assert!(by_other > 0 && by_other < ROUNDS, "{by_other} of {ROUNDS} were decided by the other process");
}

/// Works as the second process. Does nothing unless this binary was started as that process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_process() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let runtime = open(&folder).await;
    let stop = CancellationToken::new();
    let working = tokio::spawn(work(runtime.clone(), stop.clone()));
    let mut orders = BufReader::new(std::io::stdin()).lines();
    while let Some(Ok(round)) = orders.next() {
        let round = round.parse().unwrap();
        let key = key(round);
        let pending = the_pending_call(&runtime, &key).await;
        say("ready");
        assert_eq!(orders.next().unwrap().unwrap(), "go");
        say(&decide(&runtime, round, &pending, "there").await.join(" "));
    }
    stop.cancel();
    working.await.unwrap();
}

async fn open(folder: &Path) -> Runtime {
    let store = SqliteStore::open(SqliteOptions::new(folder.join("sessions.db"))).await.unwrap();
    let agents = Agents::new().with(agent::agent(folder));
    Runtime::new(Arc::new(store), Arc::new(agents), RuntimeOptions::default())
}

async fn work(runtime: Runtime, stop: CancellationToken) {
    Worker::new(runtime, WorkerOptions::default()).run(stop).await;
}

fn key(round: usize) -> SessionKey {
    SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new(format!("round-{round}")).unwrap())
}

async fn the_pending_call(runtime: &Runtime, key: &SessionKey) -> PendingEntry {
    let mut pending = runtime.pending(key).await.unwrap();
    assert_eq!(pending.len(), 1, "{key}: pending calls");
    pending.remove(0)
}

/// Lets 32 people decide at once. Every other person approves, and the first person approves in even rounds only.
/// Returns the decisions that were taken.
async fn decide(runtime: &Runtime, round: usize, pending: &PendingEntry, who: &str) -> Vec<String> {
    let key = &key(round);
    let PendingEntry { call, body, .. } = pending;
    assert_eq!(body.digest, Digest::of(body.arguments.as_bytes()));
    let barrier = Arc::new(Barrier::new(DECIDERS_PER_PROCESS));
    let mut deciders = tokio::task::JoinSet::new();
    for at in 0..DECIDERS_PER_PROCESS {
        let (runtime, key, barrier) = (runtime.clone(), key.clone(), Arc::clone(&barrier));
        let decision = Decision {
            by: Some(format!("{who}-{at}")),
            ..Decision::new((at + round).is_multiple_of(2), body.digest)
        };
        let word = if decision.approve { "approve" } else { "deny" };
        let item = ItemKey::new(format!("{who}-{at}")).unwrap();
        let deliver = Deliver::decision(call, decision).once(item);
        deciders.spawn(async move {
            barrier.wait().await;
            match runtime.deliver(&key, deliver).await {
                Ok(Delivered::Accepted) => Some(word.to_owned()),
                Err(RuntimeError::AlreadyAnswered { .. } | RuntimeError::NotPending { .. }) => None,
                other => panic!("{key}: {other:?}"),
            }
        });
    }
    deciders.join_all().await.into_iter().flatten().collect()
}

async fn check_transcript(runtime: &Runtime, key: &SessionKey, approve: bool) {
    let messages = runtime.messages(key).await.unwrap();
    let decisions: Vec<bool> = messages
        .iter()
        .filter_map(|entry| match &entry.message {
            Message::Decision(record) => Some(record.decision.approve),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Tool(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        })
        .collect();
    assert_eq!(decisions, [approve], "{key}: one decision is on record");
    let results: Vec<ResultStatus> = messages
        .iter()
        .filter_map(|entry| match &entry.message {
            Message::Tool(result) => Some(result.status),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        })
        .collect();
    let expected = if approve { ResultStatus::Done } else { ResultStatus::RejectedByUser };
    assert_eq!(results, [expected], "{key}: one result");
}

/// The first process's handle of the second process.
struct Other {
    child: Child,
    answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

/// Marks the lines that are meant for the first process; the test harness prints other lines.
const MARK: &str = "decisions: ";

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{text}").unwrap();
    out.flush().unwrap();
}

impl Other {
    fn spawn(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["second_process", "--exact", "--nocapture"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, answers }
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{order}").unwrap();
    }

    fn hear(&mut self) -> String {
        loop {
            let line = self.answers.next().expect("the second process goes on").unwrap();
            if let Some(said) = line.strip_prefix(MARK) {
                return said.to_owned();
            }
        }
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success(), "the second process ends well");
    }
}
