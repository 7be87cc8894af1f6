//! The scenario of an operation: the steps before it, its request, and the reads after it. It is played on a store and
//! on the model of the contract.

use std::fmt::Debug;
use std::time::Duration;

use holdover_store::ids::{
    CheckpointId, Epoch, Fence, InboxSeq, Incarnation, SessionKey, StateFormat, TenantId, Version,
};
use holdover_store::time::Timestamp;
use holdover_store::{
    ClaimDue, ClaimOne, Commit, Deletion, NewFork, NewSession, OutcomeKind, Queues, Remove, Request,
    RetentionRule, Retry, SessionStatus, Staging, StatusCas, StoreErrorKind,
};
use uuid::Uuid;

use crate::bench::Handle;
use crate::failure::{CaseResult, ensure_eq};
use crate::fixture::{
    answer, approval, bytes, checkpoint, commit, count, deltas, events, fresh_id, id, inline, message,
    new_fork, new_session, promote, release_to, result, retention, run_end, soft, staging, state, suspended,
};
use crate::interleaving;
use crate::model::Model;
use crate::ops::{Op, Stage};
use crate::script::{Answer, Asking};
use crate::shown::without_instants;
use crate::snapshot::snapshot;

/// The version of the first checkpoint.
const CHECKPOINT: CheckpointId = CheckpointId(3);
/// The model's time. Comparisons leave instants out and no lease ends, so the value does not matter.
const NOW: Timestamp = Timestamp::from_ms(1_800_000_000_000);

/// The caller of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    /// A suffix that tells the ids of two callers apart.
    pub(crate) tag: &'static str,
    pub(crate) lease: Duration,
}

/// The data that operations work on: one session and its fork, of a tenant of its own. Many scenarios share one store
/// without affecting each other.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    tenant: TenantId,
    lease: Duration,
    /// The current life of the session.
    life: u128,
}

impl Scenario {
    /// Creates a scenario in which nothing has happened. Leases are `lease` long.
    pub(crate) fn new(lease: Duration) -> Self {
        Self { tenant: fresh_id("scenario"), lease, life: 7 }
    }

    /// Creates a scenario for a tenant with this name, by which each of its requests can be recognized on the wire.
    pub(crate) fn named(name: &str, lease: Duration) -> Self {
        Self { tenant: id(name), ..Self::new(lease) }
    }

    /// Returns the same scenario for another life of its session, after the current one was deleted.
    pub(crate) fn next_life(&self) -> Self {
        Self { life: self.life + 1, ..self.clone() }
    }

    fn incarnation(&self) -> Incarnation {
        Incarnation(Uuid::from_u128(self.life))
    }

    /// Returns the key of the session that all operations use.
    pub(crate) fn target(&self) -> SessionKey {
        SessionKey::new(self.tenant.clone(), id("target"))
    }

    fn forked(&self) -> SessionKey {
        SessionKey::new(self.tenant.clone(), id("forked"))
    }

    /// Returns the fence of the run that holds the session on [`Stage::Running`].
    fn fence(&self) -> Fence {
        Fence { key: self.target(), incarnation: self.incarnation(), epoch: Epoch(1) }
    }

    /// Sets the stage in a store, and returns the model in the same state. Fails if an answer of the store differs from
    /// the model's.
    pub(crate) async fn prepare(&self, store: &Handle, stage: Stage) -> CaseResult<Model> {
        let mut model = Model::new(NOW);
        for request in self.before(stage) {
            let expected = self.ask_model(&mut model, &request);
            let found = self.ask(store, &request).await?;
            ensure_eq!(found, expected, "the answer of {} on the way to {stage:?}", request.operation());
        }
        Ok(model)
    }

    /// Returns the requests that set the stage.
    fn before(&self, stage: Stage) -> Vec<Request> {
        let (target, fence) = (self.target(), self.fence());
        let commit = |commit: Commit| Request::Commit(fence.clone(), commit);
        let first =
            Commit { open: vec![approval("asked")], messages: inline(["said"]), ..checkpoint("first") };
        let running = [
            Request::Create(self.new_session()),
            Request::Claim(target.clone(), self.claim_one(id("first-run"), self.lease)),
            Request::Stage(fence.clone(), staging([("staged", "result")])),
            commit(first),
            Request::Deliver(target.clone(), message("earlier")),
            Request::Stream(fence.clone(), deltas(1, 1, ["some", "words"])),
        ];
        let release = Commit {
            consumed: vec![InboxSeq(1)],
            inbox_seen: Some(InboxSeq(1)),
            release: Some(release_to(SessionStatus::Failed)),
            ..checkpoint("second")
        };
        let urgent = Request::Deliver(target, message("urgent"));
        match stage {
            Stage::Empty => Vec::new(),
            Stage::Running => running.into(),
            Stage::Failed => running.into_iter().chain([commit(release)]).collect(),
            Stage::Due => running.into_iter().chain([commit(release), urgent]).collect(),
        }
    }

