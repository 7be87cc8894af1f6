//! Forks: their contents, and their independence from their source.

use super::prelude::*;
use crate::snapshot::all_checkpoints;

cases! {
    fork.copies_prefix_and_is_isolated: Core Sequential needs Forks,
        "messages, events and checkpoints up to the checkpoint are copied as they are; later writes stay apart",
        "what is tried in a branch would change the conversation it came from",
        "NewFork: beside the prefix that the store copies: messages, events and checkpoints up to the checkpoint";
    fork.source_unchanged: Core Sequential needs Forks,
        "a fork of a running session leaves everything of it as it was",
        "a run would lose its lease to somebody who only looked back",
        "fork_session: the source is not touched";
    fork.is_at_rest_without_inbox_alarm_pending_staged: Core Sequential needs Forks,
        "a fork has no inbox, alarm, lease, interrupt, pending calls, staged results, runs, deltas or keys",
        "it would answer for the source, or be claimed in its place",
        "design 4: a fork is at rest: no inbox, alarm, pending or staged rows";
    fork.begins_as_it_is_told: Core Property needs Forks,
        "state, labels, queue, definition and status are those that the caller names",
        "a fork with another's agent runs another's tools",
        "NewFork: its state; it is also its newest checkpoint";
    fork.of_a_fork_and_delete_the_middle: Core Sequential needs Forks,
        "a fork of a fork is whole, and stays so when those before it are deleted",
        "rows that are shared vanish with their first owner",
        "NewFork: the prefix that the store copies";
    fork.unknown_writes_nothing: Core Property needs Forks,
        "an unknown source, another life of it, or a version that made no checkpoint creates nothing",
        "an empty session would stand where a branch should",
        "ForkOutcome: NoSource, NoCheckpoint: nothing was created";
    fork.refuses_what_has_no_meaning: Core Property needs Forks,
        "another tenant, a status that is no rest, and what is too large are refused and create nothing",
        "one tenant would read another's conversation by forking it",
        "NewFork::check: a status that is no rest or is final, a fork for another tenant (INV-35)";
    fork.can_be_claimed_and_go_on: Core Time needs Forks,
        "a fork is listed, woken, claimed and goes on with the next version, run and places",
        "a number that stands for something else in the copied prefix would be read as that",
        "rules::fork: version, epoch, messages and events go on from the checkpoint";
    fork.survives_reopen: Durable Sequential,
        "a fork is there after the store was closed and opened",
        "a branch that was acknowledged must not vanish",
        "Capabilities::commit_survives (INV-01)";
}

/// Creates a running session with three checkpoints, and with data before and after the second one. Returns its claim
/// and the version of the second checkpoint.
async fn source(t: &Bench) -> CaseResult<(holdover_store::Claim, Version)> {
    let claim = t.running("source").await?;
    let key = &claim.fence.key;
    let first = Commit { messages: inline(["1", "2"]), events: events(["a"]), ..checkpoint("first") };
    t.commit(&claim.fence, first).await?;
    t.advance(t.lease() / 5).await;
    t.deliver(key, message("held")).await?;
    let mut staged = staging([("call", "result")]);
    staged.starts = vec![id("started")];
    t.stage(&claim.fence, staged.clone()).await?;
    let second = Commit {
        messages: inline(["3"]),
        events: events(["b", "c"]),
        open: vec![approval("p")],
        ..checkpoint("second")
    };
    let version = t.commit(&claim.fence, second).await?.version;
    let later = Commit { messages: inline(["4"]), events: events(["d"]), ..checkpoint("third") };
    t.commit(&claim.fence, later).await?;
    t.stage(&claim.fence, staged).await?;
    t.append(&claim.fence, deltas(1, 1, ["word"])).await?;
    t.interrupt(key, crate::fixture::abort("stop")).await?;
    Ok((claim, version))
}

