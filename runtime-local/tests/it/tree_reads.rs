//! The cost of waiting for a tree: how often its sessions are read.
//!
//! Requirements: C61, H11.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::engine::Drain;
use holdover_core::store::{
    Answer, Layer, Layered, OutcomeKind, Request, Retry, StateStore, StoreError, StoreErrorKind,
};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::Agent;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bench::{agent, finish, only_result, runtime, say, store};
use crate::script::{Say, Script, results};
use crate::tools::Fake;
use crate::trees::{asked, sub_agent};

const SECOND: Duration = Duration::from_secs(1);

/// A layer that counts reads of sessions, and refuses them while `refuses` is set.
#[derive(Clone, Default)]
struct Reads {
    count: Arc<AtomicUsize>,
    refuses: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
}

#[async_trait]
impl Layer for Reads {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if let Request::Load(_) = request {
            self.count.fetch_add(1, Ordering::SeqCst);
            if self.refuses.load(Ordering::SeqCst) {
                self.refused.fetch_add(1, Ordering::SeqCst);
                let error = StoreError::new(StoreErrorKind::Unavailable, request.operation(), "away");
                return Err(error.retry(Retry::Later));
            }
        }
        request.perform(&store).await
    }
}

/// Returns a chief that gives this many tasks, and clerks that answer in two parts, each after `takes`.
pub(crate) fn many(tasks: usize, takes: Duration) -> Arc<Agent> {
    let tasks: Vec<String> = (0..tasks).map(|task| task.to_string()).collect();
    let arguments: &str = serde_json::json!({ "tasks": tasks }).to_string().leak();
    let model = Script::new(move |request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", arguments)]),
        ("chief", false) => Say::Text("done"),
        _ => Say::Slowly { pieces: vec!["x".into()], apart: takes, whole: true },
    });
    let clerk = sub_agent("clerk").fan_out_max(1_000);
    Arc::new(agent(&model).instructions("You are chief.").sub_agent(clerk).build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_thousand_children_are_run_by_whoever_waits_for_them_and_looked_for_seldom() {
    let agent = many(1_000, Duration::from_secs(1));
    let reads = Reads::default();
    let runtime = runtime(&Layered::new(store(), reads.clone()), &agent);
    let began = Instant::now();
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&runtime, &parent).await.1.lines().count(), 1_000);
    // 16 children run at once, for about two seconds each.
    assert!(began.elapsed() < Duration::from_secs(200), "{:?}", began.elapsed());
    let reads = reads.count.load(Ordering::SeqCst);
    assert!(reads < 10_000, "{reads} reads: some for each child and each second, and none without end");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_read_to_wait_for_a_run_here_that_has_no_children() {
    let pieces = vec!["word ".to_owned(); 60];
    let model = Script::new(move |_| Say::Slowly { pieces: pieces.clone(), apart: SECOND, whole: true });
    let agent = Arc::new(agent(&model).build().unwrap());
    let reads = Reads::default();
    let runtime = runtime(&Layered::new(store(), reads.clone()), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let (began, before) = (Instant::now(), reads.count.load(Ordering::SeqCst));
    let (_, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert!(began.elapsed() >= 60 * SECOND, "{:?}", began.elapsed());
    assert_eq!(reads.count.load(Ordering::SeqCst), before);
}

/// Returns a chief that gives one task, and meanwhile calls a tool that waits until the clerk begins.
fn waiting_for_its_clerk() -> Arc<Agent> {
    let begun = Arc::new(Notify::new());
    let child_begins = Arc::clone(&begun);
    let model = Script::new(move |request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", r#"{"tasks":["one"]}"#), ("write", "{}")]),
        ("chief", false) => Say::Text("done"),
        _ => {
            child_begins.notify_one();
            Say::Text("it is done")
        }
    });
    let write = Fake::new("write", move |_| {
        let begun = Arc::clone(&begun);
        async move {
            begun.notified().await;
            Ok(ToolOutput::text("written").into())
        }
    });
    let built = agent(&model).instructions("You are chief.").tool(write).sub_agent(sub_agent("clerk"));
    Arc::new(built.build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn children_are_run_while_their_parent_runs_here() {
    let agent = waiting_for_its_clerk();
    let runtime = runtime(&store(), &agent);
    let began = Instant::now();
    let (_, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert!(began.elapsed() < SECOND / 2, "as soon as it was created, and not after {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn children_are_looked_for_again_if_the_first_look_fails() {
    let agent = waiting_for_its_clerk();
    let reads = Reads::default();
    let runtime = runtime(&Layered::new(store(), reads.clone()), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    reads.refuses.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let comes_back = async {
        tokio::time::sleep(3 * SECOND).await;
        reads.refuses.store(false, Ordering::SeqCst);
    };
    let ((_, outcome), ()) = tokio::join!(finish(run), comes_back);
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert!(reads.refused.load(Ordering::SeqCst) > 0, "somebody looked meanwhile");
    assert!(began.elapsed() < 10 * SECOND, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_tree_that_drains_is_not_looked_at() {
    let model = Script::new(|request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", r#"{"tasks":["one","two"]}"#), ("slow", "{}")]),
        ("chief", false) => Say::Text("done"),
        _ => Say::Slowly { pieces: vec!["x".into()], apart: 2 * SECOND, whole: true },
    });
    let slow = Fake::new("slow", |_| async {
        tokio::time::sleep(30 * SECOND).await;
        Ok(ToolOutput::text("slowly").into())
    });
    let built = agent(&model).instructions("You are chief.").tool(slow).sub_agent(sub_agent("clerk"));
    let agent = Arc::new(built.build().unwrap());
    let reads = Reads::default();
    let runtime = runtime(&Layered::new(store(), reads.clone()), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let waits = tokio::spawn(run.outcome());
    tokio::time::sleep(SECOND).await;
    let before = reads.count.load(Ordering::SeqCst);
    runtime.drain(Drain::Calls, 60 * SECOND).await;
    let _ = waits.await.unwrap().unwrap();
    let read = reads.count.load(Ordering::SeqCst) - before;
    assert!(read < 20, "{read} reads");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_for_a_while_harms_nothing_that_runs_here() {
    let agent = many(3, Duration::from_secs(40));
    let reads = Reads::default();
    let runtime = runtime(&Layered::new(store(), reads.clone()), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let parent = run.key().clone();
    let waits = tokio::spawn(run.outcome());
    tokio::time::sleep(Duration::from_secs(10)).await;
    reads.refuses.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(10)).await;
    reads.refuses.store(false, Ordering::SeqCst);
    assert!(reads.refused.load(Ordering::SeqCst) > 0, "somebody looked meanwhile");
    assert_eq!(waits.await.unwrap().unwrap().kind(), OutcomeKind::Completed);
    for entry in runtime.tree(&parent, true).await.unwrap().entries.iter().skip(1) {
        assert_eq!(entry.session.epoch.0, 1, "its run was not dropped");
    }
}
