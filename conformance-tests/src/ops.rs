//! Every mutating operation as data, for cases that are generated over all of them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use holdover_core::ids::{
    CheckpointId, Epoch, Fence, InboxSeq, Incarnation, SessionKey, StateFormat, TenantId, Version,
};
use holdover_core::store::{
    Capabilities, ClaimDue, ClaimOne, Commit, Deletion, NewFork, NewSession, OutcomeKind, Queues, Remove,
    RetentionRule, SessionStatus, Staging, StateStore, StatusCas,
};
use uuid::Uuid;

use crate::bench::{Bench, Handle};
use crate::failure::CaseResult;
use crate::fixture::{
    answer, approval, bytes, checkpoint, commit, count, deltas, events, fresh_id, id, inline, message,
    new_fork, new_session, promote, release_to, result, retention, run_end, soft, staging, state, suspended,
};
use crate::snapshot::snapshot;
use crate::sweep::removed;

/// A mutating operation of the trait. What one operation can do in several ways is here once for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Create,
    Delete,
    Claim,
    ClaimDue,
    CompareAndSet,
    Renew,
    Stage,
    Commit,
    /// A commit with the message of the stream that runs, kept as a checkpoint.
    Message,
    Release,
    AppendDeltas,
    CheckInterrupt,
    Deliver,
    Answer,
    Interrupt,
    Fork,
    /// Retention that removes sessions.
    Purge,
    /// Retention that removes checkpoints.
    Prune,
}

impl Op {
    pub(crate) const ALL: [Self; 18] = [
        Self::Create,
        Self::Delete,
        Self::Claim,
        Self::ClaimDue,
        Self::CompareAndSet,
        Self::Renew,
        Self::Stage,
        Self::Commit,
        Self::Message,
        Self::Release,
        Self::AppendDeltas,
        Self::CheckInterrupt,
        Self::Deliver,
        Self::Answer,
        Self::Interrupt,
        Self::Fork,
        Self::Purge,
        Self::Prune,
    ];

    /// The stage on which the operation has something to do.
    pub(crate) fn stage(self) -> Stage {
        match self {
            Self::Create => Stage::Empty,
            Self::Delete | Self::Claim | Self::CompareAndSet | Self::Purge | Self::Prune => Stage::Failed,
            Self::ClaimDue => Stage::Due,
            Self::Renew | Self::Stage | Self::Commit | Self::Message | Self::Release | Self::AppendDeltas => {
                Stage::Running
            }
            Self::CheckInterrupt | Self::Deliver | Self::Answer | Self::Interrupt | Self::Fork => {
                Stage::Running
            }
        }
    }

    /// Whether a store with these capabilities can do it.
    pub(crate) fn is_declared(self, capabilities: &Capabilities) -> bool {
        match self {
            Self::Fork => capabilities.forks,
            Self::Purge | Self::Prune => capabilities.retention,
            Self::Create
            | Self::Delete
            | Self::Claim
            | Self::ClaimDue
            | Self::CompareAndSet
            | Self::Renew
            | Self::Stage
            | Self::Commit
            | Self::Message
            | Self::Release
            | Self::AppendDeltas
            | Self::CheckInterrupt
            | Self::Deliver
            | Self::Answer
            | Self::Interrupt => true,
        }
    }
}

/// What is there before an operation. Always the same ids, so that two scenes can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing.
    Empty,
    /// The session was left failed, with a call open, a result staged and two checkpoints.
    Failed,
    /// The same, and its alarm has rung.
    Due,
    /// A run holds it, and a model streams.
    Running,
}

/// The version of the first checkpoint.
const CHECKPOINT: CheckpointId = CheckpointId(3);

/// Who asks for an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    /// Tells the ids of two askers apart.
    pub(crate) tag: &'static str,
    pub(crate) lease: Duration,
}

/// Where operations play: one session, and its fork, of a tenant of its own. Many scenes play in one
/// store, and each is as if it were alone.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    tenant: TenantId,
    lease: Duration,
    /// Which life of its session it plays in.
    life: u128,
}

impl Scene {
    /// A scene in which nothing has happened. Leases are `lease` long.
    pub(crate) fn new(lease: Duration) -> Self {
        Self { tenant: fresh_id("scene"), lease, life: 7 }
    }

