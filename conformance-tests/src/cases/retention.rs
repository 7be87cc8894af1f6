//! Retention: which data of resting sessions is removed, and which data never is.

use holdover_store::PurgeReport;

use super::prelude::*;
use crate::sweep::swept;

/// More partitions than any store has.
const PARTITIONS_MAX: usize = 64;
/// Another instant far in the future.
const FAR_AND_MORE: Timestamp = Timestamp::from_ms(FAR.as_ms() + 1);

cases! {
    retention.removes_the_whole_session: Core Sequential needs Retention,
        "a session that rests is removed with everything of it, and counted",
        "what is left behind shows up in the next conversation of that name",
        "Remove::Sessions: the session with everything that belongs to it";
    retention.never_touches_what_waits_or_runs: Core Property needs Retention,
        "what is active, parked, has an alarm, an unread item, an interrupt, a dead letter or a call to settle stays, whatever its age",
        "somebody's approval, or tomorrow's start, would vanish overnight",
        "RetentionRule: active or suspended, or has an alarm, an unread item or a waiting interrupt is never touched";
    retention.by_status_and_tenant: Core Property needs Retention,
        "a rule is about the statuses and the tenant that it names, and about nothing else",
        "one tenant's rule would delete another's conversations",
        "RetentionRule: of this tenant; of sessions that rest with one of these statuses (INV-35)";
    retention.counts_from_the_last_change: Core Time needs Retention,
        "a session counts as old since its last change, not since its creation; the instant itself is not past",
        "a conversation that ended a minute ago would go because it began last year",
        "RetentionRule::unchanged_since: in which nothing has changed since this instant";
    retention.prune_is_resumable_and_batched: Core Property needs Retention,
        "each call deals with at most its limit and says where to go on, until all are dealt with",
        "one call over years of sessions would hold the store up",
        "purge: of at most rule.limit sessions after rule.after, and says where to go on";
    retention.longest_unchanged_first: Core Property needs DueOrder,
        "what has not changed for longest goes first, over all sessions",
        "whoever stops a sweep early would have lost the newest",
        "purge: longest unchanged first, ties by key, over all in a store that has no partitions";
    retention.a_walk_passes_what_has_nothing_to_lose_once: Core Sequential needs Retention,
        "a walk over many sessions that have nothing to lose takes as many calls as they fill, and misses none that has",
        "a sweep over a million sessions would look at each a thousand times, or never come past the first",
        "purge: a call may remove nothing and still have a cursor: sessions with nothing to lose are passed, once in a walk";
    retention.goes_on_where_it_was_interrupted: Core Sequential needs Retention,
        "the cursor of a walk is taken by the same rule with any limit, and by no other rule",
        "a sweep of one tenant would go on in the middle of another's, and leave out what lies before",
        "RetentionRule::after: of the same rule, whatever its limit; a cursor of another rule is an InvalidArgument";
    retention.prune_keeps_latest_checkpoint_and_active: Core Property needs Retention,
        "of each session that rests the newest checkpoints stay, and nothing else of it changes",
        "the only place from which a conversation can be forked would be gone",
        "Remove::Checkpoints: all checkpoints but the newest ones; how many of each session stay";
    retention.refuses_a_status_that_is_no_rest: Core Property needs Retention,
        "a rule about active or suspended sessions is an invalid argument and removes nothing",
        "a rule that cannot be kept would be believed",
        "RetentionRule::check: refuses a status that is no rest";
    retention.beside_a_claim_never_half_a_session: Distributed Concurrent needs Retention,
        "of a rule and a claim at one instant one wins: the session is gone, or it runs and is whole",
        "a run would work on a transcript that is being deleted",
        "purge: each session is dealt with wholly or not at all (INV-04)";
}

fn sessions(limit: u32) -> RetentionRule {
    RetentionRule { limit: count(limit), ..retention(Remove::Sessions) }
}

async fn exists(t: &Bench, key: &SessionKey) -> CaseResult<bool> {
    Ok(t.store.load_session(key).await?.is_some())
}

/// Creates a resting session with a message, an event, checkpoints, an open pending call and a consumed item.
async fn resting(t: &Bench, name: &str) -> CaseResult<SessionKey> {
    let claim = t.running(name).await?;
    let seq = t.deliver(&claim.fence.key, message("item")).await?;
    t.stage(&claim.fence, staging([("call", "result")])).await?;
    let open = vec![approval("p")];
    t.commit(&claim.fence, Commit { messages: inline(["m"]), open, ..checkpoint("1") }).await?;
    t.append(&claim.fence, deltas(1, 1, ["d"])).await?;
    let last = Commit {
        events: events(["e"]),
        consumed: vec![seq],
        inbox_seen: Some(seq),
        release: Some(release_to(SessionStatus::Idle)),
        ..checkpoint("2")
    };
    t.commit(&claim.fence, last).await?;
    Ok(claim.fence.key)
}

