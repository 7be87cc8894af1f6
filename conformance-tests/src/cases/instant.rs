//! Instants of rows, and the instant of a session's last change.

use std::time::Duration;

use holdover_store::StoredItem;

use super::prelude::*;

cases! {
    instant.every_row_has_that_of_its_write: Core Time,
        "messages, events, items, pending calls, checkpoints and runs have the instant at which they were written",
        "people would be shown that everything happened in 1970, or when the conversation began",
        "StoredMessage::at, StoredEvent::at, StoredItem::at, PendingCall::opened_at, Checkpoint::at, RunRecord::started_at, RunEnded::at";
    instant.updated_at_follows_every_change: Core Time,
        "a delivery, a claim, a renewal, a commit, a move of the status and a request to stop each move updated_at",
        "retention would remove what has just changed, and whoever lists what is new would miss it",
        "Session::updated_at: when its row last changed";
    instant.what_changes_nothing_leaves_updated_at: Core Time,
        "repeats and refusals leave the session as it was, updated_at included",
        "a sender that repeats for ever would keep a session for ever: retention never comes",
        "Session::updated_at: when its row last changed; repeats and refusals: nothing was changed";
    instant.a_fork_keeps_those_of_its_prefix: Core Time needs Forks,
        "what a fork copies keeps its instants; the fork itself, and what it appends, have that of the fork",
        "a copied conversation would claim that it took place today, or a new fork would be old enough to be removed",
        "NewFork: messages, events and checkpoints up to the checkpoint, as they are";
    instant.pruning_is_no_change: Core Time needs Retention,
        "a session that loses checkpoints has not changed by it",
        "a nightly sweep of checkpoints would put off the removal of the session for ever",
        "Remove::Checkpoints: all checkpoints but the newest ones; RetentionRule::unchanged_since";
}

/// The time span in which something was done, by the store's clock.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: Timestamp,
    to: Timestamp,
}

impl Span {
    #[track_caller]
    fn ensure_holds(self, at: Timestamp, what: &str) -> CaseResult {
        let Self { from, to } = self;
        ensure!(from <= at && at <= to, "expected {what} from {from:?} to {to:?}", found = "{at:?}");
        Ok(())
    }
}

/// The duration that passes before each step.
fn step(t: &Bench) -> Duration {
    t.lease() / 20
}

/// Lets time pass, then does the work. Returns its result and the time span in which it was done.
async fn timed<T, E>(t: &Bench, work: impl Future<Output = Result<T, E>>) -> CaseResult<(T, Span)>
where
    Failure: From<E>,
{
    t.advance(step(t)).await;
    let from = t.now().await?;
    let answer = work.await?;
    Ok((answer, Span { from, to: t.now().await? }))
}

