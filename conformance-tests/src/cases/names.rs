//! Similar names: session ids, labels, and the place at which a page of pending calls ends.

use super::prelude::*;

cases! {
    data.session_ids_are_no_patterns: Core Property,
        "a session id names one session: it is no pattern, no prefix, and not without case",
        "what is done to one customer's session would be done to all whose name is alike",
        "StateStore: every row belongs to one session key; ids are compared byte by byte";
    list.labels_match_whole: Core Property,
        "a label is found by its whole name and its whole value",
        "a list of one user's sessions would show those of another",
        "SessionQuery::labels: with all of these labels";
    pending.cursor_of_another_query_is_refused: Core Property,
        "a cursor of pending calls is taken only for its own tenant, session and kind",
        "an approvals page would begin in the middle, and hide what comes before",
        "PendingQuery::digest: its cursors are bound to everything but the page";
    pending.calls_of_one_deadline_are_all_listed: Core Property,
        "calls with one deadline are listed by pages of every size, of one session and of several",
        "an approval that lies at the border of two pages is seen by nobody",
        "PendingQuery: soonest deadline first (none last), ties by session id and pending id";
}

/// Names that patterns, prefixes or comparisons without case would confuse.
const ALIKE: [&str; 14] =
    ["a_b", "aXb", "A_B", "a%b", "a", "a_", "ab", "a_bc", "%", "_", "a*b", "a?b", "[a]_b", "a\\_b"];

async fn session_ids_are_no_patterns(t: Bench) -> CaseResult {
    for name in ALIKE {
        let claim = t.running(name).await?;
        let part = Commit {
            messages: inline([name]),
            events: events([name]),
            stage: vec![result("call", name)],
            open: vec![approval(name)],
            ..checkpoint(name)
        };
        t.commit(&claim.fence, part).await?;
        t.deliver(&key(name), message(name)).await?;
    }
    let mut all = Vec::new();
    for name in ALIKE {
        let found = t.snapshot(&key(name)).await?;
        let own = [name.to_owned()];
        ensure_eq!(texts(found.messages.iter().map(|row| &row.payload)), own, "messages of {name:?}");
        ensure_eq!(texts(found.events.iter().map(|row| &row.payload)), own, "events of {name:?}");
        ensure_eq!(texts(found.inbox.iter().map(|row| &row.payload)), own, "items of {name:?}");
        ensure_eq!(texts(found.pending.iter().map(|row| &row.body)), own, "pending calls of {name:?}");
        ensure_eq!(texts(found.checkpoints.iter().map(|row| &row.state)), own, "checkpoints of {name:?}");
        ensure_eq!(found.runs.len(), 1, "runs of {name:?}");
        let staged = found.session.iter().flat_map(|session| &session.staged.results);
        ensure_eq!(texts(staged.map(|row| &row.payload)), own, "staged results of {name:?}");
        all.push((name, found));
    }
    for deleted in ["a_b", "%", "a", "_", "A_B"] {
        t.store.delete_session(&key(deleted), Deletion::FORCE).await?;
        all.retain(|(name, _)| *name != deleted);
        for (name, before) in &all {
            ensure_eq!(t.snapshot(&key(name)).await?, *before, "{name:?} after {deleted:?} was deleted");
        }
    }
    Ok(())
}

async fn labels_match_whole(t: Bench) -> CaseResult {
    let labelled: [&[(&str, &str)]; 14] = [
        &[("user", "ann")],
        &[("user", "anna")],
        &[("user", "an")],
        &[("user", "")],
        &[("user", "Ann")],
        &[("User", "ann")],
        &[("user", "a_n")],
        &[("user", "an%")],
        &[("users", "ann")],
        &[("use", "rann")],
        &[("user", "ann ")],
        &[("user", "ann\0x")],
        &[("user", "ann\",\"x\":\"y")],
        &[("us_r", "ann")],
    ];
    for (number, pairs) in labelled.iter().enumerate() {
        let labels = pairs.iter().copied().collect::<Labels>();
        t.store.create_session(NewSession { labels, ..new_session(&format!("{number:02}")) }).await?;
    }
    let both = Labels::from_iter([("user", "bob"), ("users", "ann"), ("x", "user")]);
    t.store.create_session(NewSession { labels: both.clone(), ..new_session("both") }).await?;
    let listed = async |labels: Labels, limit: u32| -> CaseResult<Vec<String>> {
        let page = PageRequest::first(count(limit));
        let query = SessionQuery { labels, page, ..SessionQuery::all(id(TENANT)) };
        let rows = walk_sessions(&t.store, query).await?;
        Ok(rows.iter().map(|row| row.key.id.to_string()).collect())
    };
    for limit in [1, 50] {
        for (number, pairs) in labelled.iter().enumerate() {
            let mut expected = vec![format!("{number:02}")];
            if pairs[0] == ("users", "ann") {
                expected.insert(0, "both".into());
            }
            let found = listed(pairs.iter().copied().collect(), limit).await?;
            ensure_eq!(found, expected, "sessions labelled {pairs:?}, by {limit}");
        }
        ensure_eq!(listed(both.clone(), limit).await?, ["both"], "sessions with three labels, by {limit}");
        for none in [("user", "a"), ("us", "er"), ("x", "use"), ("user", "%"), ("x", "users"), ("", "")] {
            let found = listed(Labels::from_iter([none]), limit).await?;
            ensure_eq!(found, Vec::<String>::new(), "sessions labelled {none:?}, by {limit}");
        }
    }
    Ok(())
}

