//! The record of a breaker. A store only holds data of sessions, so the record is the state of a separate
//! session that only breakers use. No worker reads its format, so no worker runs it, and nothing is ever
//! delivered to it. It exists while its model fails, and is deleted when the model answers.

use std::time::Duration;

use holdover_core::breaker::Breaker;
use holdover_core::ids::{
    ID_BYTES_MAX, Incarnation, QueueLabel, SessionId, SessionKey, StateFormat, TenantId,
};
use holdover_core::payload::{Digest, Payload};
use holdover_core::store::{
    Claim, ClaimOne, ClaimOutcome, Commit, CommitOutcome, CreateOutcome, Deletion, Labels, NewSession,
    NewState, OutcomeKind, Release, RunEnd, SessionStatus, Start, StateStore, StoreError,
};
use holdover_core::time::Timestamp;
use tokio::time::sleep;
use uuid::Uuid;

use crate::host::{Host, draw_id};

/// The tenant of the sessions that hold circuit breakers. The session `breaker CIRCUIT` holds the breaker of the
/// model with that [circuit](holdover_core::model::Model::circuit); if the circuit is too long for an id, its digest
/// stands in its place. To close a breaker by hand, delete its session.
pub const BREAKER_TENANT: &str = "holdover";

/// The queue of the sessions that hold circuit breakers. No worker runs them, because their format is newer than any
/// that a worker reads.
pub const BREAKER_QUEUE: &str = "breaker";

/// The queue of the sessions that hold tokens of callers, in the same tenant. No worker runs them, for the same reason.
pub const TOKEN_QUEUE: &str = "token";

/// A format that is newer than any that a worker reads. Otherwise, workers that serve all queues would claim a
/// session that a dead writer left.
const FORMAT: StateFormat = StateFormat(u32::MAX);

/// The lease for one write. A writer that takes longer counts as dead.
const LEASE: Duration = Duration::from_secs(2);

/// The maximum number of attempts to write while other callers write.
const TRIES_MAX: u32 = 20;

/// The wait between two attempts.
const WAIT: Duration = Duration::from_millis(20);

/// The maximum number of characters of the model's name in the label of the session.
const LABEL_CHARS: usize = Labels::TEXT_BYTES_MAX / 4;

/// The effect of a change on a breaker that does not exist: it is made, or it is left missing.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    Made,
    Left,
}

/// A function that computes the new breaker from the old one, while no other process can change it.
pub(super) type Change<'a> = Box<dyn FnOnce(Option<Breaker>, Timestamp) -> Option<Breaker> + Send + 'a>;

/// A breaker as it is stored.
pub(super) struct Record {
    incarnation: Incarnation,
    pub(super) breaker: Breaker,
}

impl Record {
    /// Reads the current breaker. `None` means that no failure is recorded since the model last answered, so the breaker
    /// is closed.
    pub(super) async fn read(host: &Host, model: &str) -> Result<Option<Self>, String> {
        let session = host.records().load_session(&key(model)?).await.map_err(words)?;
        let Some(session) = session else { return Ok(None) };
        Ok(decoded(session.state.as_ref())?.map(|breaker| Self { incarnation: session.incarnation, breaker }))
    }

    /// Changes the breaker while no other process can. If there is none, `missing` says whether it is created.
    pub(super) async fn change(
        host: &Host,
        model: &str,
        missing: Missing,
        change: Change<'_>,
    ) -> Result<Option<Self>, String> {
        for _ in 0..TRIES_MAX {
            match claim(host, model).await? {
                Held::Ours(claim) => return write(host, *claim, change).await,
                Held::Theirs => sleep(WAIT).await,
                Held::Missing => match missing {
                    Missing::Left => return Ok(None),
                    Missing::Made => {
                        if let Some(claim) = make(host, model).await? {
                            return write(host, *claim, change).await;
                        }
                    }
                },
            }
        }
        Err(format!("others have written it for {} ms", (WAIT * TRIES_MAX).as_millis()))
    }

    /// Removes the breaker, even if another process is writing it or died while it wrote.
    pub(super) async fn remove(&self, host: &Host) -> Result<(), String> {
        let deletion = Deletion::FORCE.of(self.incarnation);
        host.records().delete_session(&key(&self.breaker.model)?, deletion).await.map_err(words)?;
        Ok(())
    }
}

fn words(error: StoreError) -> String {
    error.to_string()
}