async fn removes_the_whole_session(t: Bench) -> CaseResult {
    let gone = resting(&t, "s").await?;
    let report = removed(&t.store, &sessions(10)).await?;
    ensure_eq!((report.sessions, report.checkpoints), (1, 0), "sessions and checkpoints removed");
    let found = t.snapshot(&gone).await?;
    ensure_eq!((found.session, found.pending), (None, vec![]), "the session and its pending calls");
    let again = removed(&t.store, &sessions(10)).await?;
    ensure_eq!(again, PurgeReport::default(), "the second call");
    let claim = t.running("s").await?;
    let found = t.snapshot(&gone).await?;
    ensure_eq!(
        (found.messages, found.events, found.inbox),
        (vec![], vec![], vec![]),
        "rows of its successor"
    );
    ensure_eq!((found.checkpoints, found.runs.len()), (vec![], 1), "checkpoints and runs of its successor");
    let session = t.load(&gone).await?;
    ensure_eq!((session.version, session.state), (Version(2), None), "version and state of its successor");
    ensure_eq!(session.staged.results, [], "what is staged in its successor");
    ensure_eq!(t.deliver(&gone, message("item")).await?.0, 1, "an old key's place in its successor");
    t.commit(&claim.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
    Ok(())
}

/// Creates sessions that no rule may touch, each for one reason.
async fn guarded(t: &Bench) -> CaseResult<Vec<(&'static str, SessionKey)>> {
    let mut all = vec![("active", t.left_as("active", SessionStatus::Active).await?)];
    all.push(("active with its lease over", t.left_as("expired", SessionStatus::Active).await?));
    all.push(("suspended", t.left_as("suspended", SessionStatus::Suspended).await?));
    let given_back = t.running("back").await?;
    let claim = t.take_over(&given_back.fence.key).await?;
    let back = Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() };
    t.commit(&claim.fence, back).await?;
    all.push(("active and given back", claim.fence.key));
    let due = NewSession { items: vec![message("m")], ..new_session("due") };
    t.store.create_session(due).await?;
    all.push(("due", key("due")));
    let later = NewSession { start: Start::At(FAR), ..new_session("later") };
    t.store.create_session(later).await?;
    all.push(("starts later", key("later")));
    let claim = t.running("timed").await?;
    let release = Some(Release::To { status: SessionStatus::Failed, deadline: Some(FAR), wake_on: 0 });
    t.commit(&claim.fence, Commit { release, ..commit() }).await?;
    all.push(("has an alarm in the far future", claim.fence.key));
    let unread = t.create("unread").await?;
    t.deliver(&unread, message_that("quiet", holdover_store::Wake::Quiet)).await?;
    all.push(("has an unread item that wakes nobody", unread));
    let stopped = t.left_as("stopped", SessionStatus::Idle).await?;
    t.interrupt(&stopped, abort("stop")).await?;
    all.push(("has an interrupt waiting", stopped));
    all.extend(left_asking(t).await?);
    for (_, key) in &all {
        ensure!(exists(t, key).await?, "expected the session {key} to be there", found = "none");
    }
    Ok(all)
}

async fn never_touches_what_waits_or_runs(t: Bench) -> CaseResult {
    let guarded = guarded(&t).await?;
    t.advance(t.lease() * 3).await;
    let mut before = Vec::new();
    for (_, key) in &guarded {
        before.push(t.snapshot(key).await?);
    }
    let free = resting(&t, "free").await?;
    for remove in [Remove::Checkpoints { keep: count(1) }, Remove::Sessions] {
        let everywhere = RetentionRule { tenant: None, ..retention(remove) };
        removed(&t.store, &everywhere).await?;
        for ((what, key), before) in guarded.iter().zip(&before) {
            ensure_eq!(t.snapshot(key).await?, *before, "a session that {what}, after {remove:?}");
        }
    }
    ensure!(
        !exists(&t, &free).await?,
        "expected the session that rests to be gone",
        found = "that it is there"
    );
    Ok(())
}