async fn every_row_has_that_of_its_write(t: Bench) -> CaseResult {
    let new = NewSession { items: vec![message("first")], ..new_session("s") };
    let key = new.key.clone();
    let (_, created) = timed(&t, t.store.create_session(new)).await?;
    let (_, delivered) = timed(&t, t.deliver(&key, message("delivered"))).await?;
    let one = ClaimOne { items: vec![message("carried")], ..t.claim_one() };
    let (claim, claimed) = timed(&t, t.store.claim_session(&key, one)).await?;
    let fence = want!(claim, ClaimOutcome::Claimed(claim) => claim.fence);
    t.stage(&fence, staging([("call", "result")])).await?;
    let full = Commit {
        messages: [promote(["call"]), inline(["m"])].concat(),
        events: events(["e"]),
        open: vec![approval("p")],
        ..checkpoint("state")
    };
    let (_, committed) = timed(&t, t.commit(&fence, full)).await?;
    let release = Some(release_to(SessionStatus::Failed));
    let last = Commit { run: run_end(OutcomeKind::Failed), release, ..commit() };
    let (receipt, ended) = timed(&t, t.commit(&fence, last)).await?;
    let (_, moved) =
        timed(&t, t.store.compare_and_set_status(&key, retry(receipt.version, ["moved"]))).await?;
    let (_, again) = timed(&t, t.claim(&key)).await?;
    let (_, lost) = timed(&t, t.take_over(&key)).await?;

    let Snapshot { session, messages, events, checkpoints, inbox, runs, pending, .. } =
        t.snapshot(&key).await?;
    let session = want!(session, Some(session) => session);
    created.ensure_holds(session.created_at, "the instant of the creation")?;
    let spans = [("first", created), ("delivered", delivered), ("carried", claimed), ("moved", moved)];
    ensure_eq!(inbox.len(), spans.len(), "items");
    for (StoredItem { at, .. }, (name, span)) in inbox.iter().zip(spans) {
        span.ensure_holds(*at, &format!("the item {name:?}"))?;
    }
    ensure_eq!((messages.len(), events.len()), (2, 1), "messages and events");
    for message in &messages {
        committed.ensure_holds(message.at, &format!("the message {}", message.seq.0))?;
    }
    committed.ensure_holds(events[0].at, "the event")?;
    ensure_eq!((pending.len(), checkpoints.len()), (1, 1), "pending calls and checkpoints");
    committed.ensure_holds(pending[0].opened_at, "the opening of the pending call")?;
    committed.ensure_holds(checkpoints[0].at, "the checkpoint")?;
    ensure_eq!(runs.len(), 3, "runs");
    for (run, span) in runs.iter().zip([claimed, again, lost]) {
        span.ensure_holds(run.started_at, &format!("the begin of run {}", run.epoch.0))?;
    }
    for (run, span) in runs.iter().zip([ended, lost]) {
        let end = want!(&run.end, Some(end) => end);
        span.ensure_holds(end.at, &format!("the end of run {}", run.epoch.0))?;
    }
    Ok(())
}

/// Makes a request that moves a session at `version` to suspended and carries messages with these names.
fn retry<const N: usize>(version: Version, names: [&str; N]) -> StatusCas {
    StatusCas {
        incarnation: None,
        expected_version: version,
        to: SessionStatus::Suspended,
        items: names.map(message).into(),
    }
}

/// Does work that must change the session. Fails unless the last change lies in the time span of the work.
async fn changes<T, E>(
    t: &Bench,
    key: &SessionKey,
    what: &str,
    work: impl Future<Output = Result<T, E>>,
) -> CaseResult<T>
where
    Failure: From<E>,
{
    let (answer, span) = timed(t, work).await?;
    span.ensure_holds(t.load(key).await?.updated_at, &format!("updated_at after {what}"))?;
    Ok(answer)
}

async fn updated_at_follows_every_change(t: Bench) -> CaseResult {
    let new = new_session("s");
    let key = new.key.clone();
    changes(&t, &key, "the creation", t.store.create_session(new)).await?;
    changes(&t, &key, "a delivery", t.deliver(&key, message("m"))).await?;
    let first = changes(&t, &key, "a claim", t.claim(&key)).await?.fence;
    let renewed = t.store.renew_lease(&first, t.lease() * 2);
    want!(changes(&t, &key, "a renewal", renewed).await?, LeaseOutcome::Renewed(_));
    changes(&t, &key, "a delivery to a run", t.deliver(&key, message("n"))).await?;
    changes(&t, &key, "a request to stop", t.interrupt(&key, soft("stop"))).await?;
    changes(&t, &key, "a harder request", t.interrupt(&key, abort("abort"))).await?;
    changes(&t, &key, "a commit", t.commit(&first, commit())).await?;
    let failed = Commit {
        interrupt_confirmed: Some(id("abort")),
        release: Some(release_to(SessionStatus::Failed)),
        ..commit()
    };
    let receipt = changes(&t, &key, "a release", t.commit(&first, failed)).await?;
    let moved = t.store.compare_and_set_status(&key, retry(receipt.version, []));
    want!(changes(&t, &key, "a move of the status", moved).await?, CasOutcome::Moved { .. });
    let due = changes(&t, &key, "a claim of what is due", t.claim_due(1)).await?;
    let second = want!(due.first(), Some(claim) => claim.fence.clone());
    let asked = Commit { open: vec![approval("p")], release: suspended(None, 0), ..commit() };
    changes(&t, &key, "a commit that parks", t.commit(&second, asked)).await?;
    changes(&t, &key, "an answer", t.deliver(&key, answer(&second, "p", "yes"))).await?;
    changes(&t, &key, "a stop of what is parked", t.interrupt(&key, soft("again"))).await?;
    Ok(())
}