    /// The same scene in the next life of its session.
    pub(crate) fn next_life(&self) -> Self {
        Self { life: self.life + 1, ..self.clone() }
    }

    fn incarnation(&self) -> Incarnation {
        Incarnation(Uuid::from_u128(self.life))
    }

    /// The session that all operations are on.
    pub(crate) fn target(&self) -> SessionKey {
        SessionKey::new(self.tenant.clone(), id("target"))
    }

    fn forked(&self) -> SessionKey {
        SessionKey::new(self.tenant.clone(), id("forked"))
    }

    /// The fence of the run that holds the session on [`Stage::Running`].
    fn fence(&self) -> Fence {
        Fence { key: self.target(), incarnation: self.incarnation(), epoch: Epoch(1) }
    }

    fn new_session(&self) -> NewSession {
        let (key, operation) = (self.target(), id(&format!("create-{}", self.life)));
        NewSession { key, incarnation: self.incarnation(), operation, ..new_session("target") }
    }

    /// Sets the stage.
    pub(crate) async fn prepare(&self, t: &Bench, stage: Stage) -> CaseResult {
        if stage == Stage::Empty {
            return Ok(());
        }
        let (target, fence) = (self.target(), self.fence());
        t.store.create_session(self.new_session()).await?;
        let one = ClaimOne { run: id("first-run"), lease: self.lease, ..t.claim_one() };
        t.store.claim_session(&target, one).await?;
        t.stage(&fence, staging([("staged", "result")])).await?;
        let first =
            Commit { open: vec![approval("asked")], messages: inline(["said"]), ..checkpoint("first") };
        t.commit(&fence, first).await?;
        t.deliver(&target, message("earlier")).await?;
        t.append(&fence, deltas(1, 1, ["some", "words"])).await?;
        if stage == Stage::Running {
            return Ok(());
        }
        let release = Commit {
            consumed: vec![InboxSeq(1)],
            inbox_seen: Some(InboxSeq(1)),
            release: Some(release_to(SessionStatus::Failed)),
            ..checkpoint("second")
        };
        t.commit(&fence, release).await?;
        if stage == Stage::Due {
            t.deliver(&target, message("urgent")).await?;
        }
        Ok(())
    }

    /// Performs one operation, under ids that a repeat has too. Answers what the store answered, without
    /// instants.
    pub(crate) async fn perform(&self, store: Handle, op: Op, ask: Ask) -> CaseResult<String> {
        let named = |what: &str| format!("{what}-{}", ask.tag);
        let (target, fence) = (self.target(), self.fence());
        let carried = || vec![message(&named("carried"))];
        let commit = async |commit: Commit| -> CaseResult<String> {
            let commit = Commit { operation: id(&named("commit")), ..commit };
            Ok(self.shown(&store.save_state_and_promote_staging(&fence, commit).await?))
        };
        Ok(match op {
            Op::Create => self.shown(&store.create_session(self.new_session()).await?),
            Op::Delete => self.shown(&store.delete_session(&target, Deletion::UNLESS_ACTIVE).await?),
            Op::Claim => {
                let claim = ClaimOne {
                    run: id(&named("run")),
                    worker: id(&named("worker")),
                    lease: ask.lease,
                    expected_version: None,
                    items: carried(),
                };
                self.shown(&store.claim_session(&target, claim).await?)
            }
            Op::ClaimDue => self.shown(&store.claim_due(self.claim_due(ask)).await?),
            Op::CompareAndSet => {
                let to = SessionStatus::Suspended;
                let cas = StatusCas { incarnation: None, expected_version: Version(4), to, items: carried() };
                self.shown(&store.compare_and_set_status(&target, cas).await?)
            }
            Op::Renew => self.shown(&store.renew_lease(&fence, ask.lease * 2).await?),
            Op::Stage => {
                let results = vec![result(&named("call"), "result"), result("shared", ask.tag)];
                let staging = Staging { results, starts: vec![id(&named("start"))] };
                self.shown(&store.stage_result(&fence, staging).await?)
            }
            Op::Commit => commit(full(ask)).await?,
            Op::Message => commit(spoken(ask)).await?,
            Op::Release => commit(parting(ask)).await?,
            Op::AppendDeltas => {
                let batch = deltas(1, 3, ["more words", ask.tag]);
                self.shown(&store.append_deltas(&fence, batch).await?)
            }
            Op::CheckInterrupt => self.shown(&store.check_interrupt_flag(&fence).await?),
            Op::Deliver => self.shown(&store.deliver(&target, message(&named("item"))).await?),
            Op::Answer => {
                self.shown(&store.deliver(&target, answer(&fence, "asked", &named("answer"))).await?)
            }
            Op::Interrupt => self.shown(&store.request_interrupt(&target, soft(&named("stop"))).await?),
            Op::Fork => self.shown(&store.fork_session(&target, CHECKPOINT, self.new_fork(ask)).await?),
            Op::Purge => self.purged(&store, Remove::Sessions).await?,
            Op::Prune => self.purged(&store, Remove::Checkpoints { keep: count(1) }).await?,
        })
    }