/// Returns the checkpoints of `of` up to `last`, as the fork should have them.
fn copied(of: &Snapshot, last: Version, fork: &NewFork) -> Vec<Checkpoint> {
    let kept = of.checkpoints.iter().filter(|checkpoint| checkpoint.id.0 <= last.0);
    kept.map(|kept| Checkpoint { incarnation: fork.incarnation, ..kept.clone() }).collect()
}

async fn copies_prefix_and_is_isolated(t: Bench) -> CaseResult {
    let (claim, at) = source(&t).await?;
    let origin = claim.fence.key.clone();
    t.advance(t.lease() / 5).await;
    let new = new_fork(claim.fence.incarnation, "fork");
    let version = t.fork(&origin, at, new.clone()).await?;
    ensure_eq!(version, at.next(), "the version of the fork");
    let (of, fork) = (t.snapshot(&origin).await?, t.snapshot(&new.key).await?);
    ensure_eq!(fork.messages[..3], of.messages[..3], "messages of the prefix, with their instants");
    ensure_eq!(texts(fork.messages[3..].iter().map(|m| &m.payload)), ["fork message"], "its own messages");
    ensure_eq!(fork.events[..3], of.events[..3], "events of the prefix, with their instants");
    ensure_eq!(texts(fork.events[3..].iter().map(|e| &e.payload)), ["fork event"], "its own events");
    ensure_eq!(fork.checkpoints[1..], copied(&of, at, &new), "checkpoints of the prefix");
    let session = t.load(&new.key).await?;
    let own = Checkpoint {
        id: CheckpointId(version.0),
        incarnation: new.incarnation,
        epoch: claim.fence.epoch,
        last_message: MessageSeq(4),
        last_event: EventSeq(4),
        at: session.created_at,
        format: new.state.format,
        state: new.state.payload.clone(),
    };
    ensure_eq!(fork.checkpoints[0], own, "its own checkpoint");

    // The source and the fork change independently.
    let more = Commit { messages: inline(["m"]), events: events(["e"]), ..checkpoint("more") };
    t.commit(&claim.fence, more.clone()).await?;
    ensure_eq!(t.snapshot(&new.key).await?, fork, "the fork, after a commit of its source");
    let before = t.snapshot(&origin).await?;
    let run = t.claim(&new.key).await?;
    t.deliver(&new.key, message("to the fork")).await?;
    t.commit(&run.fence, Commit { operation: id("of the fork"), ..more }).await?;
    t.append(&run.fence, deltas(1, 1, ["of the fork"])).await?;
    ensure_eq!(t.snapshot(&origin).await?, before, "the source, after writes to the fork");
    let fork = t.snapshot(&new.key).await?;
    t.store.delete_session(&origin, Deletion::FORCE).await?;
    ensure_eq!(t.snapshot(&new.key).await?, fork, "the fork, after its source was deleted");
    Ok(())
}

async fn source_unchanged(t: Bench) -> CaseResult {
    let (claim, at) = source(&t).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    t.advance(t.lease() / 5).await;
    for number in 0..3 {
        let new = new_fork(claim.fence.incarnation, &format!("fork-{number}"));
        t.fork(&claim.fence.key, at, new).await?;
        ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the source after fork {number}");
    }
    t.commit(&claim.fence, commit()).await?;
    Ok(())
}

