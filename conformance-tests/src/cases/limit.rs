//! The size limits of one write. The same rule applies to every kind of write.

use std::fmt::Debug;

use super::prelude::*;

cases! {
    limit.of_a_creation: Core Property,
        "a creation may bring as many bytes as a commit: its definition, its items and those of its claim together",
        "a store that takes more in one write than it said runs out of memory, or fails in the middle",
        "Capabilities::commit_bytes_max: all payloads together that one call carries";
    limit.of_a_fork: Core Property needs Forks,
        "a fork may bring as many bytes as a commit; what it copies is not counted",
        "a long conversation could not be forked, or a fork could be as large as it likes",
        "Capabilities::commit_bytes_max: all payloads together that one call carries";
    limit.of_a_claim: Core Property,
        "the items of a claim may have as many bytes together as a commit",
        "a store that takes more in one write than it said runs out of memory, or fails in the middle",
        "Capabilities::commit_bytes_max: all payloads together that one call carries";
    limit.of_a_compare_and_set: Core Property,
        "the items of a compare-and-set may have as many bytes together as a commit",
        "a store that takes more in one write than it said runs out of memory, or fails in the middle",
        "Capabilities::commit_bytes_max: all payloads together that one call carries";
    limit.of_a_staging: Core Property,
        "the results of a staging may have as many bytes together as a commit, and a commit may promote them all",
        "results that could be staged could never be promoted",
        "Capabilities::commit_bytes_max: all payloads together that one call carries";
    limit.of_a_commit: Core Property,
        "the payloads of a commit are counted together, whichever part they belong to",
        "a store that takes more in one write than it said runs out of memory, or fails in the middle",
        "Capabilities::commit_bytes_max: all payloads together that one call carries";
    limit.of_the_reason_of_an_interrupt: Core Sequential,
        "the reason of an interrupt has at most as many bytes as a payload",
        "a text from outside would be of any size, and come with every claim",
        "rules::Limits: each payload has at most payload_bytes_max bytes, and so has the reason of an interrupt";
}

/// Makes payloads that together have as many bytes as one write may contain.
fn most(t: &Bench) -> CaseResult<Vec<Payload>> {
    let most = t.commit_bytes_max()?;
    let part = t.store.capabilities().payload_bytes_max.min(most).max(1);
    let whole = Payload::new(vec![b'x'; part]);
    let rest = (!most.is_multiple_of(part)).then(|| Payload::new(vec![b'x'; most % part]));
    Ok(std::iter::repeat_n(whole, most / part).chain(rest).collect())
}

/// Makes a payload of one byte.
fn one_byte() -> Payload {
    Payload::new("y")
}

fn nothing() -> Payload {
    Payload::new("")
}

/// Makes quiet items with these payloads, under keys that begin with `name`.
fn items(name: &str, payloads: &[Payload]) -> Vec<InboxItem> {
    let item = |(place, payload): (usize, &Payload)| InboxItem {
        payload: payload.clone(),
        ..message_that(&format!("{name}-{place}"), Wake::Quiet)
    };
    payloads.iter().enumerate().map(item).collect()
}

/// Fails unless the write was refused for its size, with an error that names the operation and the session.
fn refused<T: Debug>(
    answer: Result<T, StoreError>,
    operation: &str,
    key: &SessionKey,
    what: &str,
) -> CaseResult {
    let error = want!(answer, Err(error) => error);
    let found = (error.kind, error.retry, error.operation, error.key.as_deref());
    let expected = (StoreErrorKind::TooLarge, Retry::Never, operation, Some(key));
    ensure_eq!(found, expected, "the error of one byte too much in {what}");
    Ok(())
}

