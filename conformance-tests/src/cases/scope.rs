//! Scopes: data that belongs to exactly one session, one life of it, and one tenant.

use holdover_store::TOMBSTONE_STANDS;

use super::prelude::*;

cases! {
    scope.creations_runs_and_commits_are_known_in_one_session: Core Sequential,
        "the operation of a creation, the run of a claim and the operation of a commit recognise a repeat in their session alone",
        "what is done in one conversation would be swallowed as the repeat of what was done in another",
        "NewSession::operation: recognises a repeat of this creation; ClaimOne::run, Commit::operation alike";
    scope.a_commit_is_a_repeat_under_its_own_fence_alone: Core Sequential,
        "a commit under the operation of an earlier run's commit is applied, in this life and in the next",
        "a step would be answered with what another run wrote, and its own be lost",
        "commit: a repeat of the last commit under the same fence answers the first outcome";
    scope.answers_go_to_the_session_that_is_named: Core Sequential,
        "an answer is taken by the open call of the session that it names, though another has one of that id",
        "whoever approves one refund would approve another",
        "deliver: NotPending: no such call is pending; NewPending::id: unique in the session";
    scope.tombstones_are_of_one_session_of_one_tenant: Core Sequential,
        "what was deleted holds up no creation of another tenant, nor of another session, under the same names",
        "one tenant could forbid another to begin a conversation",
        "Tombstone: a creation or a fork of `key` that names incarnation or operation; INV-35";
    scope.tombstones_of_forks_are_of_one_tenant: Core Sequential needs Forks,
        "a fork that was deleted holds up no fork of another tenant under the same names",
        "one tenant could forbid another to fork",
        "Tombstone: a creation or a fork of `key` that names incarnation or operation; INV-35";
    scope.removal_forgets_nothing_of_another_tenant: Core Sequential,
        "a deletion leaves the keys, pending ids, start marks and deltas of another tenant's session of that id",
        "another tenant would be asked twice, or do twice what it was told once",
        "delete_session: removes every row of a session; StateStore: tenants are part of every key (INV-35)";
    scope.retention_forgets_nothing_of_another_tenant: Core Sequential needs Retention,
        "what retention removes leaves the keys and pending ids of another tenant's session of that id",
        "a nightly sweep of one tenant would make another do things twice",
        "RetentionRule: of this tenant; INV-35";
    scope.nothing_of_a_life_returns_in_the_next: Core Sequential,
        "a session created again has its own labels, definition, queue and counts, and knows no run or commit of before",
        "a conversation would be listed under the customer of the one before, or be given its instructions",
        "delete_session: removes every row of a session; NewSession";
    scope.a_fork_knows_no_pending_id_of_its_source: Core Sequential needs Forks,
        "a fork opens calls under ids that its source has used",
        "what the source asked for could not be asked for again in the fork",
        "NewFork: it has no inbox, alarm, pending calls, staged results or runs; NewPending::id: unique in the session";
    scope.pruning_forgets_no_name: Core Sequential needs Retention,
        "a session that lost checkpoints knows its items' keys, its pending ids and its newest commit as before",
        "an old delivery that comes again would be taken for a new one",
        "Remove::Checkpoints: all checkpoints but the newest ones, and nothing else";
    scope.a_tombstone_stands_from_the_deletion_on: Distributed Time,
        "the tombstone of a session that was created long before stands for a day from its deletion on",
        "the deletion of an old session would let its late duplicates bring it back at once",
        "Tombstone::at: when it was deleted; TOMBSTONE_STANDS";
    scope.a_tombstone_of_retention_stands_from_the_removal_on: Distributed Time needs Retention,
        "the tombstone of a session that rested long before retention came stands for a day from its removal on",
        "retention removes what is old: each of its tombstones would fall at once",
        "Remove::Sessions: a Tombstone is left; Tombstone::at: when it was deleted";
}

/// Makes the request of a claim with this run id.
fn one(t: &Bench, run: &str) -> ClaimOne {
    ClaimOne { run: id(run), ..t.claim_one() }
}

