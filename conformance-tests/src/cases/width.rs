//! Numbers that need more than 8, 16, 31 or 32 bits.

use std::time::Duration;

use holdover_store::LEASE_MAX;

use super::prelude::*;

cases! {
    lease.longer_than_24_days_is_kept: Core Time,
        "a lease of more milliseconds than 31 or 32 bits hold ends when it was asked to",
        "a lease that wraps around ends at once, and another worker takes a live run over",
        "ClaimOne::lease: for how long; Lease::granted_ms has 64 bits";
    lease.longest_is_kept_and_a_longer_one_refused: Core Sequential,
        "a lease of ten years is granted and kept, and one that is a millisecond longer is refused",
        "a session would be held until an instant that the store cannot read any more, and be lost with it",
        "LEASE_MAX: a claim or a renewal for longer is an InvalidArgument and changes nothing";
    pending.takes_any_number_of_answers: Core Property,
        "a call that needs more answers than 8, 16 or 31 bits hold is not settled by one",
        "one person's word would be enough where thousands were asked for",
        "NewPending::needed: how many answers it takes; it has 32 bits";
    alarm.wake_on_of_any_number: Core Property,
        "a session that waits for more items than 8, 16 or 31 bits hold is not woken by one, and is woken by the last",
        "it would be woken by every item, or by none",
        "Release::To::wake_on: how many unseen counted items wake it; it has 32 bits";
    claim.format_of_any_number: Core Property,
        "a format of more than 8, 16 or 31 bits is kept, and served only to workers that read it",
        "a worker would be handed a state that it cannot read",
        "ClaimDue::newest_format: sessions with a newer format are left alone; a format has 32 bits";
    deltas.stream_of_any_number: Core Property,
        "the number of a model call may have 32 bits, and later calls come after it",
        "the words of one model call would be shown as those of another",
        "StreamId: later streams of a session are greater; its number has 32 bits";
}

/// Numbers that change in a narrower integer: the first four become 0 or 1 in 8 or 16 bits, and the last two become
/// negative in 32 bits with a sign.
const WIDE: [u32; 6] = [1 << 8, (1 << 8) + 1, 1 << 16, (1 << 16) + 1, 1 << 31, u32::MAX];

async fn longer_than_24_days_is_kept(t: Bench) -> CaseResult {
    let lengths = [(1 << 31) - 1, 1 << 31, (1 << 31) + 1, 1 << 32, (1 << 32) + 1, 315_360_000_000];
    let first = t;
    for ms in lengths {
        // Each lease has its own store, because the leases of the others would end when time passes.
        let t = first.another().await;
        let lease = Duration::from_millis(ms);
        let check = async |name: &str, ends: Timestamp, now: Timestamp, way: &str| -> CaseResult {
            let session = t.load(&crate::fixture::key(name)).await?;
            let held = session.lease.map(|held| (held.ends, held.granted_ms));
            let what = format!("a lease of {ms} ms, by {way}");
            ensure_eq!(ends, now.after(lease), "the end of {what}");
            ensure_eq!(held, Some((ends, ms)), "the end and the length of {what}, read back");
            ensure_eq!(session.alarm, Some(ends), "the alarm of {what}");
            Ok(())
        };
        let one = || ClaimOne { lease, ..t.claim_one() };
        let named = |way: &str| format!("{way}-{ms}");

        let name = named("claim");
        let key = t.create(&name).await?;
        let claim = want!(t.store.claim_session(&key, one()).await?, ClaimOutcome::Claimed(claim) => claim);
        check(&name, claim.lease_ends, claim.now, "a claim").await?;
        let other = t.store.claim_session(&key, t.claim_one()).await?;
        let held = want!(other, ClaimOutcome::Held { lease_ends, .. } => lease_ends);
        ensure_eq!(held, claim.lease_ends, "the end of the lease that another worker is told");

        let name = named("creation");
        let new = NewSession { start: Start::Claimed(one()), ..new_session(&name) };
        let created = t.store.create_session(new).await?;
        let claim = want!(created, CreateOutcome::Created { claim: Some(claim), .. } => claim);
        check(&name, claim.lease_ends, claim.now, "a creation").await?;

        let name = named("due");
        t.store.create_session(NewSession { items: vec![message("m")], ..new_session(&name) }).await?;
        let mut due = t.store.claim_due(ClaimDue { lease, ..t.due(1) }).await?;
        ensure_eq!(due.len(), 1, "sessions that are due");
        let claim = due.remove(0);
        check(&name, claim.lease_ends, claim.now, "a claim of what is due").await?;

        let name = named("renewal");
        let claim = t.running(&name).await?;
        let renewed = t.store.renew_lease(&claim.fence, lease).await?;
        let receipt = want!(renewed, LeaseOutcome::Renewed(receipt) => receipt);
        check(&name, receipt.lease_ends, receipt.now, "a renewal").await?;
        if t.moves_time() {
            t.advance(lease / 2 + Duration::from_millis(1)).await;
            let receipt = t.commit(&claim.fence, commit()).await?;
            check(&name, receipt.lease_ends, receipt.now, "a commit").await?;
        }
    }
    Ok(())
}