async fn of_a_creation(t: Bench) -> CaseResult {
    let most = most(&t)?;
    let (first, others) = most.split_at(1);
    let (own, claims) = others.split_at(others.len() / 2);
    let named = |name: &str, own: Vec<InboxItem>, claims: Vec<InboxItem>| NewSession {
        definition: first[0].clone(),
        items: own,
        start: Start::Claimed(ClaimOne { items: claims, ..t.claim_one() }),
        ..new_session(name)
    };
    let more = || items("more", &[one_byte()]);
    let parts = [
        ("its items", [items("own", own), more()].concat(), items("claims", claims)),
        ("the items of its claim", items("own", own), [items("claims", claims), more()].concat()),
    ];
    for (what, own, claims) in parts {
        let new = named("beyond", own, claims);
        let key = new.key.clone();
        refused(t.store.create_session(new).await, "create_session", &key, what)?;
        ensure_eq!(t.store.load_session(&key).await?, None, "the session that was not created");
    }
    let fits = named("fits", items("own", own), items("claims", claims));
    want!(t.store.create_session(fits).await?, CreateOutcome::Created { claim: Some(_), .. });
    Ok(())
}

async fn of_a_fork(t: Bench) -> CaseResult {
    let most = most(&t)?;
    let claim = t.running("source").await?;
    let from = &claim.fence.key;
    // The copied prefix alone is as large as a write may be.
    let prefix = most.iter().cloned().map(NewMessage::Inline).collect();
    t.commit(&claim.fence, Commit { messages: prefix, ..commit() }).await?;
    let at = t.commit(&claim.fence, checkpoint("s")).await?.version;
    let (messages, events) = most.split_at(most.len() / 2);
    let plain = |name: &str| {
        let fork = new_fork(claim.fence.incarnation, name);
        let state = NewState { payload: nothing(), ..fork.state.clone() };
        NewFork { definition: nothing(), state, messages: messages.to_vec(), events: events.to_vec(), ..fork }
    };
    let beyond = || plain("beyond");
    let state = NewState { payload: one_byte(), ..beyond().state };
    let parts = [
        ("the definition", NewFork { definition: one_byte(), ..beyond() }),
        ("the state", NewFork { state, ..beyond() }),
        ("the messages", NewFork { messages: [messages, &[one_byte()]].concat(), ..beyond() }),
        ("the events", NewFork { events: [events, &[one_byte()]].concat(), ..beyond() }),
    ];
    for (what, fork) in parts {
        let key = fork.key.clone();
        let answer = t.store.fork_session(from, holdover_store::ids::CheckpointId(at.0), fork).await;
        refused(answer, "fork_session", from, what)?;
        ensure_eq!(t.store.load_session(&key).await?, None, "the fork that was not made");
    }
    t.fork(from, at, plain("fits")).await?;
    Ok(())
}

async fn of_a_claim(t: Bench) -> CaseResult {
    let most = most(&t)?;
    let key = t.create("s").await?;
    let before = t.snapshot(&key).await?;
    let one = |items| ClaimOne { items, ..t.claim_one() };
    let beyond = one(items("item", &[most.as_slice(), &[one_byte()]].concat()));
    refused(t.store.claim_session(&key, beyond).await, "claim_session", &key, "its items")?;
    ensure_eq!(t.snapshot(&key).await?, before, "the session after the refusal");
    want!(t.store.claim_session(&key, one(items("item", &most))).await?, ClaimOutcome::Claimed(_));
    Ok(())
}

async fn of_a_compare_and_set(t: Bench) -> CaseResult {
    let most = most(&t)?;
    let key = t.left_as("s", SessionStatus::Failed).await?;
    let before = t.snapshot(&key).await?;
    let expected_version = t.load(&key).await?.version;
    let to = SessionStatus::Suspended;
    let cas = |items| StatusCas { incarnation: None, expected_version, to, items };
    let beyond = cas(items("item", &[most.as_slice(), &[one_byte()]].concat()));
    let answer = t.store.compare_and_set_status(&key, beyond).await;
    refused(answer, "compare_and_set_status", &key, "its items")?;
    ensure_eq!(t.snapshot(&key).await?, before, "the session after the refusal");
    let moved = t.store.compare_and_set_status(&key, cas(items("item", &most))).await?;
    want!(moved, CasOutcome::Moved { .. });
    Ok(())
}