/// Creates a session, and opens `many` calls of each kind for each entry of `deadlines`. An entry is the number of
/// leases until the deadline, or `None` for no deadline.
async fn asking(t: &Bench, key: &SessionKey, many: u32, deadlines: &[Option<u32>]) -> CaseResult {
    let now = t.now().await?;
    t.store.create_session(NewSession { key: key.clone(), ..new_session("s") }).await?;
    let claim = t.claim(key).await?;
    let mut open = Vec::new();
    for leases in deadlines {
        for kind in PendingKind::ALL {
            for number in 0..many {
                let name = format!("{}-{number}-{}", leases.unwrap_or(0), kind.as_str());
                let deadline = leases.map(|leases| now.after(t.lease() * leases));
                open.push(NewPending { kind: kind.clone(), deadline, ..approval(&name) });
            }
        }
    }
    t.commit(&claim.fence, Commit { open, ..commit() }).await?;
    Ok(())
}

async fn cursor_of_another_query_is_refused(t: Bench) -> CaseResult {
    for key in [key("a"), key("b"), key_of("other", "a"), key_of("other", "b")] {
        asking(&t, &key, 3, &[Some(20)]).await?;
    }
    let kind = Some(PendingKind::Approval);
    let of = |tenant: &str| PendingQuery::all(id(tenant));
    let in_a = |tenant: &str| PendingQuery { session: Some(id("a")), ..of(tenant) };
    let queries = [
        of(TENANT),
        of("other"),
        in_a(TENANT),
        in_a("other"),
        PendingQuery { session: Some(id("b")), ..of(TENANT) },
        PendingQuery { kind: kind.clone(), ..of(TENANT) },
        PendingQuery { kind: Some(PendingKind::ClientTool), ..of(TENANT) },
        PendingQuery { kind, ..in_a(TENANT) },
    ];
    let page = |after: Option<PageCursor>| PageRequest { after, limit: Some(count(2)) };
    for own in &queries {
        let first = t.store.list_pending(&PendingQuery { page: page(None), ..own.clone() }).await?;
        let all = walk_pending(&t.store, own.clone()).await?;
        let cursor = want!(first.next, Some(cursor) => cursor);
        for other in &queries {
            let asked = PendingQuery { page: page(Some(cursor.clone())), ..other.clone() };
            if own == other {
                let rest = walk_pending(&t.store, asked).await?;
                ensure_eq!(first.items.len() + rest.len(), all.len(), "calls of both pages of {own:?}");
                continue;
            }
            let error = want!(t.store.list_pending(&asked).await, Err(error) => error);
            ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "a cursor of {own:?}, in {other:?}");
        }
    }
    Ok(())
}

async fn calls_of_one_deadline_are_all_listed(t: Bench) -> CaseResult {
    let deadlines = [Some(10), Some(20), None];
    for name in ["a", "b"] {
        asking(&t, &key(name), 3, &deadlines).await?;
    }
    let expected = |sessions: &[&str], kinds: &[PendingKind]| -> Vec<String> {
        let mut all = Vec::new();
        let mut kinds: Vec<&str> = kinds.iter().map(PendingKind::as_str).collect();
        kinds.sort_unstable();
        for leases in deadlines {
            for session in sessions {
                for number in 0..3 {
                    for kind in &kinds {
                        let leases = leases.unwrap_or(0);
                        all.push(format!("{session}/{leases}-{number}-{kind}"));
                    }
                }
            }
        }
        all
    };
    let all = PendingQuery::all(id(TENANT));
    let of_a = PendingQuery { session: Some(id("a")), ..all.clone() };
    let approvals = PendingQuery { kind: Some(PendingKind::Approval), ..all.clone() };
    let tables = [
        (all.clone(), expected(&["a", "b"], &PendingKind::ALL)),
        (of_a, expected(&["a"], &PendingKind::ALL)),
        (approvals, expected(&["a", "b"], &[PendingKind::Approval])),
    ];
    let tables = tables.map(|(query, expected)| (query, 1..=expected.len() + 1, expected));
    let of_kind = |kind: PendingKind| {
        let calls = expected(&["a", "b"], std::slice::from_ref(&kind));
        (PendingQuery { kind: Some(kind), ..all.clone() }, 5..=6, calls)
    };
    for (query, limits, expected) in tables.into_iter().chain(PendingKind::ALL.map(of_kind)) {
        for limit in limits {
            let limit = count(u32::try_from(limit).unwrap_or(u32::MAX));
            let paged = PendingQuery { page: PageRequest::first(limit), ..query.clone() };
            let rows = walk_pending(&t.store, paged).await?;
            let found: Vec<_> = rows.iter().map(|call| format!("{}/{}", call.key.id, call.id)).collect();
            ensure_eq!(found, expected, "a walk by {limit} of {query:?}");
        }
    }
    Ok(())
}
