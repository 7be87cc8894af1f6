//! Creating a session, and reading it back.

use std::time::Duration;

use holdover_store::PAGE_ROWS_DEFAULT;

use super::prelude::*;

cases! {
    session.create_then_get_roundtrip: Core Sequential,
        "a created session reads back as it was given",
        "a field that is dropped at creation is missed much later, by a worker that cannot run the session",
        "create_session: all of it becomes visible together; Session: as given at creation";
    session.initial_version_is_one_and_status_idle: Core Sequential,
        "a new session is idle, at version 1, with nothing in it",
        "the first commit names version 1; another start makes it a conflict",
        "create_session: status idle, version 1, epoch 0";
    session.create_existing_id_is_already_exists: Core Sequential,
        "a second creation under one key is told so and touches nothing",
        "a creation that overwrites destroys a transcript",
        "CreateOutcome::AlreadyExists: a session with this key exists; it was not touched";
    session.create_same_op_id_is_idempotent: Core Sequential,
        "a creation repeated under its operation id answers the same and creates nothing more",
        "after a lost answer the caller repeats; it must not be told that somebody else was first",
        "create_session: a repeat with the same operation id answers Created again";
    session.create_carries_items_or_nothing: Core Sequential,
        "first items come with the creation, and two under one key prevent it",
        "a session without its first message waits for ever",
        "NewSession::items: accepted with the creation or not at all";
    session.create_claimed_is_one_write: Core Sequential,
        "a session can be created in the hands of a run, with the items of both in order",
        "between creation and claim another worker could take it",
        "Start::Claimed: claimed in the same write";
    session.create_due_at_an_instant: Core Time,
        "a session can be created to be due later",
        "a scheduled start that is lost or early is a wrong start",
        "Start::At: due at this instant, whatever its items say";
    session.get_unknown_is_not_found_not_empty: Core Sequential,
        "what belongs to an unknown session is not found, which is not the same as empty",
        "an empty answer makes a caller begin a conversation anew",
        "load_session: None if there is no such session; read_messages: an unknown session is NotFound";
    session.version_increments_by_one_per_commit: Core Sequential,
        "each commit raises the version by one, a refused one does not",
        "a gap or a repeat lets two writers believe that each was alone",
        "design 4: claims, commits and compare-and-sets raise the version, nothing else does";
    session.survives_reopen: Durable Sequential,
        "everything of a session is there after the store was closed and opened",
        "what is lost here is lost at every restart",
        "Capabilities::commit_survives: the worst fault that an acknowledged commit survives (INV-01)";
    session.concurrent_create_one_winner: Distributed Concurrent,
        "of 16 creations under one key one creates",
        "two winners mean two conversations under one name",
        "create_session: atomic; AlreadyExists for the others";
}

async fn create_then_get_roundtrip(t: Bench) -> CaseResult {
    let new = NewSession {
        queue: id("agent@7"),
        labels: Labels::from_iter([("user", "ü 1"), ("empty", "")]),
        definition: bytes("{\"a\":1}"),
        format: StateFormat(9),
        ..new_session("s")
    };
    let created = t.store.create_session(new.clone()).await?;
    ensure_eq!(created, CreateOutcome::Created { version: Version(1), claim: None }, "the answer");
    let session = t.load(&new.key).await?;
    ensure_eq!(session.key, new.key, "key");
    ensure_eq!(session.incarnation, new.incarnation, "incarnation");
    ensure_eq!(session.queue, new.queue, "queue");
    ensure_eq!(session.labels, new.labels, "labels");
    ensure_eq!(session.definition, new.definition, "definition");
    ensure_eq!(session.format, new.format, "format");
    Ok(())
}

async fn initial_version_is_one_and_status_idle(t: Bench) -> CaseResult {
    let before = t.now().await?;
    let key = t.create("s").await?;
    let session = t.load(&key).await?;
    ensure_eq!(session.status, SessionStatus::Idle, "status");
    ensure_eq!(session.version, Version(1), "version");
    ensure_eq!(session.epoch, Epoch(0), "epoch");
    ensure_eq!(session.state, None, "state");
    ensure_eq!(session.alarm, None, "alarm of a session without items");
    ensure_eq!(session.lease, None, "lease");
    ensure_eq!(session.interrupt, None, "interrupt");
    ensure_eq!(
        (session.last_message, session.last_event),
        (MessageSeq(0), EventSeq(0)),
        "newest message, event"
    );
    ensure_eq!((session.last_item, session.unread), (InboxSeq(0), 0), "inbox");
    ensure_eq!(session.attempts, 0, "attempts");
    ensure!(
        session.staged.results.is_empty() && session.staged.starts.is_empty(),
        "expected nothing staged",
        found = "{:?}",
        session.staged
    );
    ensure!(
        session.created_at >= before,
        "expected it created at {before:?} or after",
        found = "{:?}",
        session.created_at
    );
    ensure_eq!(session.updated_at, session.created_at, "last changed");
    Ok(())
}