async fn takes_any_number_of_answers(t: Bench) -> CaseResult {
    for needed in WIDE {
        let claim = t.running(&needed.to_string()).await?;
        let key = &claim.fence.key;
        let open = vec![NewPending { needed, ..approval("p") }];
        t.commit(&claim.fence, Commit { open, release: suspended(None, 0), ..commit() }).await?;
        for (name, answered) in [("a", 1), ("b", 2)] {
            t.deliver(key, answer(&claim.fence, "p", name)).await?;
            let pending = t.pending(key).await?.remove(0);
            let found = (pending.needed, pending.answered);
            ensure_eq!(found, (needed, answered), "answers needed and given of {needed}");
            ensure_eq!(t.is_due(key).await?, false, "whether {answered} of {needed} answers wake it");
        }
        let settles = ItemKind::Answer { pending: id("p"), settles: true };
        t.deliver(key, InboxItem { kind: settles, ..answer(&claim.fence, "p", "no") }).await?;
        let answered = t.pending(key).await?[0].answered;
        ensure_eq!(answered, needed, "answers counted after a settling one");
        ensure_eq!(t.is_due(key).await?, true, "whether the settling answer wakes it");
    }
    Ok(())
}

async fn wake_on_of_any_number(t: Bench) -> CaseResult {
    let count = |number: u32| message_that(&format!("item-{number}"), Wake::Count);
    for wake_on in WIDE {
        let claim = t.running(&wake_on.to_string()).await?;
        let key = &claim.fence.key;
        t.deliver(key, count(1)).await?;
        t.commit(&claim.fence, Commit { release: suspended(None, wake_on), ..commit() }).await?;
        ensure_eq!(t.load(key).await?.alarm, None, "alarm with one unseen item of {wake_on}, at the release");
        t.deliver(key, count(2)).await?;
        ensure_eq!(t.load(key).await?.alarm, None, "alarm with two unseen items of {wake_on}");
        if wake_on > 1 << 8 {
            continue;
        }
        for number in 3..wake_on {
            t.deliver(key, count(number)).await?;
        }
        ensure_eq!(t.load(key).await?.alarm, None, "alarm with all but one of {wake_on}");
        t.deliver(key, count(wake_on)).await?;
        ensure_eq!(t.is_due(key).await?, true, "whether {wake_on} items wake it");
    }
    Ok(())
}

async fn format_of_any_number(t: Bench) -> CaseResult {
    for number in WIDE {
        let (format, older) = (StateFormat(number), StateFormat(number - 1));
        let due = |newest_format| ClaimDue { newest_format, ..t.due(1) };
        let name = number.to_string();
        let key = crate::fixture::key(&name);
        t.store
            .create_session(NewSession { format, items: vec![message("m")], ..new_session(&name) })
            .await?;
        for way in ["its creation", "its state"] {
            ensure_eq!(t.load(&key).await?.format, format, "the format of {way}");
            let served = t.store.claim_due(due(older)).await?.len();
            ensure_eq!(
                served,
                0,
                "sessions served with format {number} of {way}, to a worker that reads older"
            );
            let mut claims = t.store.claim_due(due(format)).await?;
            ensure_eq!(claims.len(), 1, "sessions served with format {number} of {way}");
            let claim = claims.remove(0);
            ensure_eq!(claim.session.format, format, "the format that a claim brings, of {way}");
            let state = Some(NewState { format, payload: bytes("state") });
            let now = Some(claim.now);
            t.commit(&claim.fence, Commit { state, release: suspended(now, 0), ..commit() }).await?;
        }
        let claim = t.claim(&key).await?;
        t.commit(&claim.fence, Commit { release: suspended(None, 0), ..commit() }).await?;
        t.store.delete_session(&key, holdover_store::Deletion::FORCE).await?;
    }
    Ok(())
}

