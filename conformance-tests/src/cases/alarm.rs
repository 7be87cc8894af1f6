//! The alarm: the one instant at which a session wants a worker.

use std::time::Duration;

use super::prelude::*;

cases! {
    timer.not_claimable_before_due: Distributed Time,
        "an alarm is not heard before its time",
        "a back-off that ends early hits the rate limit again",
        "INV-24: an alarm fires once per setting, never before its time by the store's clock";
    timer.claim_due_in_due_order_ties_by_id: Distributed Time needs DueOrder,
        "what is due comes soonest alarm first, ties by key",
        "under load the oldest would wait for ever",
        "claim_due: soonest alarm first, ties by key; within a tenant the soonest come first";
    timer.fires_once_across_claimers: Distributed Concurrent,
        "of 8 workers one hears an alarm",
        "a timeout would be carried out twice",
        "INV-24: an alarm fires once per setting";
    timer.claimed_but_unacked_redelivers_after_lease: Distributed Time,
        "an alarm whose worker died is heard again when the lease is over",
        "the timeout would be lost with its worker",
        "design 4: the alarm is the lease's end while a run holds it";
    timer.set_with_commit_or_not_at_all: Durable Sequential,
        "a refused commit sets no alarm, an applied one sets it for good",
        "an alarm without its state wakes a session that waits for nothing",
        "commit: applies a commit wholly or not at all (INV-04)";
    timer.a_new_setting_replaces_the_old: Core Time,
        "each release names the alarm anew; the one before it is gone",
        "a session would wake for a deadline that was dropped",
        "design 4: every session has at most one alarm";
    timer.past_due_is_immediately_due: Core Sequential,
        "a deadline that has passed is due at once",
        "a slow commit would lose its own deadline",
        "Release::To: deadline: when it wants a worker if nothing wakes it before";
    timer.far_future_year_9999_and_epoch_zero: Core Sequential,
        "deadlines at both ends of time are kept to the millisecond",
        "an instant that overflows is due at once, or never",
        "Timestamp: whole milliseconds since 1970";
    timer.survives_reopen_remaining_time_kept: Durable Time,
        "an alarm is heard at its instant, whatever was closed and opened in between",
        "a restart would lose every deadline, or ring them all",
        "Session::alarm: an instant on the store's clock";
    timer.session_deletion_removes_timers: Core Time,
        "a deleted session is never due",
        "a worker would claim what is not there",
        "delete_session: removes every row of a session";
    alarm.deliver_never_moves_an_active_sessions_alarm: Distributed Sequential,
        "neither a delivery nor a stop moves the alarm of a run",
        "a message would have a healthy run taken over",
        "design 4: deliver and request_interrupt never move an active session's alarm";
    alarm.urgent_item_during_a_run_wakes_at_release: Distributed Sequential,
        "an item that the run did not see makes the session due at its release, as it counts",
        "the session would sleep beside its message",
        "design 4: it sets the alarm to now if such items already reach wake_on or one is urgent";
    alarm.items_up_to_inbox_seen_wake_nobody: Core Sequential,
        "an item held on purpose wakes nobody, however urgent, until a new one comes",
        "a held message would start a run that holds it again, for ever",
        "design 4: only items after inbox_seen count, so an item that is held on purpose wakes nobody";
    alarm.wake_on_counts_only_unseen_items: Core Sequential,
        "of the items that wake_on counts, seen ones do not count, quiet ones do not, consumed ones do not",
        "a session that waits for two messages would wake for one",
        "design 4: wake_on is a number of unseen items";
    alarm.inbox_seen_never_falls: Core Sequential,
        "a commit that names less has seen what was seen before",
        "held items would wake the session again",
        "Commit::inbox_seen: the newest item this run has read; never falls";
    alarm.inbox_seen_reaches_no_further_than_the_newest_item: Core Sequential,
        "a commit that claims to have seen what is not there yet has not: the next item wakes the session",
        "an item that comes later would be taken for seen, and lie there unread",
        "Commit::inbox_seen: reaches no further than the newest there is";
    alarm.a_turn_end_may_name_an_alarm: Core Time,
        "a session left idle with a deadline is due then",
        "held messages that are left at the end of a turn would never be read",
        "design 4: a turn that ends with held messages left names the deadline now";
}

/// Creates a session that is suspended until `deadline`.
async fn parked(t: &Bench, name: &str, deadline: Option<Timestamp>) -> CaseResult {
    let claim = t.running(name).await?;
    t.commit(&claim.fence, Commit { release: suspended(deadline, 0), ..commit() }).await?;
    Ok(())
}