async fn create_existing_id_is_already_exists(t: Bench) -> CaseResult {
    let first = NewSession { items: vec![message("m")], ..new_session("s") };
    t.store.create_session(first.clone()).await?;
    let before = t.snapshot(&first.key).await?;
    let second = NewSession { items: vec![message("other")], definition: bytes("other"), ..new_session("s") };
    let answer = t.store.create_session(second).await?;
    let expected = CreateOutcome::AlreadyExists {
        incarnation: first.incarnation,
        status: SessionStatus::Idle,
        version: Version(1),
    };
    ensure_eq!(answer, expected, "the answer to the second creation");
    ensure_eq!(t.snapshot(&first.key).await?, before, "the first session");
    Ok(())
}

async fn create_same_op_id_is_idempotent(t: Bench) -> CaseResult {
    let new = NewSession { items: vec![message("m")], ..new_session("s") };
    let first = t.store.create_session(new.clone()).await?;
    let before = t.snapshot(&new.key).await?;
    ensure_eq!(t.store.create_session(new.clone()).await?, first, "the answer to the repeat");
    ensure_eq!(t.snapshot(&new.key).await?, before, "the session after the repeat");
    // The same holds after the session has moved on.
    let claim = t.claim(&new.key).await?;
    t.commit(&claim.fence, commit()).await?;
    ensure_eq!(t.store.create_session(new).await?, first, "the answer to a late repeat");

    let claimed = NewSession { start: Start::Claimed(t.claim_one()), ..new_session("claimed") };
    let first = t.store.create_session(claimed.clone()).await?;
    let first = want!(first, CreateOutcome::Created { version, claim: Some(claim) } => (version, claim));
    let again = t.store.create_session(claimed.clone()).await?;
    let again = want!(again, CreateOutcome::Created { version, claim: Some(claim) } => (version, claim));
    // Each answer has its own instant `now`. Everything else is the current claim.
    let repeated_at = again.1.now;
    let again = (again.0, Box::new(Claim { now: first.1.now, ..*again.1 }));
    ensure_eq!(again, first, "the repeat of a claimed creation");
    let later = t.commit(&again.1.fence, commit()).await?.now;
    ensure!(
        (first.1.now..=later).contains(&repeated_at),
        "expected the repeat of a claimed creation to name the clock of its own instant",
        found = "{repeated_at}, not within {}..={later}",
        first.1.now
    );
    t.advance(t.lease()).await;
    let late = t.store.create_session(claimed).await?;
    let expected = CreateOutcome::Created { version: Version(2), claim: None };
    ensure_eq!(late, expected, "the repeat after the claim's lease has ended");
    Ok(())
}

async fn create_carries_items_or_nothing(t: Bench) -> CaseResult {
    let new = NewSession { items: vec![message("a"), message_that("b", Wake::Quiet)], ..new_session("s") };
    t.store.create_session(new.clone()).await?;
    let snapshot = t.snapshot(&new.key).await?;
    let keys: Vec<_> = snapshot.inbox.iter().map(|item| item.key.as_str()).collect();
    ensure_eq!(keys, ["a", "b"], "the inbox");
    ensure!(
        t.is_due(&new.key).await?,
        "expected the urgent first message to make the session due",
        found = "{}",
        t.waking(&new.key).await?
    );

    let quiet = NewSession { items: vec![message_that("q", Wake::Quiet)], ..new_session("quiet") };
    t.store.create_session(quiet.clone()).await?;
    ensure_eq!(t.load(&quiet.key).await?.alarm, None, "alarm of a session with a quiet item");

    let twice = NewSession { items: vec![message("a"), message("b"), message("a")], ..new_session("twice") };
    let answer = t.store.create_session(twice.clone()).await?;
    ensure_eq!(answer, CreateOutcome::ItemConflict { index: 2 }, "two items under one key");
    ensure_eq!(t.store.load_session(&twice.key).await?, None, "the session that was not created");
    Ok(())
}

