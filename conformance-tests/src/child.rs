//! The child program that cases kill. It writes without end and reports its progress on standard output.

use std::io::Write as _;

use holdover_store::ids::{Epoch, Fence, InboxSeq, Incarnation, SessionKey};
use holdover_store::{
    ClaimOne, Commit, CommitOutcome, CreateOutcome, Delivery, InboxItem, NewSession, StageOutcome, Staging,
    Start, StateStore,
};
use uuid::Uuid;

use crate::fixture::{approval, events, id, inline, key, message, new_session, promote, result, state};

/// The environment variable with the number of the child's round.
pub(crate) const ROUND: &str = "HOLDOVER_CHILD_ROUND";
/// The prefix of each line that the parent reads.
pub(crate) const SAYS: &str = "holdover-child";

/// Writes to `store` until the process is killed: the main loop of the program that
/// [`StoreHarness::child`](crate::StoreHarness::child) starts. It commits in an endless loop. On standard output, it
/// reports each request before it is sent, and the acknowledgement of the creation and of each commit. It returns when
/// standard output is closed, or when the store returns an error or an unexpected answer.
pub async fn serve_child(store: impl StateStore) {
    let round = std::env::var(ROUND).ok().and_then(|round| round.parse().ok()).unwrap_or_default();
    let Some(()) = create(&store, round).await else { return };
    for nth in 1.. {
        if write(&store, round, nth).await.is_none() {
            return;
        }
    }
}

async fn create(store: &impl StateStore, round: u64) -> Option<()> {
    say("create", 0)?;
    let created = store.create_session(session(round)).await.ok()?;
    matches!(created, CreateOutcome::Created { claim: Some(_), .. }).then_some(())?;
    say("acknowledged", 0)
}

async fn write(store: &impl StateStore, round: u64, nth: u64) -> Option<()> {
    say("deliver", nth)?;
    let delivered = store.deliver(&session_key(round), item(nth)).await.ok()?;
    matches!(delivered, Delivery::Accepted { .. }).then_some(())?;
    say("stage", nth)?;
    let staged = store.stage_result(&fence(round), staged(nth)).await.ok()?;
    matches!(staged, StageOutcome::Staged(_)).then_some(())?;
    say("commit", nth)?;
    let committed = store.commit(&fence(round), commit(nth)).await.ok()?;
    matches!(committed, CommitOutcome::Committed(_)).then_some(())?;
    say("acknowledged", nth)
}

/// Prints a line. Returns `None` if standard output is closed.
fn say(what: &str, nth: u64) -> Option<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{SAYS} {what} {nth}").ok()?;
    out.flush().ok()
}

// The contents of each write. The child writes them, and the parent compares what it finds with them.

pub(crate) fn session_key(round: u64) -> SessionKey {
    key(&format!("round-{round}"))
}

pub(crate) fn session(round: u64) -> NewSession {
    let claim = ClaimOne {
        run: id("child"),
        worker: id("child"),
        lease: std::time::Duration::from_secs(10),
        expected_version: None,
        items: Vec::new(),
    };
    NewSession {
        key: session_key(round),
        incarnation: incarnation(round),
        operation: id("create"),
        start: Start::Claimed(claim),
        ..new_session("child")
    }
}

fn incarnation(round: u64) -> Incarnation {
    Incarnation(Uuid::from_u128(1 << 64 | u128::from(round)))
}

pub(crate) fn fence(round: u64) -> Fence {
    Fence { key: session_key(round), incarnation: incarnation(round), epoch: Epoch(1) }
}

pub(crate) fn item(nth: u64) -> InboxItem {
    message(&format!("item-{nth}"))
}

pub(crate) fn staged(nth: u64) -> Staging {
    Staging { results: vec![result(&format!("call-{nth}"), &format!("result {nth}"))], starts: Vec::new() }
}

/// Makes the child's `nth` commit: a state kept as a checkpoint, messages, an event, pending calls and a consumed item.
pub(crate) fn commit(nth: u64) -> Commit {
    let close = (nth > 1).then(|| id(&format!("pending-{}", nth - 1)));
    Commit {
        state: state(&format!("state {nth}")),
        messages: [promote([&format!("call-{nth}")]), inline([&format!("message {nth}")])].concat(),
        events: events([&format!("event {nth}")]),
        checkpoint: true,
        open: vec![approval(&format!("pending-{nth}"))],
        close: close.into_iter().collect(),
        consumed: vec![InboxSeq(nth)],
        inbox_seen: Some(InboxSeq(nth)),
        ..Commit::new(id(&format!("commit-{nth}")))
    }
}