/// Does work that must change nothing, while time passes.
async fn changes_nothing<T, E>(
    t: &Bench,
    key: &SessionKey,
    what: &str,
    work: impl Future<Output = Result<T, E>>,
) -> CaseResult<T>
where
    Failure: From<E>,
{
    let before = t.load(key).await?;
    t.advance(step(t)).await;
    let answer = work.await?;
    ensure_eq!(t.load(key).await?, before, "the session after {what}");
    Ok(answer)
}

async fn what_changes_nothing_leaves_updated_at(t: Bench) -> CaseResult {
    let new = NewSession { items: vec![message("m")], ..new_session("s") };
    let key = &new.key.clone();
    want!(t.store.create_session(new.clone()).await?, CreateOutcome::Created { .. });
    let again =
        changes_nothing(&t, key, "a repeat of the creation", t.store.create_session(new.clone())).await?;
    want!(again, CreateOutcome::Created { .. });
    let other = NewSession { incarnation: fresh_incarnation(), operation: fresh_id("create"), ..new.clone() };
    let there = changes_nothing(&t, key, "another creation", t.store.create_session(other)).await?;
    want!(there, CreateOutcome::AlreadyExists { .. });

    let delivered =
        changes_nothing(&t, key, "a repeat of an item", t.store.deliver(key, message("m"))).await?;
    want!(delivered, Delivery::Duplicate { .. });
    let differs = InboxItem { payload: bytes("other"), ..message("m") };
    let delivered = changes_nothing(&t, key, "an item that differs", t.store.deliver(key, differs)).await?;
    want!(delivered, Delivery::Conflict { .. });
    let stopped =
        changes_nothing(&t, key, "a stop at rest", t.store.request_interrupt(key, soft("s"))).await?;
    ensure_eq!(stopped, InterruptOutcome::AtRest, "a stop at rest");
    let refused = t.store.compare_and_set_status(key, retry(Version(1), []));
    want!(
        changes_nothing(&t, key, "a move that is not allowed", refused).await?,
        CasOutcome::NotAllowed { .. }
    );
    let stale = t.store.compare_and_set_status(key, retry(Version(9), []));
    let stale = changes_nothing(&t, key, "a move at another version", stale).await?;
    want!(stale, CasOutcome::VersionConflict { .. });
    while_a_run_holds_it(&t, key).await
}

/// Makes repeated and refused requests while a run holds the session. None of them may change it.
async fn while_a_run_holds_it(t: &Bench, key: &SessionKey) -> CaseResult {
    let wrong = ClaimOne { expected_version: Some(Version(9)), ..t.claim_one() };
    let refused =
        changes_nothing(t, key, "a claim at another version", t.store.claim_session(key, wrong)).await?;
    want!(refused, ClaimOutcome::VersionConflict { .. });
    let one = ClaimOne { lease: t.lease() * 4, ..t.claim_one() };
    let claim = want!(t.store.claim_session(key, one.clone()).await?, ClaimOutcome::Claimed(claim) => *claim);
    let again = changes_nothing(t, key, "a repeat of the claim", t.store.claim_session(key, one)).await?;
    want!(again, ClaimOutcome::Claimed(_));
    let held =
        changes_nothing(t, key, "a claim beside it", t.store.claim_session(key, t.claim_one())).await?;
    want!(held, ClaimOutcome::Held { .. });
    let fence = &claim.fence;
    let renewed = changes_nothing(t, key, "a renewal in vain", t.store.renew_lease(fence, t.lease())).await?;
    want!(renewed, LeaseOutcome::Renewed(_));
    let staged = staging([("call", "result")]);
    t.stage(fence, staged.clone()).await?;
    changes_nothing(t, key, "a repeat of a staging", t.stage(fence, staged)).await?;

    let opens = Commit { open: vec![approval("p")], ..commit() };
    t.commit(fence, opens.clone()).await?;
    changes_nothing(t, key, "a repeat of a commit", t.commit(fence, opens)).await?;
    let unknown = Commit { messages: promote(["never"]), ..commit() };
    let refused =
        changes_nothing(t, key, "a commit of what is not staged", t.try_commit(fence, unknown)).await?;
    want!(refused, CommitOutcome::NotStaged { .. });
    let stale = Commit { expected_version: Some(Version(1)), ..commit() };
    let refused = changes_nothing(t, key, "a commit at another version", t.try_commit(fence, stale)).await?;
    want!(refused, CommitOutcome::VersionConflict { .. });

    let nobodys = t.store.deliver(key, answer(fence, "never", "yes"));
    let refused = changes_nothing(t, key, "an answer to nothing", nobodys).await?;
    ensure_eq!(refused, Delivery::NotPending, "an answer to nothing");
    t.deliver(key, answer(fence, "p", "yes")).await?;
    let second = t.store.deliver(key, answer(fence, "p", "no"));
    let refused = changes_nothing(t, key, "a second answer", second).await?;
    ensure_eq!(refused, Delivery::AlreadyAnswered, "a second answer");

    t.interrupt(key, soft("stop")).await?;
    let second =
        changes_nothing(t, key, "a second stop", t.store.request_interrupt(key, soft("second"))).await?;
    want!(second, InterruptOutcome::AlreadyWaiting { .. });
    // The first check hands the interrupt to the run.
    t.store.take_interrupt(fence).await?;
    changes_nothing(t, key, "another look at the stop", t.store.take_interrupt(fence)).await?;
    let kept = t.store.delete_session(key, Deletion::UNLESS_ACTIVE);
    let kept = changes_nothing(t, key, "a deletion without force", kept).await?;
    ensure_eq!(kept, DeleteOutcome::Active, "a deletion without force");
    Ok(())
}