async fn is_at_rest_without_inbox_alarm_pending_staged(t: Bench) -> CaseResult {
    let (claim, at) = source(&t).await?;
    let new = new_fork(claim.fence.incarnation, "fork");
    t.fork(&claim.fence.key, at, new.clone()).await?;
    let fork = t.snapshot(&new.key).await?;
    ensure_eq!((&fork.inbox, &fork.runs, &fork.pending), (&vec![], &vec![], &vec![]), "inbox, runs, pending");
    ensure_eq!(fork.stream, None, "the stream");
    let session = t.load(&new.key).await?;
    ensure_eq!((session.alarm, session.lease, session.interrupt), (None, None, None), "what waits");
    ensure_eq!(
        (session.last_item, session.unread, session.inbox_seen),
        (InboxSeq(0), 0, InboxSeq(0)),
        "inbox"
    );
    ensure_eq!((session.staged.results, session.staged.starts), (vec![], vec![]), "what is staged");
    ensure_eq!(session.attempts, 0, "attempts");
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due");
    // Answers to the source's calls answer nothing in the fork, and the source's names are free in it.
    let to_source = t.store.deliver(&new.key, answer(&claim.fence, "p", "yes")).await?;
    ensure_eq!(to_source, holdover_store::Delivery::NotFound, "an answer to the source's call");
    ensure_eq!(t.deliver(&new.key, message("held")).await?, InboxSeq(1), "an item under a key of the source");
    let run = t.claim(&new.key).await?;
    let reuse = Commit { open: vec![approval("p")], stage: vec![result("call", "other")], ..commit() };
    t.commit(&run.fence, reuse).await?;
    ensure_eq!(t.pending(&claim.fence.key).await?.len(), 1, "pending calls of the source");
    Ok(())
}

async fn begins_as_it_is_told(t: Bench) -> CaseResult {
    let (claim, at) = source(&t).await?;
    t.advance(t.lease() / 5).await;
    for status in [SessionStatus::Idle, SessionStatus::Interrupted, SessionStatus::Failed] {
        let labels = Labels::from_iter([("forked", status.as_str())]);
        let bare = NewFork {
            status,
            labels,
            messages: vec![],
            events: vec![],
            ..new_fork(claim.fence.incarnation, status.as_str())
        };
        let version = t.fork(&claim.fence.key, at, bare.clone()).await?;
        let now = t.now().await?;
        let session = t.load(&bare.key).await?;
        ensure_eq!((session.incarnation, session.status), (bare.incarnation, status), "life and status");
        ensure_eq!((session.queue, session.labels.clone()), (bare.queue, bare.labels), "queue and labels");
        ensure_eq!(
            (session.definition, session.format),
            (bare.definition, StateFormat(2)),
            "definition, format"
        );
        ensure_eq!(session.state, Some(bytes("fork state")), "state");
        ensure_eq!((session.version, session.epoch), (version, Epoch(1)), "version and epoch");
        ensure_eq!((session.last_message, session.last_event), (MessageSeq(3), EventSeq(3)), "places");
        ensure!(
            session.created_at <= now && session.created_at == session.updated_at,
            "expected it made at {now:?} at the latest, and changed never since",
            found = "made at {:?}, changed at {:?}",
            session.created_at,
            session.updated_at
        );
        let source = t.load(&claim.fence.key).await?;
        ensure!(
            session.created_at > source.created_at,
            "expected a fork to be made after its source",
            found = "the fork made at {:?}, its source at {:?}",
            session.created_at,
            source.created_at
        );
        let labelled = SessionQuery { labels: session.labels, ..SessionQuery::all(id(TENANT)) };
        let listed = walk_sessions(&t.store, labelled).await?;
        ensure_eq!(
            listed.iter().map(|row| &row.key).collect::<Vec<_>>(),
            [&bare.key],
            "the list by its label"
        );
    }
    Ok(())
}