async fn creations_runs_and_commits_are_known_in_one_session(t: Bench) -> CaseResult {
    for name in ["a", "b"] {
        let new = NewSession { operation: id("the creation"), ..new_session(name) };
        let created = t.store.create_session(new).await?;
        want!(created, CreateOutcome::Created { .. });
        ensure_eq!(t.load(&key(name)).await?.version, Version(1), "the version of {name}");
    }
    let mut fences = Vec::new();
    for name in ["a", "b"] {
        let claimed = t.store.claim_session(&key(name), one(&t, "the run")).await?;
        let claim = want!(claimed, ClaimOutcome::Claimed(claim) => *claim);
        ensure_eq!(claim.fence.key, key(name), "the session that was claimed");
        fences.push(claim.fence);
    }
    for fence in &fences {
        let written =
            Commit { operation: id("the commit"), messages: inline([fence.key.id.as_str()]), ..commit() };
        t.commit(fence, written).await?;
    }
    for name in ["a", "b"] {
        ensure_eq!(t.messages(&key(name)).await?, [name], "messages of {name}");
    }
    Ok(())
}

async fn a_commit_is_a_repeat_under_its_own_fence_alone(t: Bench) -> CaseResult {
    let step = |text: &str| Commit { operation: id("step"), messages: inline([text]), ..commit() };
    let first = t.running("s").await?;
    t.commit(&first.fence, step("1")).await?;
    let second = t.take_over(&first.fence.key).await?;
    t.commit(&second.fence, step("2")).await?;
    ensure_eq!(t.messages(&first.fence.key).await?, ["1", "2"], "messages of two runs");
    t.store.delete_session(&first.fence.key, Deletion::FORCE).await?;
    // The runs of the new life have the same numbers as those of the old life.
    t.running("s").await?;
    let again = t.take_over(&first.fence.key).await?;
    ensure_eq!(again.fence.epoch, second.fence.epoch, "the number of the run");
    t.commit(&again.fence, step("3")).await?;
    ensure_eq!(t.messages(&first.fence.key).await?, ["3"], "messages of the next life");
    Ok(())
}

async fn answers_go_to_the_session_that_is_named(t: Bench) -> CaseResult {
    let asked = t.running("asked").await?.fence;
    t.commit(&asked, Commit { open: vec![approval("p")], ..commit() }).await?;
    let other = t.running("other").await?.fence;
    let before = t.snapshot(&asked.key).await?;
    let wrong = t.store.deliver(&other.key, answer(&other, "p", "yes")).await?;
    ensure_eq!(wrong, Delivery::NotPending, "an answer to a session that asks nothing");
    t.commit(&other, Commit { open: vec![approval("p")], ..commit() }).await?;
    t.deliver(&other.key, answer(&other, "p", "yes")).await?;
    ensure_eq!(t.snapshot(&asked.key).await?, before, "the session that was not answered");
    t.deliver(&asked.key, answer(&asked, "p", "yes")).await?;
    Ok(())
}

async fn tombstones_are_of_one_session_of_one_tenant(t: Bench) -> CaseResult {
    let new = new_session("s");
    t.store.create_session(new.clone()).await?;
    t.store.delete_session(&new.key, Deletion::FORCE).await?;
    ensure_eq!(t.store.create_session(new.clone()).await?, CreateOutcome::Deleted, "the late duplicate");
    for key in [key_of("another", "s"), key("another")] {
        let same = NewSession { key: key.clone(), ..new.clone() };
        want!(t.store.create_session(same).await?, CreateOutcome::Created { .. });
        ensure_eq!(t.load(&key).await?.version, Version(1), "the version of {key}");
    }
    Ok(())
}

async fn tombstones_of_forks_are_of_one_tenant(t: Bench) -> CaseResult {
    let mut forks = Vec::new();
    for tenant in ["a", "b"] {
        let new = NewSession { key: key_of(tenant, "source"), ..new_session("source") };
        let source = t.create_claimed(new).await?.fence;
        let at = t.commit(&source, checkpoint("state")).await?.version;
        let fork = NewFork { key: key_of(tenant, "fork"), ..new_fork(source.incarnation, "fork") };
        forks.push((source.key, at, fork));
    }
    let [(from_a, at_a, fork_a), (from_b, at_b, fork_b)] = &forks[..] else { return Ok(()) };
    t.fork(from_a, *at_a, fork_a.clone()).await?;
    t.store.delete_session(&fork_a.key, Deletion::FORCE).await?;
    let at = CheckpointId(at_a.0);
    let late = t.store.fork_session(from_a, at, fork_a.clone()).await?;
    ensure_eq!(late, ForkOutcome::Deleted, "the late duplicate");
    let same =
        NewFork { incarnation: fork_a.incarnation, operation: fork_a.operation.clone(), ..fork_b.clone() };
    t.fork(from_b, *at_b, same).await?;
    Ok(())
}