async fn stream_of_any_number(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    for number in WIDE {
        let receipt = t.append(&claim.fence, deltas(number, 1, ["some", "words"])).await?;
        ensure_eq!(receipt.version, claim.session.version, "the version");
        let page = read(&t.store, key, &EventCursor::START, 9).await?;
        let shown = Some((StreamId { run: Epoch(1), number }, vec!["some".into(), "words".into()]));
        ensure_eq!(page.stream, shown, "the stream of model call {number}");
        let earlier = t.try_append(&claim.fence, deltas(number - 1, 1, ["late"])).await?;
        ensure_eq!(earlier, DeltaOutcome::Ended, "deltas of the model call before {number}");
    }
    t.commit(&claim.fence, Commit { streamed: Some(u32::MAX), ..commit() }).await?;
    let page = read(&t.store, key, &EventCursor::START, 9).await?;
    ensure_eq!(page.stream, None, "the stream after the commit of its message");
    Ok(())
}

async fn longest_is_kept_and_a_longer_one_refused(t: Bench) -> CaseResult {
    let beyond = LEASE_MAX + Duration::from_millis(1);
    let one = |lease| ClaimOne { lease, ..t.claim_one() };
    let refused = |answer: Option<StoreError>, operation: &str, key: Option<&SessionKey>| {
        let found =
            answer.as_ref().map(|error| (error.kind, error.retry, error.operation, error.key.as_deref()));
        let expected = Some((StoreErrorKind::InvalidArgument, Retry::Never, operation, key));
        ensure_eq!(found, expected, "the error of a lease that is too long, of {operation}");
        Ok(())
    };
    let granted = async |name: &str, now: Timestamp, ends: Timestamp| -> CaseResult {
        let lease = t.load(&crate::fixture::key(name)).await?.lease;
        let found = lease.map(|lease| (lease.ends, u128::from(lease.granted_ms)));
        ensure_eq!(ends, now.after(LEASE_MAX), "the end of the longest lease, of {name}");
        ensure_eq!(found, Some((ends, LEASE_MAX.as_millis())), "the longest lease of {name}, read back");
        Ok(())
    };

    let new = |lease| NewSession { start: Start::Claimed(one(lease)), ..new_session("creation") };
    let key = new(beyond).key;
    refused(t.store.create_session(new(beyond)).await.err(), "create_session", Some(&key))?;
    ensure_eq!(t.store.load_session(&key).await?, None, "the session that was not created");
    let created = t.store.create_session(new(LEASE_MAX)).await?;
    let claim = want!(created, CreateOutcome::Created { claim: Some(claim), .. } => claim);
    granted("creation", claim.now, claim.lease_ends).await?;

    let key = t.create("claim").await?;
    let before = t.snapshot(&key).await?;
    refused(t.store.claim_session(&key, one(beyond)).await.err(), "claim_session", Some(&key))?;
    ensure_eq!(t.snapshot(&key).await?, before, "the session after the refusal of its claim");
    let claim = want!(
        t.store.claim_session(&key, one(LEASE_MAX)).await?, ClaimOutcome::Claimed(claim) => claim
    );
    granted("claim", claim.now, claim.lease_ends).await?;

    t.store.create_session(NewSession { items: vec![message("m")], ..new_session("due") }).await?;
    let due = |lease| ClaimDue { lease, ..t.due(1) };
    refused(t.store.claim_due(due(beyond)).await.err(), "claim_due", None)?;
    let claims = t.store.claim_due(due(LEASE_MAX)).await?;
    ensure_eq!(claims.len(), 1, "sessions that are due after the refusal");
    granted("due", claims[0].now, claims[0].lease_ends).await?;

    let claim = t.running("renewal").await?;
    let key = &claim.fence.key;
    let before = t.snapshot(key).await?;
    refused(t.store.renew_lease(&claim.fence, beyond).await.err(), "renew_lease", Some(key))?;
    ensure_eq!(t.snapshot(key).await?, before, "the session after the refusal of a renewal");
    let renewed = t.store.renew_lease(&claim.fence, LEASE_MAX).await?;
    let receipt = want!(renewed, LeaseOutcome::Renewed(receipt) => receipt);
    granted("renewal", receipt.now, receipt.lease_ends).await
}