async fn of_a_staging(t: Bench) -> CaseResult {
    let most = most(&t)?;
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let call = |place: usize| id(&format!("call-{place}"));
    let staging = |payloads: &[Payload]| {
        let results = payloads.iter().enumerate();
        let results =
            results.map(|(place, payload)| StagedResult { call: call(place), payload: payload.clone() });
        Staging { results: results.collect(), starts: vec![id("started")] }
    };
    let before = t.snapshot(key).await?;
    let beyond = staging(&[most.as_slice(), &[one_byte()]].concat());
    refused(t.store.stage_result(&claim.fence, beyond).await, "stage_result", key, "its results")?;
    ensure_eq!(t.snapshot(key).await?, before, "the session after the refusal");
    t.stage(&claim.fence, staging(&most)).await?;
    // Promoted results are stored already and are not counted again.
    let promoted = (0..most.len()).map(|place| NewMessage::Promote(call(place)));
    let messages = promoted.chain([NewMessage::Inline(one_byte())]).collect();
    let receipt = t.commit(&claim.fence, Commit { messages, ..commit() }).await?;
    ensure_eq!(receipt.last_message.0, most.len() as u64 + 1, "messages");
    Ok(())
}

async fn of_a_commit(t: Bench) -> CaseResult {
    let most = most(&t)?;
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let full = || {
        let messages = most.iter().cloned().map(NewMessage::Inline).collect();
        Commit { messages, ..commit() }
    };
    let state = NewState { format: claim.session.format, payload: one_byte() };
    let run = RunEnd { outcome: OutcomeKind::Completed, detail: one_byte() };
    let parts = [
        ("the state", Commit { state: Some(state), ..full() }),
        (
            "what is staged",
            Commit { stage: vec![StagedResult { call: id("c"), payload: one_byte() }], ..full() },
        ),
        ("the events", Commit { events: vec![one_byte()], ..full() }),
        ("what is opened", Commit { open: vec![NewPending { body: one_byte(), ..approval("p") }], ..full() }),
        ("the end of the run", Commit { run: Some(run), ..full() }),
    ];
    let before = t.snapshot(key).await?;
    for (what, beyond) in parts {
        let answer = t.store.commit(&claim.fence, beyond).await;
        refused(answer, "commit", key, what)?;
    }
    ensure_eq!(t.snapshot(key).await?, before, "the session after all refusals");
    t.stage(
        &claim.fence,
        Staging { results: vec![StagedResult { call: id("s"), payload: one_byte() }], starts: vec![] },
    )
    .await?;
    let messages = [full().messages, promote(["s"])].concat();
    t.commit(&claim.fence, Commit { messages, ..full() }).await?;
    Ok(())
}

async fn of_the_reason_of_an_interrupt(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let before = t.snapshot(key).await?;
    let most = t.payload_bytes_max()?;
    let asks = |bytes: usize| Interrupt { reason: "x".repeat(bytes), ..abort("stop") };
    refused(t.store.request_interrupt(key, asks(most + 1)).await, "request_interrupt", key, "its reason")?;
    ensure_eq!(t.snapshot(key).await?, before, "the session after the refusal");
    let whole = asks(most);
    let kept = match t.store.request_interrupt(key, whole.clone()).await {
        // A layer that encodes the reason as text may have less room. Then it refuses the reason, and half of it is
        // sent.
        less @ Err(_) if t.in_layer() => {
            refused(less, "request_interrupt", key, "a reason that its layer has no room for")?;
            ensure_eq!(t.snapshot(key).await?, before, "the session after the refusal by a layer");
            let half = asks(most / 2);
            t.interrupt(key, half.clone()).await?;
            half
        }
        outcome => {
            ensure_eq!(outcome?, InterruptOutcome::Requested, "a request with the longest reason");
            whole
        }
    };
    let found = want!(t.store.take_interrupt(&claim.fence).await?, InterruptCheck::Waiting(it) => it);
    let (given, read) = (kept.reason.len(), found.reason.len());
    ensure!(found.reason == kept.reason, "expected a reason of {given} bytes", found = "another of {read}");
    Ok(())
}