/// Creates a session of `tenant` with a consumed item and a closed pending call. No read shows their key and id, but
/// the store must keep them.
async fn remembering(t: &Bench, tenant: &str, name: &str) -> CaseResult<Claim> {
    let claim = t.create_claimed(NewSession { key: key_of(tenant, name), ..new_session(name) }).await?;
    let seq = t.deliver(&claim.fence.key, message("consumed")).await?;
    t.commit(&claim.fence, Commit { open: vec![approval("closed")], ..checkpoint("1") }).await?;
    let done =
        Commit { close: vec![id("closed")], consumed: vec![seq], inbox_seen: Some(seq), ..checkpoint("2") };
    t.commit(&claim.fence, done).await?;
    Ok(claim)
}

/// Fails unless the store still recognizes the item key and the pending id that [`remembering`] used.
async fn remembers(t: &Bench, claim: &Claim) -> CaseResult {
    let known = t.store.deliver(&claim.fence.key, message("consumed")).await?;
    want!(known, Delivery::Duplicate { .. });
    let again = t.try_commit(&claim.fence, Commit { open: vec![approval("closed")], ..commit() }).await?;
    ensure_eq!(again, CommitOutcome::PendingConflict { pending: id("closed") }, "a pending id that was used");
    Ok(())
}

async fn removal_forgets_nothing_of_another_tenant(t: Bench) -> CaseResult {
    remembering(&t, "a", "s").await?;
    let other = remembering(&t, "b", "s").await?;
    let mut marked = staging([("call", "result")]);
    marked.starts = vec![id("started")];
    t.stage(&other.fence, marked).await?;
    t.append(&other.fence, deltas(1, 1, ["word"])).await?;
    let before = t.snapshot(&other.fence.key).await?;
    let gone = t.store.delete_session(&key_of("a", "s"), Deletion::FORCE).await?;
    ensure_eq!(gone, DeleteOutcome::Deleted, "the deletion");
    ensure_eq!(t.snapshot(&other.fence.key).await?, before, "the other tenant's session");
    remembers(&t, &other).await
}

async fn retention_forgets_nothing_of_another_tenant(t: Bench) -> CaseResult {
    let gone = remembering(&t, TENANT, "s").await?;
    let other = remembering(&t, "another", "s").await?;
    t.release(&gone.fence, SessionStatus::Idle).await?;
    let report = removed(&t.store, &retention(Remove::Sessions)).await?;
    ensure_eq!(report.sessions, 1, "sessions removed");
    remembers(&t, &other).await
}

async fn nothing_of_a_life_returns_in_the_next(t: Bench) -> CaseResult {
    let first = NewSession {
        labels: Labels::from_iter([("customer", "ann"), ("old", "")]),
        definition: bytes("the first definition"),
        queue: id("first-queue"),
        items: vec![message("m")],
        ..new_session("s")
    };
    t.store.create_session(first).await?;
    let claim = t.claim(&key("s")).await?;
    let again = t.take_over(&claim.fence.key).await?;
    ensure_eq!(again.session.attempts, 1, "takeovers of the first life");
    let step = Commit { operation: id("step"), state: state("old"), ..commit() };
    t.commit(&again.fence, Commit { inbox_seen: Some(InboxSeq(1)), ..step.clone() }).await?;
    let taken = t.take_over(&claim.fence.key).await?;
    ensure_eq!(taken.session.attempts, 1, "takeovers of the first life, after a commit");
    t.store.delete_session(&claim.fence.key, Deletion::FORCE).await?;

    let second = NewSession { labels: Labels::from_iter([("customer", "bob")]), ..new_session("s") };
    t.store.create_session(second.clone()).await?;
    let session = t.load(&second.key).await?;
    ensure_eq!(
        (&session.labels, &session.definition, &session.queue),
        (&second.labels, &second.definition, &second.queue),
        "labels, definition and queue"
    );
    ensure_eq!((session.attempts, session.inbox_seen.0), (0, 0), "takeovers, and what was seen of the inbox");
    let labels = Labels::from_iter([("customer", "ann")]);
    let listed = walk_sessions(&t.store, SessionQuery { labels, ..SessionQuery::all(id(TENANT)) }).await?;
    ensure_eq!(listed, [], "sessions under a label of the first life");
    let again = ClaimOne { run: taken.run, ..t.claim_one() };
    let claimed = t.store.claim_session(&second.key, again).await?;
    let claim = want!(claimed, ClaimOutcome::Claimed(claim) => *claim);
    ensure_eq!(claim.fence.incarnation, second.incarnation, "the life that was claimed");
    ensure_eq!((claim.found, claim.session.attempts), (SessionStatus::Idle, 0), "what the claim found");
    Ok(())
}