async fn a_fork_keeps_those_of_its_prefix(t: Bench) -> CaseResult {
    let source = t.running("source").await?.fence;
    for number in ["1", "2"] {
        let full = Commit { messages: inline([number]), events: events([number]), ..checkpoint(number) };
        timed(&t, t.commit(&source, full)).await?;
    }
    let before = t.snapshot(&source.key).await?;
    let newest = want!(before.checkpoints.first(), Some(newest) => newest.id);
    let new = new_fork(source.incarnation, "fork");
    let fork = t.store.fork_session(&source.key, newest, new.clone());
    let (forked, span) = timed(&t, fork).await?;
    want!(forked, ForkOutcome::Forked { .. });
    ensure_eq!(t.snapshot(&source.key).await?, before, "the source");

    let after = t.snapshot(&new.key).await?;
    let session = want!(after.session, Some(session) => session);
    span.ensure_holds(session.created_at, "the creation of the fork")?;
    span.ensure_holds(session.updated_at, "the last change of the fork")?;
    let [messages, events] = [after.messages.len(), after.events.len()];
    ensure_eq!((messages, events, after.checkpoints.len()), (3, 3, 3), "messages, events and checkpoints");
    ensure_eq!(after.messages[..2], before.messages, "the copied messages");
    ensure_eq!(after.events[..2], before.events, "the copied events");
    let instants = |all: &[Checkpoint]| -> Vec<(CheckpointId, Timestamp)> {
        all.iter().map(|kept| (kept.id, kept.at)).collect()
    };
    ensure_eq!(instants(&after.checkpoints[1..]), instants(&before.checkpoints), "the copied checkpoints");
    span.ensure_holds(after.messages[2].at, "the message of the fork")?;
    span.ensure_holds(after.events[2].at, "the event of the fork")?;
    span.ensure_holds(after.checkpoints[0].at, "the checkpoint of the fork")?;
    let again = t.store.fork_session(&source.key, newest, new.clone());
    want!(changes_nothing(&t, &new.key, "a repeat of the fork", again).await?, ForkOutcome::Forked { .. });
    Ok(())
}

async fn pruning_is_no_change(t: Bench) -> CaseResult {
    let fence = t.running("s").await?.fence;
    for number in ["1", "2", "3"] {
        t.commit(&fence, checkpoint(number)).await?;
    }
    t.release(&fence, SessionStatus::Idle).await?;
    let rule = retention(Remove::Checkpoints { keep: count(1) });
    let pruned = changes_nothing(&t, &fence.key, "losing checkpoints", removed(&t.store, &rule)).await?;
    ensure_eq!(pruned.checkpoints, 2, "checkpoints removed");
    Ok(())
}
