//! The effect on a family of deleting or forking one of its sessions.
//!
//! Requirements: C48, H06.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::children::ChildNames;
use holdover_core::engine::STATE_FORMAT_ALONE;
use holdover_core::ids::{Incarnation, SessionId, SessionKey, Version};
use holdover_core::message::ResultStatus;
use holdover_core::store::{
    Answer, DeleteOutcome, Deletion, Labels, Layer, Layered, OutcomeKind, Request, Retry, SessionStatus,
    StateStore, StoreError, StoreErrorKind,
};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Agent, Fork, Runtime, RuntimeError, SubAgent, WorkerOptions};
use tokio::sync::Notify;

use crate::bench::{agent, asking_for, finish, only_pending, only_result, runtime, say, store, worker};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Returns a parent whose only child asks a person before it writes.
fn family() -> Arc<Agent> {
    let model =
        Script::new(|request| match (request.system.contains("You help."), results(request).is_empty()) {
            (true, true) => Say::Calls(vec![("write", "{}")]),
            (true, false) => Say::Text("it is written"),
            (false, true) => Say::Calls(vec![("helper", r#"{"tasks":["write"]}"#)]),
            (false, false) => Say::Text("done"),
        });
    let helper =
        SubAgent::new("helper", "Writes.").instructions("You help.").tools(["write".parse().unwrap()]);
    let built = agent(&model)
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .sub_agent(helper)
        .build();
    Arc::new(built.unwrap())
}

/// Starts a parent that waits for a child, which waits for a person; returns both keys.
async fn waiting(runtime: &Runtime, agent: &Arc<Agent>) -> (SessionKey, SessionKey) {
    let (parent, outcome) = finish(runtime.execute(say(agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren);
    let entries = runtime.tree(&parent, false).await.unwrap().entries;
    assert_eq!(entries.len(), 2);
    (parent, entries[1].session.key.clone())
}

async fn status(runtime: &Runtime, key: &SessionKey) -> Option<SessionStatus> {
    runtime.session(key).await.unwrap().map(|session| session.status)
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_is_deleted_leaves_no_child_waiting() {
    for deletion in [Deletion::UNLESS_ACTIVE, Deletion::FORCE] {
        let agent = family();
        let runtime = runtime(&store(), &agent);
        let (parent, child) = waiting(&runtime, &agent).await;
        runtime.delete(&parent, deletion).await.unwrap();
        assert_eq!(status(&runtime, &parent).await, None);
        let _worker = worker(&runtime, WorkerOptions::default());
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(status(&runtime, &child).await, Some(SessionStatus::Aborted));
    }
}

/// Requirements: C48.
#[tokio::test(start_paused = true)]
async fn a_child_that_is_deleted_answers_its_parent_first() {
    let agent = family();
    let runtime = runtime(&store(), &agent);
    let (parent, child) = waiting(&runtime, &agent).await;
    runtime.delete(&child, Deletion::UNLESS_ACTIVE).await.unwrap();
    assert_eq!(status(&runtime, &child).await, None);
    assert_eq!(runtime.wait(&parent).await.unwrap().kind(), OutcomeKind::Completed);
    let (told, content) = only_result(&runtime, &parent).await;
    assert_eq!(told, ResultStatus::Error, "{content}");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_has_not_begun_and_is_deleted_answers_its_parent_first() {
    let agent = family();
    let runtime = runtime(&store(), &agent);
    let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
    let parent = run.key().clone();
    run.first_outcome().await.unwrap();
    let asked = only_pending(&runtime, &parent).await;
    let child = SessionKey::new(parent.tenant.clone(), ChildNames::of(&asked, 0).unwrap().id);
    runtime.delete(&child, Deletion::UNLESS_ACTIVE).await.unwrap();
    assert_eq!(runtime.wait(&parent).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&runtime, &parent).await.0, ResultStatus::Error);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_runs_is_not_stopped_by_a_deletion_that_is_refused() {
    let model = Script::new(|request| match request.system.contains("You help.") {
        true => Say::Nothing,
        false => Say::Calls(vec![("helper", r#"{"tasks":["long"]}"#), ("stuck", "{}")]),
    });
    let helper = SubAgent::new("helper", "Helps.").instructions("You help.");
    let agent = agent(&model).tool(Fake::stuck("stuck")).sub_agent(helper).build();
    let agent = Arc::new(agent.unwrap());
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(runtime.tree(run.key(), false).await.unwrap().entries.len(), 2, "it waits for a child");
    let refused = runtime.delete(run.key(), Deletion::UNLESS_ACTIVE).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Running { .. }), "{refused}");
    assert_eq!(runtime.session(run.key()).await.unwrap().unwrap().interrupt, None);
}

/// A layer that shows a session as still active, as if its run had not parked yet.
#[derive(Clone, Default)]
struct Stale(Arc<AtomicBool>);

#[async_trait]
impl Layer for Stale {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let mut answer = request.perform(&store).await?;
        if let Answer::Session(Some(session)) = &mut answer
            && self.0.load(Ordering::SeqCst)
        {
            session.status = SessionStatus::Active;
        }
        Ok(answer)
    }
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_parks_while_its_deletion_is_refused_is_not_deleted_without_its_children() {
    let (agent, stale) = (family(), Stale::default());
    let runtime = runtime(&Layered::new(store(), stale.clone()), &agent);
    let (parent, child) = waiting(&runtime, &agent).await;
    stale.0.store(true, Ordering::SeqCst);
    let refused = runtime.delete(&parent, Deletion::UNLESS_ACTIVE).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Running { .. }), "{refused}");
    stale.0.store(false, Ordering::SeqCst);
    runtime.delete(&parent, Deletion::UNLESS_ACTIVE).await.unwrap();
    assert_eq!(runtime.wait(&child).await.unwrap().kind(), OutcomeKind::Aborted);
}

/// A layer that holds the first deletion back until the test releases it, and counts the deletions that the store
/// refuses.
#[derive(Clone, Default)]
struct Held(Arc<Deletions>);

#[derive(Default)]
struct Deletions {
    /// The life that each deletion named.
    lives: Mutex<Vec<Option<Incarnation>>>,
    refused: AtomicU32,
    has_come: Notify,
    goes_on: Notify,
}

#[async_trait]
impl Layer for Held {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let Self(deletions) = self;
        let is_first = if let Request::Delete(_, deletion) = &request {
            let mut lives = deletions.lives.lock().unwrap();
            lives.push(deletion.incarnation);
            lives.len() == 1
        } else {
            false
        };
        if is_first {
            deletions.has_come.notify_one();
            deletions.goes_on.notified().await;
        }
        let answer = request.perform(&store).await?;
        if matches!(answer, Answer::Deleted(DeleteOutcome::VersionConflict { .. })) {
            deletions.refused.fetch_add(1, Ordering::SeqCst);
        }
        Ok(answer)
    }
}

#[tokio::test(start_paused = true)]
async fn children_that_begin_between_the_look_and_the_deletion_are_stopped_too() {
    for deletion in [Deletion::UNLESS_ACTIVE, Deletion::FORCE] {
        let (agent, held) = (family(), Held::default());
        let runtime = runtime(&Layered::new(store(), held.clone()), &agent);
        let parent = runtime.start(say(&agent, "go")).await.unwrap().key;
        let deleting = tokio::spawn({
            let (runtime, parent) = (runtime.clone(), parent.clone());
            async move { runtime.delete(&parent, deletion).await }
        });
        held.0.has_come.notified().await;
        let outcome = runtime.wait(&parent).await.unwrap();
        assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren);
        let child = runtime.tree(&parent, false).await.unwrap().entries[1].session.key.clone();
        held.0.goes_on.notify_one();
        deleting.await.unwrap().unwrap();
        assert_eq!(held.0.refused.load(Ordering::SeqCst), 1, "{deletion:?}");
        assert_eq!(status(&runtime, &parent).await, None);
        assert_eq!(runtime.wait(&child).await.unwrap().kind(), OutcomeKind::Aborted);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_at_a_version_is_refused_once_the_session_was_written() {
    let (agent, held) = (family(), Held::default());
    let runtime = runtime(&Layered::new(store(), held.clone()), &agent);
    let parent = runtime.start(say(&agent, "go")).await.unwrap().key;
    let seen = runtime.session(&parent).await.unwrap().unwrap().version;
    let deleting = tokio::spawn({
        let (runtime, parent) = (runtime.clone(), parent.clone());
        async move { runtime.delete(&parent, Deletion::FORCE.at(seen)).await }
    });
    held.0.has_come.notified().await;
    runtime.wait(&parent).await.unwrap();
    held.0.goes_on.notify_one();
    let refused = deleting.await.unwrap().unwrap_err();
    assert!(matches!(&refused, RuntimeError::Changed { expected, .. } if *expected == seen), "{refused}");
    let refused = runtime.delete(&parent, Deletion::UNLESS_ACTIVE.at(seen)).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Changed { .. }), "{refused}");
    assert_eq!(status(&runtime, &parent).await, Some(SessionStatus::Suspended), "nothing was changed");
    let now = runtime.session(&parent).await.unwrap().unwrap().version;
    runtime.delete(&parent, Deletion::UNLESS_ACTIVE.at(now)).await.unwrap();
    assert_eq!(status(&runtime, &parent).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_session_created_again_before_the_deletion_is_looked_at_before_it_is_deleted() {
    let (agent, held) = (family(), Held::default());
    let inner = store();
    let runtime = runtime(&Layered::new(inner.clone(), held.clone()), &agent);
    let again = || say(&agent, "go").in_session(SessionId::new("again").unwrap());
    let parent = runtime.start(again()).await.unwrap().key;
    let life = async || runtime.session(&parent).await.unwrap().unwrap().incarnation;
    let first = life().await;
    let deleting = tokio::spawn({
        let (runtime, parent) = (runtime.clone(), parent.clone());
        async move { runtime.delete(&parent, Deletion::UNLESS_ACTIVE).await }
    });
    held.0.has_come.notified().await;
    inner.delete_session(&parent, Deletion::FORCE).await.unwrap();
    runtime.start(again()).await.unwrap();
    runtime.wait(&parent).await.unwrap();
    let second = life().await;
    let child = runtime.tree(&parent, false).await.unwrap().entries[1].session.key.clone();
    held.0.goes_on.notify_one();
    deleting.await.unwrap().unwrap();
    // Both lives may have the same version, so each deletion names the life that was looked at.
    assert_eq!(*held.0.lives.lock().unwrap(), [Some(first), Some(second)]);
    assert_eq!(status(&runtime, &parent).await, None);
    assert_eq!(runtime.wait(&child).await.unwrap().kind(), OutcomeKind::Aborted);
}

/// A layer that fails reads of sessions: the next `for_now` of them with an error that may be retried, and all of
/// them for good once `for_good` is set.
#[derive(Clone, Default)]
struct Blind {
    for_now: Arc<AtomicU32>,
    for_good: Arc<AtomicBool>,
}

#[async_trait]
impl Layer for Blind {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if !matches!(request, Request::Load(..)) {
            return request.perform(&store).await;
        }
        let fails = self.for_now.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if fails.is_ok() {
            let error = StoreError::new(StoreErrorKind::Unavailable, "load_session", "not now");
            return Err(error.retry(Retry::Later));
        }
        if self.for_good.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Corrupt, "load_session", "torn"));
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_neither_deletes_another_version_nor_overlooks_children() {
    let (agent, blind) = (family(), Blind::default());
    let runtime = runtime(&Layered::new(store(), blind.clone()), &agent);
    let (parent, child) = waiting(&runtime, &agent).await;
    let seen = runtime.session(&parent).await.unwrap().unwrap().version;
    let older = Deletion::FORCE.at(Version(seen.0 - 1));
    for (for_now, for_good) in [(1, false), (0, true)] {
        blind.for_now.store(for_now, Ordering::SeqCst);
        blind.for_good.store(for_good, Ordering::SeqCst);
        let refused = runtime.delete(&parent, older).await.unwrap_err();
        assert!(matches!(refused, RuntimeError::Changed { .. }), "{refused}");
    }
    blind.for_good.store(false, Ordering::SeqCst);
    blind.for_now.store(1, Ordering::SeqCst);
    runtime.delete(&parent, Deletion::UNLESS_ACTIVE).await.unwrap();
    assert_eq!(blind.for_now.load(Ordering::SeqCst), 0);
    assert_eq!(runtime.wait(&child).await.unwrap().kind(), OutcomeKind::Aborted);
}

/// A layer that makes and counts conflicts: each deletion at a version fails, as if the session had just been written.
#[derive(Clone, Default)]
struct Busy(Arc<AtomicU32>);

#[async_trait]
impl Layer for Busy {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let mut request = request;
        if let Request::Delete(_, deletion) = &mut request
            && let Some(version) = deletion.expected_version
        {
            self.0.fetch_add(1, Ordering::SeqCst);
            deletion.expected_version = Some(version.next());
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_written_all_the_time_is_stopped_before_it_is_deleted() {
    let (agent, busy) = (family(), Busy::default());
    let runtime = runtime(&Layered::new(store(), busy.clone()), &agent);
    let parent = runtime.start(say(&agent, "go")).await.unwrap().key;
    runtime.delete(&parent, Deletion::FORCE).await.unwrap();
    assert_eq!(status(&runtime, &parent).await, None);
    assert_eq!(busy.0.load(Ordering::SeqCst), 7, "the eighth time it was stopped");
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_workers_serve_is_deleted_at_the_first_try() {
    let agent = family();
    let runtime = runtime(&store(), &agent);
    let (parent, child) = waiting(&runtime, &agent).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    runtime.delete(&parent, Deletion::UNLESS_ACTIVE).await.unwrap();
    assert_eq!(status(&runtime, &parent).await, None);
    assert_eq!(runtime.wait(&child).await.unwrap().kind(), OutcomeKind::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_whole_tree_where_nobody_serves_it() {
    let agent = family();
    let runtime = runtime(&store(), &agent);
    let (parent, child) = waiting(&runtime, &agent).await;
    runtime.interrupt(&parent, "enough").await.unwrap();
    assert_eq!(status(&runtime, &parent).await, Some(SessionStatus::Interrupted));
    assert_eq!(status(&runtime, &child).await, Some(SessionStatus::Aborted));
    assert_eq!(runtime.pending(&child).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn forks_of_a_parent_and_of_a_child_wait_for_nobody_and_tell_nobody() {
    let agent = family();
    let runtime = runtime(&store(), &agent);
    let (parent, child) = waiting(&runtime, &agent).await;
    let mut forks = Vec::new();
    for source in [&parent, &child] {
        let fork = runtime.fork(source, Fork::newest()).await.unwrap().key;
        let forked = runtime.session(&fork).await.unwrap().unwrap();
        let family = [Labels::PARENT, Labels::ROOT].map(|label| forked.labels.0.contains_key(label));
        assert_eq!(family, [false, false], "{:?}", forked.labels);
        assert_eq!(runtime.tree(&fork, true).await.unwrap().entries.len(), 1, "{source}");
        assert_eq!(forked.format, STATE_FORMAT_ALONE, "{source}");
        forks.push(fork);
    }
    let asked = runtime.pending(&parent).await.unwrap();
    for fork in &forks {
        runtime.resume(fork).await.unwrap().outcome().await.unwrap();
    }
    assert_eq!(runtime.pending(&parent).await.unwrap(), asked, "the sources are where they were");
    let asked = asked.iter().find(|entry| entry.call.key == child).unwrap();
    runtime.approve(&parent, asked.id(), "ann").await.unwrap();
    assert_eq!(runtime.wait(&parent).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&runtime, &parent).await, (ResultStatus::Done, "it is written".to_owned()));
}