async fn by_status_and_tenant(t: Bench) -> CaseResult {
    const RESTS: [SessionStatus; 4] =
        [SessionStatus::Idle, SessionStatus::Interrupted, SessionStatus::Failed, SessionStatus::Aborted];
    let of = |tenant: &str, status: SessionStatus| key_of(tenant, &format!("{tenant}-{status}"));
    for tenant in ["a", "b"] {
        for status in RESTS {
            let key = of(tenant, status);
            let claim = t.create_claimed(NewSession { key: key.clone(), ..new_session("s") }).await?;
            t.release(&claim.fence, status).await?;
        }
    }
    let left = async || -> CaseResult<Vec<String>> {
        let mut names = Vec::new();
        for tenant in ["a", "b"] {
            for status in RESTS {
                if exists(&t, &of(tenant, status)).await? {
                    names.push(format!("{tenant}-{status}"));
                }
            }
        }
        Ok(names)
    };
    let rule = |tenant: Option<&str>, status: &[SessionStatus]| RetentionRule {
        tenant: tenant.map(id),
        status: status.to_vec(),
        ..retention(Remove::Sessions)
    };
    let failed = removed(&t.store, &rule(Some("a"), &[SessionStatus::Failed])).await?;
    ensure_eq!(failed.sessions, 1, "failed sessions of one tenant");
    let most = ["a-idle", "a-interrupted", "a-aborted", "b-idle", "b-interrupted", "b-failed", "b-aborted"];
    ensure_eq!(left().await?, most, "after a rule about failed sessions of one tenant");
    let two = rule(Some("b"), &[SessionStatus::Aborted, SessionStatus::Interrupted]);
    ensure_eq!(removed(&t.store, &two).await?.sessions, 2, "aborted and interrupted sessions of the other");
    ensure_eq!(left().await?, ["a-idle", "a-interrupted", "a-aborted", "b-idle", "b-failed"], "after it");
    ensure_eq!(removed(&t.store, &rule(Some("nobody"), &[])).await?.sessions, 0, "sessions of nobody");
    ensure_eq!(removed(&t.store, &rule(Some("a"), &[])).await?.sessions, 3, "all that rest of one tenant");
    ensure_eq!(left().await?, ["b-idle", "b-failed"], "after it");
    ensure_eq!(removed(&t.store, &rule(None, &[SessionStatus::Idle])).await?.sessions, 1, "idle ones of all");
    ensure_eq!(left().await?, ["b-failed"], "after it");
    Ok(())
}

async fn counts_from_the_last_change(t: Bench) -> CaseResult {
    let old = t.left_as("old", SessionStatus::Idle).await?;
    let woken = t.running("woken").await?;
    t.advance(t.lease() / 2).await;
    t.release(&woken.fence, SessionStatus::Idle).await?;
    let changed = t.load(&woken.fence.key).await?.updated_at;
    ensure!(
        t.load(&old).await?.updated_at < changed,
        "expected the old one to have changed before {changed:?}",
        found = "{:?}",
        t.load(&old).await?.updated_at
    );
    t.advance(t.lease() * 4).await;
    let since = |unchanged_since| RetentionRule { unchanged_since, ..sessions(10) };
    let report = removed(&t.store, &since(t.load(&old).await?.updated_at)).await?;
    ensure_eq!(report.sessions, 0, "sessions unchanged since before the first change");
    let report = removed(&t.store, &since(changed)).await?;
    ensure_eq!(report.sessions, 1, "sessions unchanged since the second one's change");
    ensure_eq!(
        (exists(&t, &old).await?, exists(&t, &woken.fence.key).await?),
        (false, true),
        "which is there"
    );
    let later = changed.after(std::time::Duration::from_millis(1));
    ensure_eq!(
        removed(&t.store, &since(later)).await?.sessions,
        1,
        "sessions unchanged since a moment later"
    );
    Ok(())
}

async fn prune_is_resumable_and_batched(t: Bench) -> CaseResult {
    step_by_step(&t, |_, _, _| Ok(())).await
}

async fn longest_unchanged_first(t: Bench) -> CaseResult {
    if !t.store.capabilities().retention {
        return Ok(());
    }
    step_by_step(&t, |left, order, removed| {
        ensure_eq!(*left, order[removed..], "what is left, in the order of its last changes");
        Ok(())
    })
    .await
}