    /// Makes the request of one operation. A repeat of the request has the same ids.
    pub(crate) fn request(&self, op: Op, ask: Ask) -> Request {
        let named = |what: &str| format!("{what}-{}", ask.tag);
        let (target, fence) = (self.target(), self.fence());
        let carried = || vec![message(&named("carried"))];
        let commit = |commit: Commit| {
            let commit = Commit { operation: id(&named("commit")), ..commit };
            Request::Commit(fence.clone(), commit)
        };
        match op {
            Op::Create => Request::Create(self.new_session()),
            Op::Delete => Request::Delete(target, Deletion::UNLESS_ACTIVE),
            Op::Claim => {
                let one = self.claim_one(id(&named("run")), ask.lease);
                Request::Claim(target, ClaimOne { worker: id(&named("worker")), items: carried(), ..one })
            }
            Op::ClaimDue => Request::ClaimDue(self.claim_due(ask)),
            Op::CompareAndSet => {
                let to = SessionStatus::Suspended;
                let cas = StatusCas { incarnation: None, expected_version: Version(4), to, items: carried() };
                Request::Move(target, cas)
            }
            Op::Renew => Request::Renew(fence, ask.lease * 2),
            Op::Stage => {
                let results = vec![result(&named("call"), "result"), result("shared", ask.tag)];
                Request::Stage(fence, Staging { results, starts: vec![id(&named("start"))] })
            }
            Op::Commit => commit(full(ask)),
            Op::Message => commit(spoken(ask)),
            Op::Release => commit(parting(ask)),
            Op::AppendDeltas => Request::Stream(fence, deltas(1, 3, ["more words", ask.tag])),
            Op::TakeInterrupt => Request::TakeInterrupt(fence),
            Op::Deliver => Request::Deliver(target, message(&named("item"))),
            Op::Answer => Request::Deliver(target, answer(&fence, "asked", &named("answer"))),
            Op::Interrupt => Request::Interrupt(target, soft(&named("stop"))),
            Op::Fork => Request::Fork(target, CHECKPOINT, self.new_fork(ask)),
            Op::Purge => Request::Purge(self.rule(Remove::Sessions)),
            Op::Prune => Request::Purge(self.rule(Remove::Checkpoints { keep: count(1) })),
        }
    }

    /// Sends a request to a store. Returns its answer as text without instants.
    pub(crate) async fn ask(&self, store: &Handle, request: &Request) -> CaseResult<String> {
        Ok(self.text(&request.ask(store).await?))
    }

    /// Returns the possible ends of two operations that are requested at one instant: their answers, and everything
    /// that can be read afterwards, as text without instants. The first two ends are those in which one operation is
    /// over before the other begins.
    pub(crate) fn ends(&self, model: &Model, requests: [&Request; 2]) -> Vec<([String; 2], String)> {
        let ends = interleaving::ends(model, requests, &[self.target(), self.forked()]).into_iter();
        ends.map(|(answers, model)| (answers.map(|answer| self.text(&answer)), self.snapshot_of(&model)))
            .collect()
    }

    /// Sends a request to a store and walks its pages to the end. Returns the answer as text without instants, or the
    /// error that the request was refused with.
    pub(crate) async fn try_ask(
        &self,
        store: &Handle,
        request: &Request,
    ) -> CaseResult<Result<String, (StoreErrorKind, Retry)>> {
        let answer = request.ask(store).await?;
        if let Answer::Refused(kind, retry) = answer {
            return Ok(Err((kind, retry)));
        }
        Ok(Ok(self.text(&answer)))
    }

    /// Sends a request to the model. Returns its answer as text without instants.
    pub(crate) fn ask_model(&self, model: &mut Model, request: &Request) -> String {
        self.text(&request.ask_model(model))
    }

    /// Reads everything that can be read of the session and of its fork, as text without instants.
    pub(crate) async fn snapshot(&self, store: &Handle) -> CaseResult<String> {
        let (target, forked) = (self.target(), self.forked());
        Ok(self.text(&(snapshot(store, &target).await?, snapshot(store, &forked).await?)))
    }

    /// Returns everything that can be read of both sessions in the model, as text without instants.
    pub(crate) fn snapshot_of(&self, model: &Model) -> String {
        self.text(&(model.snapshot(&self.target()), model.snapshot(&self.forked())))
    }

    fn new_session(&self) -> NewSession {
        let (key, operation) = (self.target(), id(&format!("create-{}", self.life)));
        NewSession { key, incarnation: self.incarnation(), operation, ..new_session("target") }
    }

    fn claim_one(&self, run: holdover_store::ids::RunId, lease: Duration) -> ClaimOne {
        ClaimOne { run, worker: id("worker"), lease, expected_version: None, items: Vec::new() }
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

    fn rule(&self, remove: Remove) -> RetentionRule {
        RetentionRule { tenant: Some(self.tenant.clone()), ..retention(remove) }
    }

    /// Formats a value without its instants and without the scenario's name, which is unique.
    fn text(&self, value: &impl Debug) -> String {
        without_instants(&format!("{value:?}").replace(self.tenant.as_str(), "scenario"))
    }
}

/// Makes a commit with most parts. A stream and a checkpoint are in `spoken`, the end of a run and a release in
/// `parting`.
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

/// Makes a commit of the streamed message.
fn spoken(ask: Ask) -> Commit {
    Commit {
        messages: inline([ask.tag]),
        events: events([ask.tag]),
        streamed: Some(1),
        ..checkpoint(ask.tag)
    }
}

/// Makes a commit that suspends the session.
fn parting(ask: Ask) -> Commit {
    Commit {
        messages: inline([ask.tag]),
        run: run_end(OutcomeKind::SuspendedClientTool),
        inbox_seen: Some(InboxSeq(1)),
        release: suspended(None, 0),
        ..commit()
    }
}