async fn a_fork_knows_no_pending_id_of_its_source(t: Bench) -> CaseResult {
    let source = t.running("source").await?.fence;
    let version =
        t.commit(&source, Commit { open: vec![approval("p")], ..checkpoint("state") }).await?.version;
    let new = new_fork(source.incarnation, "fork");
    t.fork(&source.key, version, new.clone()).await?;
    let fork = t.claim(&new.key).await?;
    ensure_eq!(fork.pending, [], "open calls of the fork");
    t.commit(&fork.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
    Ok(())
}

async fn pruning_forgets_no_name(t: Bench) -> CaseResult {
    let claim = remembering(&t, TENANT, "s").await?;
    let key = &claim.fence.key;
    let release = Some(release_to(SessionStatus::Idle));
    let last = Commit { release, messages: inline(["m"]), ..commit() };
    let first = t.commit(&claim.fence, last.clone()).await?;
    let rule = retention(Remove::Checkpoints { keep: count(1) });
    ensure_eq!(removed(&t.store, &rule).await?.checkpoints, 1, "checkpoints removed");
    ensure_eq!(t.commit(&claim.fence, last).await?, first, "a repeat of the newest commit");
    ensure_eq!(t.messages(key).await?, ["m"], "messages");
    remembers(&t, &t.claim(key).await?).await
}

/// Fails unless late duplicates of the creation of a deleted session are recognized after two more sessions were
/// deleted.
async fn stands(t: &Bench, new: &NewSession) -> CaseResult {
    for name in ["one", "two"] {
        let other = t.create(name).await?;
        t.store.delete_session(&other, Deletion::FORCE).await?;
    }
    let under_its_operation = NewSession { incarnation: fresh_incarnation(), ..new.clone() };
    let in_its_incarnation = NewSession { operation: fresh_id("create"), ..new.clone() };
    for late in [new.clone(), under_its_operation, in_its_incarnation] {
        ensure_eq!(t.store.create_session(late).await?, CreateOutcome::Deleted, "a late duplicate");
    }
    Ok(())
}

/// Lets more time pass than a tombstone is kept. On a real clock this does nothing, since it takes a day.
async fn grow_old(t: &Bench) {
    if t.moves_time() {
        t.advance(TOMBSTONE_STANDS * 2).await;
    }
}

async fn a_tombstone_stands_from_the_deletion_on(t: Bench) -> CaseResult {
    let new = new_session("s");
    t.store.create_session(new.clone()).await?;
    grow_old(&t).await;
    t.store.delete_session(&new.key, Deletion::FORCE).await?;
    stands(&t, &new).await
}

async fn a_tombstone_of_retention_stands_from_the_removal_on(t: Bench) -> CaseResult {
    let new = new_session("s");
    t.store.create_session(new.clone()).await?;
    grow_old(&t).await;
    let report = removed(&t.store, &retention(Remove::Sessions)).await?;
    ensure_eq!(report.sessions, 1, "sessions removed");
    stands(&t, &new).await?;
    ensure_eq!(t.store.load_session(&new.key).await?, None, "the session");
    Ok(())
}
