//! Every mutating operation as data, for cases that are generated over all of them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use holdover_core::ids::{Epoch, Fence, InboxSeq, Incarnation, SessionKey, Version};
use holdover_core::store::{
    ClaimDue, ClaimOne, Commit, DeleteMode, NewSession, SessionStatus, StateStore, StatusCas,
};
use uuid::Uuid;

use crate::bench::{Bench, Handle};
use crate::failure::CaseResult;
use crate::fixture::{
    answer, approval, commit, events, id, inline, key, message, new_session, promote, release_to, soft,
    staging, state,
};
use crate::snapshot::snapshot;

/// A mutating operation of the trait.
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
    Release,
    CheckInterrupt,
    Deliver,
    Answer,
    Interrupt,
}

impl Op {
    pub(crate) const ALL: [Self; 13] = [
        Self::Create,
        Self::Delete,
        Self::Claim,
        Self::ClaimDue,
        Self::CompareAndSet,
        Self::Renew,
        Self::Stage,
        Self::Commit,
        Self::Release,
        Self::CheckInterrupt,
        Self::Deliver,
        Self::Answer,
        Self::Interrupt,
    ];

    /// The stage on which the operation has something to do.
    pub(crate) fn stage(self) -> Stage {
        match self {
            Self::Create => Stage::Empty,
            Self::Delete | Self::Claim | Self::CompareAndSet => Stage::Failed,
            Self::ClaimDue => Stage::Due,
            Self::Renew | Self::Stage | Self::Commit | Self::Release => Stage::Running,
            Self::CheckInterrupt | Self::Deliver | Self::Answer | Self::Interrupt => Stage::Running,
        }
    }
}

/// What is there before an operation. Always the same ids, so that two stores can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing.
    Empty,
    /// The session was left failed, with a call open and a result staged.
    Failed,
    /// The same, and its alarm has rung.
    Due,
    /// A run holds it.
    Running,
}

const INCARNATION: Incarnation = Incarnation(Uuid::from_u128(7));

/// The session that all operations are on.
pub(crate) fn target() -> SessionKey {
    key("target")
}

fn target_session() -> NewSession {
    NewSession { incarnation: INCARNATION, operation: id("create"), ..new_session("target") }
}

/// The fence of the run that holds the session on [`Stage::Running`].
fn fence() -> Fence {
    Fence { key: target(), incarnation: INCARNATION, epoch: Epoch(1) }
}

/// Sets the stage.
pub(crate) async fn prepare(t: &Bench, stage: Stage) -> CaseResult {
    if stage == Stage::Empty {
        return Ok(());
    }
    t.store.create_session(target_session()).await?;
    let one = ClaimOne { run: id("first-run"), ..t.claim_one() };
    t.store.claim_session(&target(), one).await?;
    t.stage(&fence(), staging([("staged", "result")])).await?;
    t.commit(&fence(), Commit { open: vec![approval("asked")], ..commit() }).await?;
    t.deliver(&target(), message("earlier")).await?;
    if stage == Stage::Running {
        return Ok(());
    }
    let release = Commit {
        inbox_seen: Some(InboxSeq(1)),
        release: Some(release_to(SessionStatus::Failed)),
        ..commit()
    };
    t.commit(&fence(), release).await?;
    if stage == Stage::Due {
        t.deliver(&target(), message("urgent")).await?;
    }
    Ok(())
}

/// What a generated case asks for beside the operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    /// Tells the ids of two askers apart.
    pub(crate) tag: &'static str,
    pub(crate) lease: std::time::Duration,
}

/// Performs one operation on the session, under ids that a repeat has too. Answers what the store
/// answered, without instants.
pub(crate) async fn perform(store: Handle, op: Op, ask: Ask) -> CaseResult<String> {
    let named = |what: &str| format!("{what}-{}", ask.tag);
    let target = target();
    let claim = ClaimOne {
        run: id(&named("run")),
        worker: id(&named("worker")),
        lease: ask.lease,
        expected_version: None,
        items: vec![],
    };
    let base = Commit { operation: id(&named("commit")), ..commit() };
    Ok(match op {
        Op::Create => shown(&store.create_session(target_session()).await?),
        Op::Delete => shown(&store.delete_session(&target, DeleteMode::UnlessActive).await?),
        Op::Claim => {
            let claim = ClaimOne { items: vec![message(&named("carried"))], ..claim };
            shown(&store.claim_session(&target, claim).await?)
        }
        Op::ClaimDue => {
            let due = ClaimDue {
                runs: vec![claim.run],
                worker: claim.worker,
                lease: claim.lease,
                queues: holdover_core::store::Queues::All,
                newest_format: holdover_core::ids::StateFormat(9),
                tenant: None,
            };
            shown(&store.claim_due(due).await?)
        }
        Op::CompareAndSet => {
            let items = vec![message(&named("carried"))];
            let to = SessionStatus::Suspended;
            let cas = StatusCas { expected_version: Version(4), to, items };
            shown(&store.compare_and_set_status(&target, cas).await?)
        }
        Op::Renew => shown(&store.renew_lease(&fence(), ask.lease * 2).await?),
        Op::Stage => {
            let (call, mut staged) = (named("call"), staging([]));
            staged.results =
                vec![crate::fixture::result(&call, "result"), crate::fixture::result("shared", ask.tag)];
            staged.starts = vec![id(&named("start"))];
            shown(&store.stage_result(&fence(), staged).await?)
        }
        Op::Commit => {
            let full = Commit {
                expected_version: Some(Version(3)),
                state: state(ask.tag),
                messages: [promote(["staged"]), inline([ask.tag])].concat(),
                events: events([ask.tag, ask.tag]),
                stage: vec![crate::fixture::result(&named("late"), "result")],
                open: vec![approval(&named("reopened"))],
                close: vec![id("asked")],
                consumed: vec![InboxSeq(1)],
                inbox_seen: Some(InboxSeq(1)),
                ..base
            };
            shown(&store.save_state_and_promote_staging(&fence(), full).await?)
        }
        Op::Release => {
            let release = Commit {
                messages: inline([ask.tag]),
                run: crate::fixture::run_end(holdover_core::store::OutcomeKind::SuspendedClientTool),
                inbox_seen: Some(InboxSeq(1)),
                release: crate::fixture::suspended(None, 0),
                ..base
            };
            shown(&store.save_state_and_promote_staging(&fence(), release).await?)
        }
        Op::CheckInterrupt => shown(&store.check_interrupt_flag(&fence()).await?),
        Op::Deliver => shown(&store.deliver(&target, message(&named("item"))).await?),
        Op::Answer => shown(&store.deliver(&target, answer(&fence(), "asked", &named("answer"))).await?),
        Op::Interrupt => shown(&store.request_interrupt(&target, soft(&named("stop"))).await?),
    })
}

/// All that can be read of the session, as text without instants.
pub(crate) async fn shown_snapshot(store: &Handle) -> CaseResult<String> {
    Ok(shown(&snapshot(store, &target()).await?))
}

/// A value as text, without its instants, which two stores on a real clock never have in common.
fn shown(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let mut parts = text.split('@');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        shown + "@" + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-')
    })
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