async fn of_a_fork_and_delete_the_middle(t: Bench) -> CaseResult {
    let (claim, at) = source(&t).await?;
    let middle = new_fork(claim.fence.incarnation, "middle");
    let of_middle = t.fork(&claim.fence.key, at, middle.clone()).await?;
    // One fork is made from the middle fork's own newest checkpoint, and one from a checkpoint that the middle fork
    // copied.
    let (newest, older) = (new_fork(middle.incarnation, "newest"), new_fork(middle.incarnation, "older"));
    t.fork(&middle.key, of_middle, newest.clone()).await?;
    let kept = all_checkpoints(&t.store, &middle.key).await?;
    let first = want!(kept.last(), Some(first) => Version(first.id.0));
    t.fork(&middle.key, first, older.clone()).await?;
    let before = [t.snapshot(&newest.key).await?, t.snapshot(&older.key).await?];
    let said = async |key: &SessionKey| t.messages(key).await;
    ensure_eq!(
        said(&newest.key).await?,
        ["1", "2", "3", "fork message", "fork message"],
        "the newest's messages"
    );
    ensure_eq!(said(&older.key).await?, ["1", "2", "fork message"], "the older's messages");
    ensure_eq!(before[0].checkpoints.len(), 4, "the newest's checkpoints");
    ensure_eq!(before[1].checkpoints.len(), 2, "the older's checkpoints");
    for deleted in [&middle.key, &claim.fence.key] {
        t.store.delete_session(deleted, Deletion::FORCE).await?;
        let after = [t.snapshot(&newest.key).await?, t.snapshot(&older.key).await?];
        ensure_eq!(after, before, "the forks, after {deleted} was deleted");
    }
    Ok(())
}

async fn unknown_writes_nothing(t: Bench) -> CaseResult {
    let (claim, at) = source(&t).await?;
    let (origin, life) = (&claim.fence.key, claim.fence.incarnation);
    let before = t.snapshot(origin).await?;
    let new = new_fork(life, "fork");
    let other_life = NewFork { source: fresh_incarnation(), ..new.clone() };
    let sources = [("nobody", nobody(), &new), ("another life", origin.clone(), &other_life)];
    for (what, from, new) in sources {
        let answer = t.store.fork_session(&from, CheckpointId(at.0), new.clone()).await?;
        ensure_eq!(answer, ForkOutcome::NoSource, "a fork of {what}");
        ensure_eq!(t.store.load_session(&new.key).await?, None, "after a fork of {what}");
    }
    let version = t.load(origin).await?.version.0;
    for none in [0, 1, 2, version + 1, u64::MAX >> 1] {
        let answer = t.store.fork_session(origin, CheckpointId(none), new.clone()).await?;
        ensure_eq!(answer, ForkOutcome::NoCheckpoint, "a fork at version {none}");
        ensure_eq!(t.store.load_session(&new.key).await?, None, "after a fork at version {none}");
    }
    if t.store.capabilities().retention {
        prune_then_fork(&t).await?;
    }
    ensure_eq!(t.snapshot(origin).await?.messages, before.messages, "the source's messages");
    t.fork(origin, at, new).await?;
    Ok(())
}

/// Checks that a checkpoint removed by retention cannot be forked.
async fn prune_then_fork(t: &Bench) -> CaseResult {
    let claim = t.running("rests").await?;
    let pruned = t.commit(&claim.fence, checkpoint("1")).await?.version;
    let release = Some(crate::fixture::release_to(SessionStatus::Idle));
    let kept = t.commit(&claim.fence, Commit { release, ..checkpoint("2") }).await?.version;
    let rule = retention(holdover_store::Remove::Checkpoints { keep: count(1) });
    removed(&t.store, &rule).await?;
    let new = new_fork(claim.fence.incarnation, "of-rests");
    let answer = t.store.fork_session(&claim.fence.key, CheckpointId(pruned.0), new.clone()).await?;
    ensure_eq!(answer, ForkOutcome::NoCheckpoint, "a fork at a checkpoint that was removed");
    t.fork(&claim.fence.key, kept, new).await?;
    Ok(())
}