async fn not_claimable_before_due(t: Bench) -> CaseResult {
    let now = t.now().await?;
    parked(&t, "later", Some(now.after(t.lease() * 4))).await?;
    parked(&t, "sooner", Some(now.after(t.lease()))).await?;
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due at first");
    if t.advance_to_just_before(t.lease()).await {
        ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due a millisecond before");
    }
    t.advance(t.lease()).await;
    ensure_eq!(t.due_names().await?, ["sooner"], "what is due after one lease");
    Ok(())
}

async fn claim_due_in_due_order_ties_by_id(t: Bench) -> CaseResult {
    let at = t.now().await?.after(t.lease());
    let ms = |ms| Some(at.after(Duration::from_millis(ms)));
    for (name, alarm) in [("e", ms(3)), ("b", ms(2)), ("d", ms(2)), ("c", ms(2)), ("f", ms(1)), ("B", ms(2))]
    {
        parked(&t, name, alarm).await?;
    }
    t.advance(t.lease() * 2).await;
    let claims = t.all_due(&t.due(2)).await?;
    let names: Vec<_> = claims.iter().map(name_of).collect();
    ensure_eq!(names, ["f", "B", "b", "c", "d", "e"], "what is due, two by two");
    Ok(())
}

fn name_of(claim: &holdover_store::Claim) -> &str {
    claim.fence.key.id.as_str()
}

async fn fires_once_across_claimers(t: Bench) -> CaseResult {
    let deadline = t.now().await?.after(t.lease());
    parked(&t, "s", Some(deadline)).await?;
    t.advance(t.lease()).await;
    let wanted: Vec<_> = (0..8).map(|_| t.due(3)).collect();
    let claims = race(t.peers(8).await, |index, peer| {
        let due = wanted[index].clone();
        Box::pin(async move { Ok(peer.claim_due(due).await?.len()) })
    })
    .await?;
    let late = t.due_names().await?.len();
    ensure_eq!(claims.iter().sum::<usize>() + late, 1, "claims by 8 workers, and by one after them");
    Ok(())
}

async fn claimed_but_unacked_redelivers_after_lease(t: Bench) -> CaseResult {
    let deadline = t.now().await?.after(t.lease());
    parked(&t, "s", Some(deadline)).await?;
    t.advance(t.lease()).await;
    let first = t.claim_due(5).await?;
    ensure_eq!(first.len(), 1, "what is due at the deadline");
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due while it is held");
    t.advance(t.lease()).await;
    let second = t.claim_due(5).await?;
    ensure_eq!(second.len(), 1, "what is due after the lease");
    ensure_eq!(second[0].found, SessionStatus::Active, "found");
    Ok(())
}

async fn set_with_commit_or_not_at_all(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let deadline = Some(claim.now.after(t.lease() * 7));
    let bad = Commit { messages: promote(["nothing"]), release: suspended(deadline, 0), ..commit() };
    want!(t.try_commit(&claim.fence, bad).await?, CommitOutcome::NotStaged { .. });
    ensure_eq!(t.load(key).await?.alarm, Some(claim.lease_ends), "alarm after a refused commit");
    t.commit(&claim.fence, Commit { release: suspended(deadline, 0), ..commit() }).await?;
    let t = t.reopen().await;
    ensure_eq!(t.load(key).await?.alarm, deadline, "alarm after an applied commit");
    Ok(())
}

async fn a_new_setting_replaces_the_old(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let after = |leases: u32| Some(claim.now.after(t.lease() * leases));
    t.commit(&claim.fence, Commit { release: suspended(after(2), 0), ..commit() }).await?;
    let claim = t.claim(key).await?;
    t.commit(&claim.fence, Commit { release: suspended(after(9), 0), ..commit() }).await?;
    ensure_eq!(t.load(key).await?.alarm, after(9), "alarm set anew");
    t.advance(t.lease() * 3).await;
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due at the old instant");
    let claim = t.claim(key).await?;
    t.commit(&claim.fence, Commit { release: suspended(None, 0), ..commit() }).await?;
    ensure_eq!(t.load(key).await?.alarm, None, "alarm once none is named");
    t.advance(t.lease() * 7).await;
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due after all of them");
    Ok(())
}

async fn past_due_is_immediately_due(t: Bench) -> CaseResult {
    let now = t.now().await?;
    parked(&t, "at once", Some(now)).await?;
    parked(&t, "long ago", Some(Timestamp::from_ms(now.as_ms() - 100_000))).await?;
    t.store.create_session(NewSession { start: Start::At(now), ..new_session("scheduled") }).await?;
    let mut due = t.due_names().await?;
    ensure_eq!(due.first().map(String::as_str), Some("long ago"), "the first that is due");
    due.sort();
    ensure_eq!(due, ["at once", "long ago", "scheduled"], "what is due");
    Ok(())
}

