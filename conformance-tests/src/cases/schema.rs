//! The schema of a store: created, reopened, interrupted during its creation, newer than the program, or damaged.

use std::sync::Arc;

use futures::future::join_all;

use super::prelude::*;
use crate::cancel::PollAtMost;
use crate::raw_data::Tampering;

cases! {
    schema.init_twice_is_idempotent: Durable Sequential needs RawData,
        "a store that is opened once more keeps its data, and whoever has it open goes on",
        "every worker that starts opens the store of those that run",
        "an open makes the store if it is not there, and changes nothing of one that is";
    schema.concurrent_init_16_peers: Distributed Concurrent needs RawData,
        "sixteen that open a new place at once have one store",
        "a deployment starts all its workers at once",
        "an open makes the store if it is not there; safe when several do so at once (INV-40)";
    schema.newer_than_binary_fails_closed: Durable Sequential needs RawData,
        "what a newer version wrote is refused as such and left alone",
        "an old worker beside new ones would write rows that these do not understand",
        "StoreErrorKind::Newer: nothing was read or changed";
    schema.interrupted_migration_is_resumable_or_rolled_back: Durable Crash needs RawData,
        "an open that is dropped at any await leaves a place that opens",
        "a worker that is stopped while it starts would leave a store that nobody can open",
        "INV-40: a crash at any statement leaves the old schema or the new one";
    schema.unknown_enum_value_is_typed_not_panic: Durable Sequential needs RawData,
        "a status that no version knows is corrupt for whoever reads or would claim it, holds up nobody, and can be \
         removed",
        "a guess would let a run begin on what it does not understand",
        "StoreErrorKind::Corrupt: a shape that this version cannot read";
    schema.verify_only_mode_runs_no_ddl: Durable Sequential needs RawData,
        "a store that is opened as it is makes nothing, and reads what is there",
        "whoever may not change a schema would not know that it was changed",
        "opened as it is: nothing is created, nothing changed";
    schema.corrupt_row_is_corrupt_error_and_isolated: Durable Sequential needs RawData,
        "a message that is not what was written is named, and harms nothing else",
        "one bad page of a disk would stop every session",
        "StoreErrorKind::Corrupt: what is stored is not what was written";
}

/// The number of concurrent opens.
const OPENERS: usize = 16;
/// More awaits than an open needs.
const POLLS_MAX: usize = 2000;

/// Creates a claimed session with an item, two messages, an event and a checkpoint.
async fn write(store: &Handle, name: &str) -> CaseResult<SessionKey> {
    let claim = ClaimOne {
        run: fresh_id("run"),
        worker: fresh_id("worker"),
        lease: std::time::Duration::from_secs(3600),
        expected_version: None,
        items: vec![message("item")],
    };
    let new = NewSession { start: Start::Claimed(claim), ..new_session(name) };
    let created = store.create_session(new).await?;
    let claim = want!(created, CreateOutcome::Created { claim: Some(claim), .. } => claim);
    let commit =
        Commit { messages: inline(["first", "second"]), events: events(["event"]), ..checkpoint("state") };
    let saved = store.commit(&claim.fence, commit).await?;
    want!(saved, CommitOutcome::Committed(_));
    Ok(claim.fence.key)
}

/// Writes with one handle and reads with another. Returns what was read.
async fn works(one: &Handle, other: &Handle, name: &str) -> CaseResult<Snapshot> {
    let key = write(one, name).await?;
    let found = snapshot(other, &key).await?;
    ensure_eq!(texts(found.messages.iter().map(|it| &it.payload)), ["first", "second"], "messages of {name}");
    Ok(found)
}

/// Returns the error of an operation that must fail with `kind` and without a retry.
fn refused<T>(result: Result<T, StoreError>, kind: StoreErrorKind, what: &str) -> CaseResult<StoreError> {
    let Err(error) = result else {
        return Err(Failure::new(format!("{what}\n    expected {kind:?}\n    found    that it succeeds")));
    };
    ensure_eq!((error.kind, error.retry), (kind, Retry::Never), "{what}: {error}");
    Ok(error)
}

async fn init_twice_is_idempotent(t: Bench) -> CaseResult {
    let place = t.place().await?;
    let first = place.open().await?;
    let before = works(&first, &first, "first").await?;
    let second = place.open().await?;
    ensure_eq!(snapshot(&second, &key("first")).await?, before, "the session after the second open");
    works(&first, &second, "by the first").await?;
    works(&second, &first, "by the second").await?;
    drop((first, second));
    let third = place.open().await?;
    ensure_eq!(snapshot(&third, &key("first")).await?, before, "the session after the third open");
    Ok(())
}

async fn concurrent_init_16_peers(t: Bench) -> CaseResult {
    let place = Arc::new(t.place().await?);
    let openers = (0..OPENERS).map(|_| {
        let place = Arc::clone(&place);
        tokio::spawn(async move { place.open().await })
    });
    let mut stores = Vec::new();
    for opened in join_all(openers.collect::<Vec<_>>()).await {
        stores.push(
            opened.map_err(|panicked| {
                Failure::panicked(format!("expected a store\n    found    {panicked}"))
            })??,
        );
    }
    for (nth, store) in stores.iter().enumerate() {
        write(store, &format!("by-{nth}")).await?;
    }
    for (store, nth) in stores.iter().zip((0..OPENERS).rev()) {
        let found = snapshot(store, &key(&format!("by-{nth}"))).await?;
        ensure!(found.session.is_some(), "expected the session of another opener", found = "none");
    }
    Ok(())
}