async fn refuses_what_has_no_meaning(t: Bench) -> CaseResult {
    let (claim, at) = source(&t).await?;
    let new = new_fork(claim.fence.incarnation, "fork");
    let too_large = bytes(&"x".repeat(t.too_large()?));
    let many = (0..=Labels::LABELS_MAX).map(|number| (format!("l{number}"), "v")).collect();
    let (invalid, large) = (StoreErrorKind::InvalidArgument, StoreErrorKind::TooLarge);
    let refused = [
        ("another tenant", NewFork { key: key_of("other", "fork"), ..new.clone() }, invalid),
        ("active", NewFork { status: SessionStatus::Active, ..new.clone() }, invalid),
        ("suspended", NewFork { status: SessionStatus::Suspended, ..new.clone() }, invalid),
        ("aborted", NewFork { status: SessionStatus::Aborted, ..new.clone() }, invalid),
        ("a message", NewFork { messages: vec![too_large.clone()], ..new.clone() }, large),
        ("an event", NewFork { events: vec![too_large.clone()], ..new.clone() }, large),
        ("a definition", NewFork { definition: too_large, ..new.clone() }, large),
        ("too many labels", NewFork { labels: many, ..new.clone() }, large),
    ];
    for (what, new, kind) in refused {
        let answer = t.store.fork_session(&claim.fence.key, CheckpointId(at.0), new.clone()).await;
        let error = want!(answer, Err(error) => error);
        ensure_eq!(error.kind, kind, "{what}");
        ensure_eq!(t.store.load_session(&new.key).await?, None, "the fork, after {what}");
    }
    t.fork(&claim.fence.key, at, new).await?;
    Ok(())
}

async fn can_be_claimed_and_go_on(t: Bench) -> CaseResult {
    let (claim, at) = source(&t).await?;
    let new = new_fork(claim.fence.incarnation, "fork");
    let version = t.fork(&claim.fence.key, at, new.clone()).await?;
    t.deliver(&new.key, message("go on")).await?;
    ensure_eq!(t.due_names().await?, ["fork"], "what is due");
    t.advance(t.lease()).await;
    let run = t.claim(&new.key).await?;
    ensure_eq!(run.session.version, version.next().next(), "version after two claims");
    let (run_of_fork, run_of_source) = (run.fence.epoch, claim.fence.epoch);
    ensure!(
        run_of_fork > run_of_source,
        "expected a run after the source's {run_of_source:?}",
        found = "{run_of_fork:?}"
    );
    ensure_eq!(run.fence.epoch, Epoch(3), "the run after two claims");
    let more = Commit { messages: inline(["m"]), events: events(["e"]), ..checkpoint("more") };
    let receipt = t.commit(&run.fence, more).await?;
    ensure_eq!(receipt.last_message, MessageSeq(5), "newest message");
    let found = t.snapshot(&new.key).await?;
    let places: Vec<_> = found.messages.iter().map(|message| message.seq.0).collect();
    ensure_eq!(places, [1, 2, 3, 4, 5], "places of messages");
    let places: Vec<_> = found.events.iter().map(|event| event.seq.0).collect();
    ensure_eq!(places, [1, 2, 3, 4, 5], "places of events");
    ensure_eq!(found.runs.iter().map(|run| run.epoch.0).collect::<Vec<_>>(), [2, 3], "its runs");
    ensure!(
        found.checkpoints.is_sorted_by(|a, b| a.id > b.id),
        "expected checkpoints newest first, each once",
        found = "{:?}",
        found.checkpoints.iter().map(|it| it.id).collect::<Vec<_>>()
    );
    // The source's fence is stale in the fork, though run and version may be the same.
    let foreign = holdover_store::ids::Fence { key: new.key.clone(), ..claim.fence };
    want!(t.try_commit(&foreign, commit()).await?, holdover_store::CommitOutcome::StaleFence { .. });
    Ok(())
}

async fn survives_reopen(t: Bench) -> CaseResult {
    if !t.store.capabilities().forks {
        return Ok(());
    }
    let (claim, at) = source(&t).await?;
    let new = new_fork(claim.fence.incarnation, "fork");
    t.fork(&claim.fence.key, at, new).await?;
    let before = t.snapshot(&key("fork")).await?;
    let t = t.reopen().await;
    ensure_eq!(t.snapshot(&key("fork")).await?, before, "the fork after closing and opening");
    Ok(())
}
