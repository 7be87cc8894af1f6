//! The many sessions of the scaling benchmark, created as a service creates them.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use holdover::pending::{PendingId, PendingKind};
use holdover::runtime::Timestamp;
use holdover::session::{Deletion, Incarnation, Labels, SessionKey, SessionStatus};
use holdover::store::StateStore;
use holdover_store::ids::StateFormat;
use holdover_store::payload::Payload;
use holdover_store::{
    Claim, ClaimOne, Commit, CreateOutcome, Delivery, InboxItem, ItemKind, NewPending, NewSession, Release,
    Start,
};
use uuid::Uuid;

use crate::Failed;

/// The lease of a claimed session, longer than any measurement.
pub(super) const LEASE: Duration = Duration::from_secs(3600);
/// The queue of all sessions.
pub(super) const QUEUE: &str = "benchmark";
/// The number of sessions that are created or removed at once.
const AT_ONCE: usize = 64;
/// The time until the deadline of a call, which no measurement reaches.
const AHEAD: Duration = Duration::from_secs(30 * 24 * 3600);

/// A session that waits for an answer.
pub(super) struct Asked {
    pub(super) key: SessionKey,
    pub(super) life: Incarnation,
    pub(super) pending: PendingId,
}

/// Creates `count` suspended sessions of a tenant, each with an open call.
pub(super) async fn suspended(
    store: &Arc<dyn StateStore>,
    tenant: &str,
    count: usize,
) -> Result<Vec<Asked>, Failed> {
    let one = |_| async {
        let claim = ClaimOne {
            run: format!("run-{}", Uuid::new_v4()).parse()?,
            worker: "benchmark".parse()?,
            lease: LEASE,
            expected_version: None,
            items: Vec::new(),
        };
        let new = new_session(tenant, Start::Claimed(claim))?;
        let (key, life) = (new.key.clone(), new.incarnation);
        let CreateOutcome::Created { claim: Some(claim), .. } = store.create_session(new).await? else {
            return Err(Failed::from("a new session was not created"));
        };
        let call = "call".parse()?;
        let pending = PendingId::of(life, &call, 0)?;
        let deadline = Some(claim.now.after(AHEAD));
        let open = NewPending {
            id: pending.clone(),
            call,
            kind: PendingKind::Approval,
            needed: 1,
            deadline,
            body: Payload::new("May I?"),
        };
        let release = Some(Release::To { status: SessionStatus::Suspended, deadline, wake_on: 0 });
        let park = Commit { open: vec![open], release, ..Commit::new("park".parse()?) };
        store.commit(&claim.fence, park).await?;
        Ok(Asked { key, life, pending })
    };
    stream::iter(0..count).map(one).buffer_unordered(AT_ONCE).try_collect().await
}

/// Creates `count` sessions of a tenant, due since `since`, in milliseconds after the beginning of 1970.
pub(super) async fn due(
    store: &Arc<dyn StateStore>,
    tenant: &str,
    count: usize,
    since: i64,
) -> Result<Vec<SessionKey>, Failed> {
    let one = |_| async {
        let new = new_session(tenant, Start::At(Timestamp::from_ms(since)))?;
        let key = new.key.clone();
        store.create_session(new).await?;
        Ok::<_, Failed>(key)
    };
    stream::iter(0..count).map(one).buffer_unordered(AT_ONCE).try_collect().await
}

fn new_session(tenant: &str, start: Start) -> Result<NewSession, Failed> {
    let name = Uuid::new_v4();
    Ok(NewSession {
        key: SessionKey::new(tenant.parse()?, format!("session-{name}").parse()?),
        incarnation: Incarnation(name),
        operation: format!("create-{name}").parse()?,
        queue: QUEUE.parse()?,
        labels: Labels::default(),
        definition: Payload::new("{}"),
        format: StateFormat(1),
        items: Vec::new(),
        start,
    })
}

/// Ends the run of a claimed session, and leaves the session idle.
pub(super) async fn end(store: &dyn StateStore, claim: &Claim) -> Result<(), Failed> {
    let release = Some(Release::To { status: SessionStatus::Idle, deadline: None, wake_on: 0 });
    store.commit(&claim.fence, Commit { release, ..Commit::new("end".parse()?) }).await?;
    Ok(())
}

/// Answers the open call of a session.
pub(super) async fn answer(store: &dyn StateStore, key: &SessionKey, asked: &Asked) -> Result<(), Failed> {
    let item = InboxItem {
        key: "answer".parse()?,
        kind: ItemKind::Answer { pending: asked.pending.clone(), settles: false },
        incarnation: Some(asked.life),
        payload: Payload::new("yes"),
    };
    let delivery = store.deliver(key, item).await?;
    let Delivery::Accepted { .. } = delivery else {
        return Err(format!("an answer was refused: {delivery:?}").into());
    };
    Ok(())
}

/// Deletes sessions, even if a run holds them.
pub(super) async fn remove(store: &dyn StateStore, keys: &[SessionKey]) -> Result<(), Failed> {
    let one = |key| async move { store.delete_session(key, Deletion::FORCE).await.map(drop) };
    stream::iter(keys).map(one).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    Ok(())
}
