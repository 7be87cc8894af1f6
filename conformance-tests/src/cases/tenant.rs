//! Tenants: the ids of another tenant are answered exactly like unknown ones.

use std::num::NonZeroU32;

use super::prelude::*;

cases! {
    tenant.same_ids_do_not_collide: Core Sequential,
        "two tenants use the same ids for sessions, items, calls and operations",
        "one tenant's conversation would appear in the other's",
        "StateStore: tenants are part of every key";
    tenant.every_read_is_scoped: Core Property,
        "every read under another tenant answers as for an unknown session",
        "one query without the tenant shows everything of everybody",
        "INV-35: nothing of tenant A shows anything of tenant B; B's ids answer exactly as unknown ones";
    tenant.every_write_is_scoped: Core Property,
        "every write under another tenant answers as for an unknown session, and changes nothing",
        "one statement without the tenant writes into everybody's sessions",
        "INV-35: B's ids answer exactly as unknown ones";
    tenant.claim_due_does_not_cross: Core Sequential,
        "a worker of one tenant is given nothing of another's",
        "its agent would answer a stranger",
        "ClaimDue::tenant: only sessions of this tenant; of all if none";
    tenant.prefix_tricks: Core Property,
        "no character of an id is special, and no two pairs of tenant and session run together",
        "keys put together with a separator, or matched by a pattern, let one tenant name another's session",
        "ids: compared byte by byte; no character is special";
    tenant.deleting_leaves_others_bit_identical: Core Sequential,
        "deleting every session of a tenant leaves the others' as they were",
        "a deletion that matches too much cannot be undone",
        "delete_session; INV-35";
}

/// Creates a running session of `tenant` with rows of every kind except labels and start marks.
async fn full(t: &Bench, tenant: &str, name: &str) -> CaseResult<Claim> {
    let key = key_of(tenant, name);
    let claim = t.create_claimed(NewSession { key: key.clone(), ..new_session(name) }).await?;
    t.deliver(&key, message("item")).await?;
    t.stage(&claim.fence, staging([("call", tenant)])).await?;
    let everything = Commit {
        operation: id("the-same-operation"),
        messages: inline([tenant]),
        events: events([tenant]),
        state: state(tenant),
        checkpoint: true,
        open: vec![approval("p")],
        ..commit()
    };
    t.commit(&claim.fence, everything).await?;
    t.append(&claim.fence, deltas(1, 1, ["word"])).await?;
    t.interrupt(&key, soft("stop")).await?;
    Ok(claim)
}

async fn same_ids_do_not_collide(t: Bench) -> CaseResult {
    full(&t, "a", "s").await?;
    let first = t.snapshot(&key_of("a", "s")).await?;
    full(&t, "b", "s").await?;
    ensure_eq!(t.snapshot(&key_of("a", "s")).await?, first, "the first tenant's session");
    let second = t.snapshot(&key_of("b", "s")).await?;
    ensure_eq!(t.messages(&key_of("b", "s")).await?, ["b"], "the second tenant's messages");
    let counts =
        |of: &Snapshot| (of.messages.len(), of.events.len(), of.inbox.len(), of.pending.len(), of.runs.len());
    ensure_eq!(counts(&second), (1, 1, 1, 1, 1), "rows of the second tenant's session");
    Ok(())
}

async fn every_read_is_scoped(t: Bench) -> CaseResult {
    full(&t, "a", "s").await?;
    let stranger = key_of("b", "s");
    ensure_eq!(t.store.load_session(&stranger).await?, None, "load_session");
    let messages = want!(t.store.read_messages(&stranger, &[range(1, 9)]).await, Err(error) => error.kind);
    ensure_eq!(messages, StoreErrorKind::NotFound, "read_messages");
    let inbox = want!(t.store.read_inbox(&stranger, InboxSeq(0), 9).await, Err(error) => error.kind);
    ensure_eq!(inbox, StoreErrorKind::NotFound, "read_inbox");
    let runs = want!(t.store.list_runs(&stranger, PageRequest::default()).await, Err(error) => error.kind);
    ensure_eq!(runs, StoreErrorKind::NotFound, "list_runs");
    let checkpoints = want!(t.store.list_checkpoints(&CheckpointQuery::all(stranger.clone())).await, Err(error) => error.kind);
    ensure_eq!(checkpoints, StoreErrorKind::NotFound, "list_checkpoints");
    let events = t.store.read_events(&stranger, &EventCursor::START, 9).await?;
    ensure_eq!(events, EventPage::NotFound, "read_events");
    ensure_eq!(walk_sessions(&t.store, SessionQuery::all(id("b"))).await?, [], "list_sessions");
    let named = PendingQuery { session: Some(id("s")), ..PendingQuery::all(id("b")) };
    for query in [PendingQuery::all(id("b")), named] {
        ensure_eq!(walk_pending(&t.store, query).await?, [], "list_pending");
    }
    Ok(())
}