    fn claim_due(&self, ask: Ask) -> ClaimDue {
        ClaimDue {
            runs: vec![id(&format!("run-{}", ask.tag))],
            worker: id(&format!("worker-{}", ask.tag)),
            lease: ask.lease,
            queues: Queues::All,
            newest_format: StateFormat(9),
            tenant: Some(self.tenant.clone()),
        }
    }

    fn new_fork(&self, ask: Ask) -> NewFork {
        NewFork {
            key: self.forked(),
            incarnation: Incarnation(Uuid::from_u128(ask.tag.bytes().map(u128::from).sum())),
            operation: id(&format!("fork-{}", ask.tag)),
            messages: vec![bytes(ask.tag)],
            ..new_fork(self.incarnation(), "forked")
        }
    }

    /// Removes by age; answers how many. That there may be more is nobody's promise.
    async fn purged(&self, store: &Handle, remove: Remove) -> CaseResult<String> {
        let rule = RetentionRule { tenant: Some(self.tenant.clone()), ..retention(remove) };
        let report = removed(store, &rule).await?;
        Ok(self.shown(&(report.sessions, report.checkpoints)))
    }

    /// All that can be read of the session and of its fork, as text without instants.
    pub(crate) async fn snapshot(&self, store: &Handle) -> CaseResult<String> {
        Ok(self.shown(&(snapshot(store, &self.target()).await?, snapshot(store, &self.forked()).await?)))
    }

    /// A value as text, without its instants and the name of the scene, which no two have in common.
    fn shown(&self, value: &impl std::fmt::Debug) -> String {
        let text = format!("{value:?}").replace(self.tenant.as_str(), "scene");
        let mut parts = text.split('@');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |shown, part| {
            shown + "@" + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-')
        })
    }
}

/// A commit that writes of everything.
fn full(ask: Ask) -> Commit {
    Commit {
        expected_version: Some(Version(3)),
        state: state(ask.tag),
        messages: [promote(["staged"]), inline([ask.tag])].concat(),
        events: events([ask.tag, ask.tag]),
        stage: vec![result(&format!("late-{}", ask.tag), "result")],
        open: vec![approval(&format!("reopened-{}", ask.tag))],
        close: vec![id("asked")],
        consumed: vec![InboxSeq(1)],
        inbox_seen: Some(InboxSeq(1)),
        ..commit()
    }
}

/// A commit of what was streamed.
fn spoken(ask: Ask) -> Commit {
    Commit {
        messages: inline([ask.tag]),
        events: events([ask.tag]),
        streamed: Some(1),
        ..checkpoint(ask.tag)
    }
}

/// A commit that parks the session.
fn parting(ask: Ask) -> Commit {
    Commit {
        messages: inline([ask.tag]),
        run: run_end(OutcomeKind::SuspendedClientTool),
        inbox_seen: Some(InboxSeq(1)),
        release: suspended(None, 0),
        ..commit()
    }
}

/// Polls a future at most `polls` times, then gives it up: none if it was pending at each.
pub(crate) struct PollAtMost<F> {
    future: Pin<Box<F>>,
    polls: usize,
}

impl<F: Future> PollAtMost<F> {
    pub(crate) fn new(polls: usize, future: F) -> Self {
        Self { future: Box::pin(future), polls }
    }
}

impl<F: Future> Future for PollAtMost<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = self.future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        self.polls -= 1;
        if self.polls == 0 { Poll::Ready(None) } else { Poll::Pending }
    }
}