async fn newer_than_binary_fails_closed(t: Bench) -> CaseResult {
    let place = t.place().await?;
    let store = place.open().await?;
    let before = works(&store, &store, "s").await?;
    drop(store);
    place.tamper(Tampering::Newer).await;
    for _ in 0..2 {
        refused(place.open().await, StoreErrorKind::Newer, "opening what a newer version wrote")?;
    }
    place.tamper(Tampering::NotNewer).await;
    let store = place.open().await?;
    ensure_eq!(snapshot(&store, &key("s")).await?, before, "the session after an open that was refused");
    Ok(())
}

async fn interrupted_migration_is_resumable_or_rolled_back(t: Bench) -> CaseResult {
    let mut polls = 1;
    while polls < POLLS_MAX {
        let place = t.place().await?;
        t.forget_history();
        let ended = PollAtMost::new(polls, place.open()).await.is_some();
        let sound = async {
            let (one, other) = (place.open().await?, place.open().await?);
            works(&one, &other, "s").await
        };
        sound.await.map_err(|failure: Failure| failure.within(format!("dropped after {polls} polls")))?;
        if ended {
            ensure!(polls > 1, "expected an open that waits", found = "that it never does");
            return Ok(());
        }
        polls += 1 + polls / 3;
    }
    Err(Failure::new(format!("expected an end after at most {POLLS_MAX} polls\n    found    none")))
}

async fn unknown_enum_value_is_typed_not_panic(t: Bench) -> CaseResult {
    let place = t.place().await?;
    let (store, peer) = (place.open().await?, place.open().await?);
    let (bad, good) = (key("bad"), key("good"));
    for key in [&bad, &good] {
        let start = Start::At(Timestamp::EPOCH);
        let created =
            store.create_session(NewSession { key: key.clone(), start, ..new_session("s") }).await?;
        want!(created, CreateOutcome::Created { .. });
    }
    place.tamper(Tampering::UnknownStatus(&bad)).await;
    // Some stores can list the runs of a session that they cannot read.
    let runs = async |handle: &Handle| {
        let listed = handle.list_runs(&bad, PageRequest::default()).await;
        listed.map(|page| page.items).map_err(|error| error.kind)
    };
    let before = runs(&store).await;
    // The damaged session does not hold up a claim of due sessions and is not returned.
    let due = peer.claim_due(t.due(2)).await?;
    let due: Vec<_> = due.iter().map(|claim| claim.fence.key.clone()).collect();
    ensure_eq!(due, [good], "what is due");
    for handle in [&store, &peer] {
        let error = refused(handle.load_session(&bad).await, StoreErrorKind::Corrupt, "reading it")?;
        ensure_eq!(error.key.as_deref(), Some(&bad), "the session that the error names");
        let claimed = handle.claim_session(&bad, t.claim_one()).await;
        refused(claimed, StoreErrorKind::Corrupt, "claiming it")?;
        // A claim would have begun a run and written a known status.
        ensure_eq!(runs(handle).await, before, "its runs, and so its epoch, after claims that were refused");
        refused(handle.load_session(&bad).await, StoreErrorKind::Corrupt, "reading it after the claim")?;
    }
    // The session can always be removed.
    let removed = store.delete_session(&bad, Deletion::FORCE).await?;
    ensure_eq!(removed, DeleteOutcome::Deleted, "removing it");
    Ok(())
}

async fn verify_only_mode_runs_no_ddl(t: Bench) -> CaseResult {
    let place = t.place().await?;
    for _ in 0..2 {
        let Some(opened) = place.open_as_it_is().await else {
            return Err(Failure::moot("this store has no way to be opened as it is"));
        };
        ensure!(opened.is_err(), "expected that nothing is there to be opened", found = "that it was made");
    }
    let store = place.open().await?;
    let before = works(&store, &store, "s").await?;
    match place.open_as_it_is().await {
        Some(Ok(as_it_is)) => {
            ensure_eq!(snapshot(&as_it_is, &key("s")).await?, before, "the session");
            Ok(())
        }
        Some(Err(error)) => Err(error.into()),
        None => Err(Failure::new(
            "expected that it can be opened as it is, as before\n    found    that it cannot",
        )),
    }
}

async fn corrupt_row_is_corrupt_error_and_isolated(t: Bench) -> CaseResult {
    let place = t.place().await?;
    let (store, peer) = (place.open().await?, place.open().await?);
    let (bad, good) = (write(&store, "bad").await?, write(&store, "good").await?);
    let before = snapshot(&store, &good).await?;
    place.tamper(Tampering::Message(&bad)).await;
    for handle in [&store, &peer] {
        let read = handle.read_messages(&bad, &[range(1, 2)]).await;
        let error = refused(read, StoreErrorKind::Corrupt, "reading the message")?;
        ensure_eq!(error.key.as_deref(), Some(&bad), "the session that the error names");
        let others = handle.read_messages(&bad, &[range(2, 2)]).await?;
        ensure_eq!(texts(others.messages.iter().map(|it| &it.payload)), ["second"], "the message beside it");
        ensure_eq!(snapshot(handle, &good).await?, before, "the session beside it");
    }
    // A run can still claim the session.
    let held = peer.claim_session(&bad, t.claim_one()).await?;
    want!(held, ClaimOutcome::Held { .. });
    works(&store, &peer, "after").await.map(drop)
}