async fn far_future_year_9999_and_epoch_zero(t: Bench) -> CaseResult {
    let year_9999 = Timestamp::from_ms(253_402_300_799_999);
    let exact = Timestamp::from_ms((1 << 53) - 1);
    for (name, at) in [("9999", year_9999), ("exact", exact), ("zero", Timestamp::EPOCH)] {
        parked(&t, name, Some(at)).await?;
        ensure_eq!(t.load(&crate::fixture::key(name)).await?.alarm, Some(at), "alarm of {name}");
    }
    ensure_eq!(t.due_names().await?, ["zero"], "what is due");
    Ok(())
}

async fn survives_reopen_remaining_time_kept(t: Bench) -> CaseResult {
    let deadline = t.now().await?.after(t.lease() * 2);
    parked(&t, "s", Some(deadline)).await?;
    t.advance(t.lease()).await;
    let t = t.reopen().await;
    ensure_eq!(t.load(&crate::fixture::key("s")).await?.alarm, Some(deadline), "alarm after opening");
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due before the deadline");
    t.advance(t.lease()).await;
    ensure_eq!(t.due_names().await?, ["s"], "what is due at the deadline");
    Ok(())
}

async fn session_deletion_removes_timers(t: Bench) -> CaseResult {
    let deadline = t.now().await?.after(t.lease());
    for name in ["gone", "stays"] {
        parked(&t, name, Some(deadline)).await?;
    }
    t.store.delete_session(&crate::fixture::key("gone"), Deletion::UNLESS_ACTIVE).await?;
    let held = t.running("held").await?;
    t.store.delete_session(&held.fence.key, Deletion::FORCE).await?;
    t.advance(t.lease() * 2).await;
    ensure_eq!(t.due_names().await?, ["stays"], "what is due");
    Ok(())
}

async fn deliver_never_moves_an_active_sessions_alarm(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let alarm = Some(claim.lease_ends);
    for (name, wake) in [("now", Wake::Now), ("count", Wake::Count), ("quiet", Wake::Quiet)] {
        want!(peer.deliver(key, message_that(name, wake)).await?, Delivery::Accepted { .. });
        ensure_eq!(t.load(key).await?.alarm, alarm, "alarm after an item that says {name}");
    }
    for interrupt in [crate::fixture::soft("soft"), crate::fixture::abort("abort")] {
        peer.request_interrupt(key, interrupt).await?;
        ensure_eq!(t.load(key).await?.alarm, alarm, "alarm after a stop");
    }
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due");
    // The same holds after the lease has ended, because the alarm has rung already.
    t.advance(t.lease() * 2).await;
    peer.deliver(key, message("late")).await?;
    ensure_eq!(t.load(key).await?.alarm, alarm, "alarm after an item to a dead run");
    ensure_eq!(t.due_names().await?, ["s"], "what is due after the lease");
    Ok(())
}

async fn urgent_item_during_a_run_wakes_at_release(t: Bench) -> CaseResult {
    let far = Some(t.now().await?.after(t.lease() * 90));
    use SessionStatus::{Failed, Idle, Interrupted, Suspended};
    // A counted item wakes a session at rest at once, and a suspended one only with enough of them.
    let table = [
        (Wake::Now, [(Idle, true), (Interrupted, true), (Failed, true), (Suspended, true)]),
        (Wake::Count, [(Idle, true), (Interrupted, true), (Failed, true), (Suspended, false)]),
        (Wake::Quiet, [(Idle, false), (Interrupted, false), (Failed, false), (Suspended, false)]),
    ];
    for (wake, row) in table {
        for (status, due) in row {
            let claim = t.running(&format!("{wake:?}-{status}")).await?;
            t.deliver(&claim.fence.key, message_that("m", wake)).await?;
            let release = Release::To { status, deadline: far, wake_on: 2 };
            t.commit(&claim.fence, Commit { release: Some(release), ..commit() }).await?;
            let found = t.is_due(&claim.fence.key).await?;
            ensure_eq!(found, due, "whether an unseen item that says {wake:?} makes a {status} session due");
            if !due {
                ensure_eq!(t.load(&claim.fence.key).await?.alarm, far, "alarm: the deadline that was named");
            }
        }
    }
    Ok(())
}