/// Walks over seven sessions in steps of several sizes. After each step, calls `check` with the names that are left,
/// all names in the order of their last changes, and the number of sessions removed so far.
async fn step_by_step(t: &Bench, check: fn(&[&str], &[&str], usize) -> CaseResult) -> CaseResult {
    const SESSIONS: usize = 7;
    for limit in [1, 2, 3, SESSIONS as u32, 100] {
        // With these names, the order of changes differs from the order of names and from the order of creation.
        let names = ["d", "a", "f", "c", "g", "b", "e"];
        let mut claims = Vec::new();
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            claims.push(t.running(&format!("{name}-{limit}")).await?);
        }
        for name in names {
            t.advance(t.lease() / 20).await;
            let claim = claims.iter().find(|claim| claim.fence.key == key(&format!("{name}-{limit}")));
            let claim = want!(claim, Some(claim) => claim);
            t.release(&claim.fence, SessionStatus::Idle).await?;
        }
        let mut rule = sessions(limit);
        let mut removed = 0;
        for call in 0..PAGES_MAX {
            let report = t.store.purge(&rule).await?;
            ensure!(report.sessions <= u64::from(limit), "expected at most {limit}", found = "{report:?}");
            removed += report.sessions as usize;
            let mut left = Vec::new();
            for name in names {
                if exists(t, &key(&format!("{name}-{limit}"))).await? {
                    left.push(name);
                }
            }
            ensure_eq!(
                left.len() + removed,
                SESSIONS,
                "sessions left and removed after call {call} by {limit}"
            );
            check(&left, &names, removed)?;
            rule.after = report.next;
            if rule.after.is_none() {
                break;
            }
        }
        ensure_eq!(removed, SESSIONS, "sessions removed by {limit}");
    }
    Ok(())
}

async fn prune_keeps_latest_checkpoint_and_active(t: Bench) -> CaseResult {
    const MADE: [usize; 4] = [0, 1, 3, 5];
    for keep in [1, 2, 4] {
        let mut resting = Vec::new();
        for made in MADE {
            let claim = t.running(&format!("rests-{keep}-{made}")).await?;
            for number in 0..made {
                t.commit(&claim.fence, Commit { messages: inline(["m"]), ..checkpoint(&number.to_string()) })
                    .await?;
            }
            t.release(&claim.fence, SessionStatus::Idle).await?;
            resting.push((made, claim.fence.key.clone(), t.snapshot(&claim.fence.key).await?));
        }
        let runs = t.running(&format!("runs-{keep}")).await?;
        for _ in 0..3 {
            t.commit(&runs.fence, checkpoint("state")).await?;
        }
        let untouched = t.snapshot(&runs.fence.key).await?;
        let rule = retention(Remove::Checkpoints { keep: count(keep) });
        // One session at a time: sessions with nothing to remove must not block the walk.
        let (report, _) = swept(&t.store, RetentionRule { limit: count(1), ..rule }).await?;
        ensure_eq!(report.sessions, 0, "sessions removed");
        let keep = keep as usize;
        let surplus: usize = MADE.iter().map(|made| made.saturating_sub(keep)).sum();
        ensure_eq!(report.checkpoints, surplus as u64, "checkpoints removed, keeping {keep}");
        for (made, key, mut before) in resting {
            before.checkpoints.truncate(keep);
            ensure_eq!(t.snapshot(&key).await?, before, "a session of {made} checkpoints, keeping {keep}");
            t.store.delete_session(&key, Deletion::FORCE).await?;
        }
        ensure_eq!(t.snapshot(&runs.fence.key).await?, untouched, "the running session");
    }
    Ok(())
}

async fn refuses_a_status_that_is_no_rest(t: Bench) -> CaseResult {
    let rests = t.left_as("rests", SessionStatus::Idle).await?;
    for status in [SessionStatus::Active, SessionStatus::Suspended] {
        let rule = RetentionRule { status: vec![SessionStatus::Idle, status], ..sessions(10) };
        let error = want!(t.store.purge(&rule).await, Err(error) => error);
        ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "{status}");
        ensure!(
            exists(&t, &rests).await?,
            "expected the session to be there, after {status}",
            found = "none"
        );
    }
    Ok(())
}

async fn beside_a_claim_never_half_a_session(t: Bench) -> CaseResult {
    const ROUNDS: usize = 25;
    let peers = t.peers(2).await;
    for round in 0..ROUNDS {
        let key = resting(&t, &format!("s{round}")).await?;
        let whole = t.snapshot(&key).await?;
        let one = t.claim_one();
        let answers = race(peers.clone(), |index, peer| {
            let (key, one) = (key.clone(), one.clone());
            Box::pin(async move {
                if index == 0 {
                    swept(&peer, sessions(10)).await?;
                    return Ok(None);
                }
                Ok(Some(peer.claim_session(&key, one).await?))
            })
        })
        .await?;
        let found = t.snapshot(&key).await?;
        match answers.into_iter().flatten().next() {
            Some(ClaimOutcome::Claimed(claim)) => {
                let session = want!(found.session, Some(session) => session);
                ensure_eq!(session.status, SessionStatus::Active, "the status of the claimed session");
                ensure_eq!(
                    (found.messages, found.events, found.pending, found.checkpoints),
                    (whole.messages, whole.events, whole.pending, whole.checkpoints),
                    "what the claimed session has"
                );
                t.commit(&claim.fence, Commit { messages: inline(["more"]), ..commit() }).await?;
            }
            Some(ClaimOutcome::NotFound) => {
                ensure_eq!((found.session, found.pending), (None, vec![]), "the removed session");
                t.create(key.id.as_str()).await?;
                ensure_eq!(t.messages(&key).await?, Vec::<String>::new(), "messages of its successor");
            }
            other => {
                return Err(Failure::new(format!("expected it claimed, or gone\n    found    {other:?}")));
            }
        }
        t.store.delete_session(&key, Deletion::FORCE).await?;
    }
    Ok(())
}