async fn every_write_is_scoped(t: Bench) -> CaseResult {
    let claim = full(&t, "a", "s").await?;
    let own = &claim.fence.key;
    let before = t.snapshot(own).await?;
    let stranger = key_of("b", "s");
    let fence = Fence { key: stranger.clone(), ..claim.fence.clone() };

    let claimed = t.store.claim_session(&stranger, t.claim_one()).await?;
    ensure_eq!(claimed, ClaimOutcome::NotFound, "claim_session");
    let version = t.load(own).await?.version;
    let cas = StatusCas {
        incarnation: None,
        expected_version: version,
        to: SessionStatus::Suspended,
        items: vec![],
    };
    ensure_eq!(
        t.store.compare_and_set_status(&stranger, cas).await?,
        CasOutcome::NotFound,
        "compare_and_set"
    );
    ensure_eq!(t.store.deliver(&stranger, message("m")).await?, Delivery::NotFound, "deliver a message");
    let answered = t.store.deliver(&stranger, answer(&claim.fence, "p", "yes")).await?;
    ensure_eq!(answered, Delivery::NotFound, "deliver an answer");
    let stopped = t.store.request_interrupt(&stranger, soft("other")).await?;
    ensure_eq!(stopped, InterruptOutcome::NotFound, "request_interrupt");
    let deleted = t.store.delete_session(&stranger, Deletion::FORCE).await?;
    ensure_eq!(deleted, DeleteOutcome::NotFound, "delete_session");
    let renewed = t.store.renew_lease(&fence, t.lease() * 9).await?;
    ensure_eq!(renewed, LeaseOutcome::StaleFence, "renew_lease");
    let staged = t.store.stage_result(&fence, staging([("other", "r")])).await?;
    ensure_eq!(staged, StageOutcome::StaleFence, "stage_result");
    want!(t.try_commit(&fence, commit()).await?, CommitOutcome::StaleFence { .. });
    let check = t.store.take_interrupt(&fence).await?;
    ensure_eq!(check, InterruptCheck::StaleFence, "take_interrupt");
    let appended = t.try_append(&fence, deltas(1, 2, ["other"])).await?;
    ensure_eq!(appended, DeltaOutcome::StaleFence, "append_deltas");
    if t.store.capabilities().forks {
        let new = NewFork { key: key_of("b", "fork"), ..new_fork(fence.incarnation, "fork") };
        let forked = t.store.fork_session(&stranger, CheckpointId(version.0), new).await?;
        ensure_eq!(forked, ForkOutcome::NoSource, "fork_session");
    }

    ensure_eq!(t.snapshot(own).await?, before, "the session of the other tenant");
    ensure_eq!(t.store.load_session(&stranger).await?, None, "a session of the stranger");
    Ok(())
}

async fn claim_due_does_not_cross(t: Bench) -> CaseResult {
    for tenant in ["a", "b", "A"] {
        let items = vec![message("m")];
        let new = NewSession { key: key_of(tenant, "s"), items, ..new_session("s") };
        t.store.create_session(new).await?;
    }
    let of = async |tenant: Option<&str>| -> CaseResult<Vec<String>> {
        let claims = t.all_due(&ClaimDue { tenant: tenant.map(id), ..t.due(10) }).await?;
        let mut names: Vec<_> = claims.iter().map(|claim| claim.fence.key.tenant.to_string()).collect();
        names.sort();
        Ok(names)
    };
    ensure_eq!(of(Some("nobody")).await?, Vec::<String>::new(), "a tenant without sessions");
    ensure_eq!(of(Some("a")).await?, ["a"], "a worker of a");
    ensure_eq!(of(None).await?, ["A", "b"], "a worker of all");
    Ok(())
}

const TRICKS: [&str; 14] =
    ["a", "a:", "a:b", "b", ":b", "%", "_", "*", "{a}", "a/b", "a b ", "A", "a'--", "\"a\\"];

async fn prefix_tricks(t: Bench) -> CaseResult {
    let mut keys: Vec<SessionKey> = Vec::new();
    for tenant in TRICKS {
        for name in TRICKS {
            let key = key_of(tenant, name);
            t.store.create_session(NewSession { key: key.clone(), ..new_session(name) }).await?;
            keys.push(key);
        }
    }
    for tenant in TRICKS {
        let limit = NonZeroU32::new(200);
        let query =
            SessionQuery { page: PageRequest { after: None, limit }, ..SessionQuery::all(id(tenant)) };
        let listed = walk_sessions(&t.store, query).await?;
        let mut names: Vec<_> = listed.iter().map(|row| row.key.id.as_str()).collect();
        names.sort_unstable();
        let mut expected = TRICKS;
        expected.sort_unstable();
        ensure_eq!(names, expected, "sessions of tenant {tenant:?}");
    }
    // An operation on one session affects no other.
    let chosen = key_of("a", "b");
    t.deliver(&chosen, message("m")).await?;
    t.store.delete_session(&key_of("%", "_"), Deletion::FORCE).await?;
    for key in keys {
        let unread = t.store.load_session(&key).await?.map(|session| session.unread);
        let expected = if key == key_of("%", "_") { None } else { Some(u64::from(key == chosen)) };
        ensure_eq!(unread, expected, "unread of {key:?}");
    }
    Ok(())
}

async fn deleting_leaves_others_bit_identical(t: Bench) -> CaseResult {
    for (tenant, name) in [("a", "s"), ("b", "s"), ("a", "t"), ("ab", "s")] {
        full(&t, tenant, name).await?;
    }
    let others = [key_of("b", "s"), key_of("ab", "s")];
    let mut before = Vec::new();
    for key in &others {
        before.push(t.snapshot(key).await?);
    }
    for name in ["s", "t"] {
        let deleted = t.store.delete_session(&key_of("a", name), Deletion::FORCE).await?;
        ensure_eq!(deleted, DeleteOutcome::Deleted, "the deletion");
    }
    for (key, before) in others.iter().zip(before) {
        ensure_eq!(snapshot(&t.store, key).await?, before, "the session {key}");
    }
    Ok(())
}