/// Returns the key of the breaker's session. A name that is too long is replaced by its digest.
fn key(model: &str) -> Result<SessionKey, String> {
    let name = format!("breaker {model}");
    let name =
        if name.len() > ID_BYTES_MAX { format!("breaker {}", Digest::of(model.as_bytes())) } else { name };
    let tenant = TenantId::new(BREAKER_TENANT).map_err(|error| error.to_string())?;
    Ok(SessionKey::new(tenant, name.parse::<SessionId>().map_err(|error| error.to_string())?))
}

fn decoded(state: Option<&Payload>) -> Result<Option<Breaker>, String> {
    let Some(state) = state else { return Ok(None) };
    state.parse().map(Some).map_err(|error| format!("cannot be read: {error}"))
}

/// The result of a claim: who holds the session now.
enum Held {
    Ours(Box<Claim>),
    Theirs,
    Missing,
}

fn claim_one(host: &Host) -> ClaimOne {
    ClaimOne { lease: LEASE, ..host.claim_one(Vec::new(), None) }
}

async fn claim(host: &Host, model: &str) -> Result<Held, String> {
    let key = key(model)?;
    match host.records().claim_session(&key, claim_one(host)).await.map_err(words)? {
        ClaimOutcome::Claimed(claim) => Ok(Held::Ours(claim)),
        ClaimOutcome::NotFound => Ok(Held::Missing),
        ClaimOutcome::Held { .. } | ClaimOutcome::VersionConflict { .. } | ClaimOutcome::LeaseEnded => {
            Ok(Held::Theirs)
        }
        ClaimOutcome::ItemRefused { .. } | ClaimOutcome::Aborted => {
            Err(format!("{key}: is no breaker any more; delete it"))
        }
    }
}

/// Creates the session and claims it. Returns `None` if another process was faster.
async fn make(host: &Host, model: &str) -> Result<Option<Box<Claim>>, String> {
    let label: String = model.chars().take(LABEL_CHARS).collect();
    let new = NewSession {
        key: key(model)?,
        incarnation: Incarnation(Uuid::new_v4()),
        operation: draw_id(),
        queue: QueueLabel::new(BREAKER_QUEUE).map_err(|error| error.to_string())?,
        labels: [("model", label)].into_iter().collect(),
        definition: Payload::new("the breaker of a model"),
        format: FORMAT,
        items: Vec::new(),
        start: Start::Claimed(claim_one(host)),
    };
    match host.records().create_session(new).await.map_err(words)? {
        CreateOutcome::Created { claim, .. } => Ok(claim),
        CreateOutcome::AlreadyExists { .. } | CreateOutcome::Deleted | CreateOutcome::ItemConflict { .. } => {
            Ok(None)
        }
    }
}

/// Releases the session and leaves the breaker unchanged.
async fn give_back(host: &Host, claim: &Claim) -> Result<(), String> {
    let commit = Commit { release: Some(Release::GiveBack { alarm: None }), ..Commit::new(draw_id()) };
    let given = host.records().commit(&claim.fence, commit).await;
    given.map(drop).map_err(words)
}

async fn write(host: &Host, claim: Claim, change: Change<'_>) -> Result<Option<Record>, String> {
    host.hear(claim.now);
    if let Some(encoding) = claim.session.definition.encoding() {
        give_back(host, &claim).await?;
        return Err(format!("{}: {encoding}", claim.fence.key));
    }
    // A state that cannot be read is replaced.
    let before = decoded(claim.session.state.as_ref()).unwrap_or_default();
    let after = change(before, claim.now);
    let state = after.as_ref().map(Payload::json).transpose().map_err(|error| error.to_string())?;
    let commit = Commit {
        state: state.map(|payload| NewState { format: FORMAT, payload }),
        run: Some(RunEnd { outcome: OutcomeKind::Released, detail: Payload::new("") }),
        release: Some(Release::To { status: SessionStatus::Idle, deadline: None, wake_on: 0 }),
        ..Commit::new(draw_id())
    };
    let incarnation = claim.session.incarnation;
    match host.records().commit(&claim.fence, commit).await.map_err(words)? {
        CommitOutcome::Committed(_) => Ok(after.map(|breaker| Record { incarnation, breaker })),
        refused @ (CommitOutcome::VersionConflict { .. }
        | CommitOutcome::StaleFence { .. }
        | CommitOutcome::AnswerWaiting { .. }
        | CommitOutcome::NotStaged { .. }
        | CommitOutcome::StageConflict { .. }
        | CommitOutcome::PendingConflict { .. }
        | CommitOutcome::NotInInbox { .. }) => Err(format!("{}: not written: {refused:?}", claim.fence.key)),
    }
}