async fn items_up_to_inbox_seen_wake_nobody(t: Bench) -> CaseResult {
    for status in [SessionStatus::Suspended, SessionStatus::Idle] {
        let claim = t.running(&format!("held-{status}")).await?;
        let key = &claim.fence.key;
        let held = t.deliver(key, message("held")).await?;
        let hold = |operation: Commit| Commit {
            inbox_seen: Some(held),
            release: Some(Release::To { status, deadline: None, wake_on: 1 }),
            ..operation
        };
        t.commit(&claim.fence, hold(commit())).await?;
        ensure_eq!(t.load(key).await?.alarm, None, "alarm of a session left {status} with a held message");
        // A claim for another reason holds the message again, without a hot loop.
        let claim = t.claim(key).await?;
        ensure_eq!(claim.inbox.len(), 1, "items in the next claim");
        t.commit(&claim.fence, hold(commit())).await?;
        ensure_eq!(t.load(key).await?.alarm, None, "alarm after holding it again");
        t.deliver(key, message("new")).await?;
        ensure!(
            t.is_due(key).await?,
            "expected a new message to wake it",
            found = "{}",
            t.waking(key).await?
        );
    }
    Ok(())
}

async fn wake_on_counts_only_unseen_items(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let count = |name| message_that(name, Wake::Count);
    t.deliver(key, count("seen")).await?;
    let seen = t.deliver(key, count("seen and consumed")).await?;
    t.deliver(key, count("unseen")).await?;
    t.deliver(key, message_that("unseen but quiet", Wake::Quiet)).await?;
    let park =
        Commit { inbox_seen: Some(seen), consumed: vec![seen], release: suspended(None, 2), ..commit() };
    t.commit(&claim.fence, park).await?;
    ensure_eq!(t.load(key).await?.alarm, None, "alarm with one unseen counted item of two");
    t.deliver(key, message_that("quiet too", Wake::Quiet)).await?;
    ensure_eq!(t.load(key).await?.alarm, None, "alarm after a quiet one");
    t.deliver(key, count("the second")).await?;
    ensure!(
        t.is_due(key).await?,
        "expected the second unseen counted item to wake it",
        found = "{}",
        t.waking(key).await?
    );
    Ok(())
}

async fn inbox_seen_never_falls(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let seen = t.deliver(key, message("held")).await?;
    t.commit(&claim.fence, Commit { inbox_seen: Some(seen), ..commit() }).await?;
    t.commit(&claim.fence, Commit { inbox_seen: Some(InboxSeq(0)), ..commit() }).await?;
    ensure_eq!(t.load(key).await?.inbox_seen, seen, "inbox_seen after a commit that names less");
    t.commit(&claim.fence, Commit { release: suspended(None, 1), ..commit() }).await?;
    ensure_eq!(t.load(key).await?.inbox_seen, seen, "inbox_seen after a commit that names none");
    ensure_eq!(t.load(key).await?.alarm, None, "alarm");
    Ok(())
}

async fn inbox_seen_reaches_no_further_than_the_newest_item(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let newest = t.deliver(key, message_that("first", Wake::Quiet)).await?;
    let ahead = Commit { inbox_seen: Some(InboxSeq(newest.0 + 5)), release: suspended(None, 0), ..commit() };
    t.commit(&claim.fence, ahead).await?;
    ensure_eq!(t.load(key).await?.inbox_seen, newest, "inbox_seen");
    t.deliver(key, message("second")).await?;
    ensure!(
        t.is_due(key).await?,
        "expected the next urgent item to wake it",
        found = "{}",
        t.waking(key).await?
    );
    // It is also not lost at the end of a run that it woke but that did not see it.
    let next = t.claim(key).await?;
    t.commit(&next.fence, Commit { release: suspended(None, 0), ..commit() }).await?;
    ensure!(
        t.is_due(key).await?,
        "expected the unseen item to wake it again",
        found = "{}",
        t.waking(key).await?
    );
    Ok(())
}

async fn a_turn_end_may_name_an_alarm(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let held = t.deliver(&claim.fence.key, message("held")).await?;
    let idle = |deadline| Release::To { status: SessionStatus::Idle, deadline, wake_on: 0 };
    let end = Commit { inbox_seen: Some(held), release: Some(idle(Some(claim.now))), ..commit() };
    t.commit(&claim.fence, end).await?;
    let claims = t.claim_due(5).await?;
    ensure_eq!(claims.len(), 1, "what is due after a turn that left a held message");
    ensure_eq!(claims[0].inbox.len(), 1, "items in the claim");
    let later = claims[0].now.after(t.lease());
    t.commit(&claims[0].fence, Commit { release: Some(idle(Some(later))), ..commit() }).await?;
    ensure_eq!(t.load(&claim.fence.key).await?.alarm, Some(later), "alarm of an idle session");
    Ok(())
}