async fn a_walk_passes_what_has_nothing_to_lose_once(t: Bench) -> CaseResult {
    const SESSIONS: usize = 120;
    const LIMIT: u32 = 10;
    let mut full = Vec::new();
    for number in 0..SESSIONS {
        let claim = t.running(&format!("s{number:03}")).await?;
        let checkpoints = if number % 40 == 39 { 3 } else { 1 };
        for _ in 0..checkpoints {
            t.commit(&claim.fence, checkpoint("state")).await?;
        }
        t.release(&claim.fence, SessionStatus::Idle).await?;
        if checkpoints > 1 {
            full.push(claim.fence.key);
        }
    }
    let rule = RetentionRule { limit: count(LIMIT), ..retention(Remove::Checkpoints { keep: count(1) }) };
    for surplus in [full.len() as u64 * 2, 0] {
        let (report, steps) = swept(&t.store, rule.clone()).await?;
        ensure_eq!((report.sessions, report.checkpoints), (0, surplus), "what was removed");
        // A store with partitions may end a step at the end of each partition.
        let most = SESSIONS / LIMIT as usize + PARTITIONS_MAX;
        ensure!(steps <= most, "expected at most {most} calls", found = "{steps}");
    }
    for key in full {
        ensure_eq!(t.snapshot(&key).await?.checkpoints.len(), 1, "checkpoints of {key}");
    }
    Ok(())
}

async fn goes_on_where_it_was_interrupted(t: Bench) -> CaseResult {
    const SESSIONS: usize = 6;
    for tenant in [TENANT, "other"] {
        for number in 0..SESSIONS {
            let key = key_of(tenant, &format!("s{number}"));
            let claim = t.create_claimed(NewSession { key, ..new_session("s") }).await?;
            t.commit(&claim.fence, checkpoint("1")).await?;
            let release = Some(release_to(SessionStatus::Idle));
            t.commit(&claim.fence, Commit { release, ..checkpoint("2") }).await?;
        }
    }
    let prune = Remove::Checkpoints { keep: count(1) };
    let own = RetentionRule { limit: count(2), ..retention(prune) };
    let first = t.store.purge(&own).await?;
    let after = Some(want!(first.next, Some(next) => next));
    let others = [
        ("another tenant", RetentionRule { tenant: Some(id("other")), ..own.clone() }),
        ("every tenant", RetentionRule { tenant: None, ..own.clone() }),
        ("another status", RetentionRule { status: vec![SessionStatus::Idle], ..own.clone() }),
        ("another instant", RetentionRule { unchanged_since: FAR_AND_MORE, ..own.clone() }),
        (
            "other checkpoints",
            RetentionRule { remove: Remove::Checkpoints { keep: count(2) }, ..own.clone() },
        ),
        ("sessions", RetentionRule { remove: Remove::Sessions, ..own.clone() }),
    ];
    for (what, rule) in others {
        let error =
            want!(t.store.purge(&RetentionRule { after: after.clone(), ..rule }).await, Err(error) => error);
        ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "a cursor in a rule about {what}");
    }
    let made_up = PageCursor::at(own.digest(), b"\xff no place");
    let error = want!(t.store.purge(&RetentionRule { after: Some(made_up), ..own.clone() }).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "a cursor with a place that was made up");
    let rest = RetentionRule { limit: count(100), after, ..own };
    let (rest, _) = swept(&t.store, rest).await?;
    ensure_eq!(first.checkpoints + rest.checkpoints, SESSIONS as u64, "checkpoints removed in one walk");
    for number in 0..SESSIONS {
        let left = |tenant| key_of(tenant, &format!("s{number}"));
        ensure_eq!(t.snapshot(&left(TENANT)).await?.checkpoints.len(), 1, "checkpoints that stay");
        ensure_eq!(t.snapshot(&left("other")).await?.checkpoints.len(), 2, "checkpoints of another tenant");
    }
    Ok(())
}