async fn create_claimed_is_one_write(t: Bench) -> CaseResult {
    let mut claim_one = t.claim_one();
    claim_one.items = vec![message("second")];
    let new = NewSession {
        items: vec![message("first")],
        start: Start::Claimed(claim_one.clone()),
        ..new_session("s")
    };
    let created = t.store.create_session(new.clone()).await?;
    let (version, claim) =
        want!(created, CreateOutcome::Created { version, claim: Some(claim) } => (version, claim));
    ensure_eq!(version, Version(2), "version: a claim raises it");
    ensure_eq!(claim.fence.epoch, Epoch(1), "epoch");
    ensure_eq!(claim.fence.incarnation, new.incarnation, "incarnation");
    ensure_eq!(claim.run, claim_one.run, "run");
    ensure_eq!(claim.found, SessionStatus::Idle, "found");
    ensure_eq!(claim.session, t.load(&new.key).await?, "the session in the claim");
    let keys: Vec<_> = claim.inbox.iter().map(|item| item.key.as_str()).collect();
    ensure_eq!(keys, ["first", "second"], "the inbox in the claim");
    ensure_eq!(claim.session.alarm, Some(claim.lease_ends), "alarm while a run holds it");

    let mut conflicting = t.claim_one();
    conflicting.items = vec![message("a")];
    let twice =
        NewSession { items: vec![message("a")], start: Start::Claimed(conflicting), ..new_session("twice") };
    let answer = t.store.create_session(twice.clone()).await?;
    ensure_eq!(answer, CreateOutcome::ItemConflict { index: 1 }, "two items under one key");
    ensure_eq!(t.store.load_session(&twice.key).await?, None, "the session that was not created");
    Ok(())
}

async fn create_due_at_an_instant(t: Bench) -> CaseResult {
    let later = t.now().await?.after(t.lease());
    let scheduled = NewSession { items: vec![message("m")], start: Start::At(later), ..new_session("s") };
    t.store.create_session(scheduled.clone()).await?;
    ensure_eq!(t.load(&scheduled.key).await?.alarm, Some(later), "alarm");
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "sessions due before the instant");
    t.advance(t.lease()).await;
    ensure_eq!(t.due_names().await?, ["s"], "sessions due at the instant");
    Ok(())
}

async fn get_unknown_is_not_found_not_empty(t: Bench) -> CaseResult {
    t.create("somebody").await?;
    let key = nobody();
    ensure_eq!(t.store.load_session(&key).await?, None, "load_session");
    let error = want!(t.store.read_messages(&key, &[range(1, 1)]).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::NotFound, "read_messages");
    let error = want!(t.store.read_inbox(&key, InboxSeq(0), 1).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::NotFound, "read_inbox");
    let error = want!(t.store.list_runs(&key, PageRequest::default()).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::NotFound, "list_runs");
    let events = t.store.read_events(&key, &EventCursor::START, PAGE_ROWS_DEFAULT).await?;
    ensure_eq!(events, EventPage::NotFound, "read_events");
    Ok(())
}

async fn version_increments_by_one_per_commit(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    ensure_eq!(claim.session.version, Version(2), "version after creation and claim");
    for version in 3..8 {
        let receipt = t.commit(&claim.fence, commit()).await?;
        ensure_eq!(receipt.version, Version(version), "version in the receipt");
        let stale = holdover_store::Commit { expected_version: Some(Version(1)), ..commit() };
        t.try_commit(&claim.fence, stale).await?;
        ensure_eq!(
            t.load(&claim.fence.key).await?.version,
            Version(version),
            "version after a refused commit"
        );
    }
    Ok(())
}

async fn survives_reopen(t: Bench) -> CaseResult {
    let new =
        NewSession { labels: Labels::from_iter([("a", "b")]), items: vec![message("m")], ..new_session("s") };
    t.store.create_session(new.clone()).await?;
    let claim = t.claim(&new.key).await?;
    let full = holdover_store::Commit {
        state: state("state"),
        messages: inline(["one", "two"]),
        stage: vec![crate::fixture::result("call", "staged")],
        events: events(["e"]),
        open: vec![crate::fixture::approval("p")],
        release: crate::fixture::suspended(Some(claim.now.after(Duration::from_secs(3600))), 3),
        ..commit()
    };
    t.commit(&claim.fence, full).await?;
    t.interrupt(&new.key, crate::fixture::soft("stop")).await?;
    let before = t.snapshot(&new.key).await?;
    let t = t.reopen().await;
    ensure_eq!(t.snapshot(&new.key).await?, before, "everything, after closing and opening");
    Ok(())
}

async fn concurrent_create_one_winner(t: Bench) -> CaseResult {
    let answers = race(t.peers(16).await, |_, peer| {
        Box::pin(async move {
            let new = NewSession { incarnation: fresh_incarnation(), ..new_session("s") };
            Ok((new.incarnation, peer.create_session(new).await?))
        })
    })
    .await?;
    let mut winners = Vec::new();
    for (incarnation, answer) in &answers {
        match answer {
            CreateOutcome::Created { .. } => winners.push(*incarnation),
            CreateOutcome::AlreadyExists { .. }
            | CreateOutcome::Deleted
            | CreateOutcome::ItemConflict { .. } => {}
        }
    }
    ensure_eq!(winners.len(), 1, "how many created the session");
    ensure_eq!(t.load(&key("s")).await?.incarnation, winners[0], "the incarnation that is there");
    for (_, answer) in answers {
        if let CreateOutcome::AlreadyExists { incarnation, .. } = answer {
            ensure_eq!(incarnation, winners[0], "the incarnation that a loser was told");
        }
    }
    Ok(())
}
