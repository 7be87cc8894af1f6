//! The content of errors.

use futures::FutureExt;
use futures::future::BoxFuture;

use holdover_store::payload::Digest;

use super::prelude::*;

cases! {
    error.names_the_operation_the_session_and_the_field: Core Property,
        "an error says which operation failed, on which session, and because of which field, in one line",
        "somebody who reads a log of a thousand sessions would not know where to look",
        "StoreError: operation, key where there is one, detail: names the field; one line";
}

/// A request and the required contents of its error.
struct Row<'a> {
    operation: &'static str,
    key: Option<SessionKey>,
    kind: StoreErrorKind,
    /// A word that the detail must contain.
    field: &'static str,
    asked: BoxFuture<'a, Option<StoreError>>,
}

/// Makes one row of the table.
macro_rules! row {
    ($kind:ident $operation:ident($key:expr) $field:literal, $asked:expr) => {
        Row {
            operation: stringify!($operation),
            key: $key,
            kind: StoreErrorKind::$kind,
            field: $field,
            asked: async { $asked.await.err() }.boxed(),
        }
    };
}

async fn names_the_operation_the_session_and_the_field(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let (store, fence, own) = (&t.store, &claim.fence, Some(claim.fence.key.clone()));
    let (key, stranger) = (&claim.fence.key, Some(nobody()));
    let heavy = Payload::new(vec![0; t.too_large()?]);
    let no_answer = || vec![answer(fence, "p", "yes")];
    let too_large = |name: &str| vec![InboxItem { payload: heavy.clone(), ..message(name) }];
    let page = PageRequest { after: Some(PageCursor::at(Digest::of(b"another"), b"place")), limit: None };
    let one = |items| ClaimOne { items, ..t.claim_one() };
    let cas = |items| StatusCas {
        incarnation: None,
        expected_version: claim.session.version,
        to: SessionStatus::Suspended,
        items,
    };
    let born = || Some(crate::fixture::key("new"));
    let new = |new: NewSession| NewSession { key: crate::fixture::key("new"), ..new };
    let other_life = InboxItem { incarnation: Some(fresh_incarnation()), ..message("m") };
    let long = "x".repeat(Labels::TEXT_BYTES_MAX + 1);
    let checkpoints = CheckpointQuery { page: page.clone(), ..CheckpointQuery::all(key.clone()) };
    let strangers = CheckpointQuery::all(nobody());
    let sessions = SessionQuery { page: page.clone(), ..SessionQuery::all(id(TENANT)) };
    let pending = PendingQuery { page: page.clone(), ..PendingQuery::all(id(TENANT)) };
    let ranges = [range(1, 2)];
    let stranger_key = nobody();
    let fork = new_fork(fence.incarnation, "fork");
    let strange = NewFork { key: key_of("other", "fork"), ..fork.clone() };
    let state = NewState { payload: heavy.clone(), ..fork.state.clone() };
    let large = NewFork { state, ..fork };
    let active = RetentionRule { status: vec![SessionStatus::Active], ..retention(Remove::Sessions) };
    let astray = RetentionRule { after: page.after.clone(), ..retention(Remove::Sessions) };
    let mut rows = vec![
        row!(InvalidArgument create_session(born()) "items",
            store.create_session(new(NewSession { items: vec![other_life], ..new_session("s") }))),
        row!(InvalidArgument create_session(born()) "items",
            store.create_session(new(NewSession { items: no_answer(), ..new_session("s") }))),
        row!(TooLarge create_session(born()) "definition",
            store.create_session(new(NewSession { definition: heavy.clone(), ..new_session("s") }))),
        row!(TooLarge create_session(born()) "labels",
            store.create_session(new(NewSession { labels: Labels::from_iter([("a", long)]), ..new_session("s") }))),
        row!(InvalidArgument claim_session(own.clone()) "items", store.claim_session(key, one(no_answer()))),
        row!(TooLarge claim_session(own.clone()) "items", store.claim_session(key, one(too_large("c")))),
        row!(InvalidArgument compare_and_set_status(own.clone()) "items",
            store.compare_and_set_status(key, cas(no_answer()))),
        row!(TooLarge compare_and_set_status(own.clone()) "items",
            store.compare_and_set_status(key, cas(too_large("c")))),
        row!(TooLarge stage_result(own.clone()) "results", store.stage_result(fence, Staging {
            results: vec![StagedResult { call: id("call"), payload: heavy.clone() }],
            starts: vec![],
        })),
        row!(InvalidArgument commit(own.clone()) "checkpoint",
            store.commit(fence, Commit { state: None, ..checkpoint("") })),
        row!(TooLarge commit(own.clone()) "messages",
        store.commit(fence, Commit {
            messages: vec![NewMessage::Inline(heavy.clone())],
            ..commit()
        })),
        row!(InvalidArgument append_deltas(own.clone()) "deltas", store.append_deltas(fence, deltas(1, 1, []))),
        row!(TooLarge append_deltas(own.clone()) "deltas",
            store.append_deltas(fence, DeltaBatch { deltas: vec![heavy.clone()], ..deltas(1, 1, []) })),
        row!(TooLarge deliver(own.clone()) "payload", store.deliver(key, too_large("d").remove(0))),
        row!(NotFound read_messages(stranger.clone()) "", store.read_messages(&stranger_key, &ranges)),
        row!(NotFound read_inbox(stranger.clone()) "", store.read_inbox(&stranger_key, InboxSeq(0), 1)),
        row!(InvalidArgument read_inbox(own.clone()) "limit", store.read_inbox(key, InboxSeq(0), 0)),
        row!(InvalidArgument read_events(own.clone()) "limit", store.read_events(key, &EventCursor::START, 0)),
        row!(NotFound list_runs(stranger.clone()) "",
            store.list_runs(&stranger_key, PageRequest::default())),
        row!(InvalidArgument list_runs(own.clone()) "after", store.list_runs(key, page.clone())),
        row!(NotFound list_checkpoints(stranger) "", store.list_checkpoints(&strangers)),
        row!(InvalidArgument list_checkpoints(own.clone()) "after", store.list_checkpoints(&checkpoints)),
        row!(InvalidArgument list_sessions(None) "after", store.list_sessions(&sessions)),
        row!(InvalidArgument list_pending(None) "after", store.list_pending(&pending)),
    ];
    if store.capabilities().forks {
        rows.push(row!(InvalidArgument fork_session(own.clone()) "key",
            store.fork_session(key, CheckpointId(1), strange.clone())));
        rows.push(row!(TooLarge fork_session(own) "state",
            store.fork_session(key, CheckpointId(1), large.clone())));
    }
    if store.capabilities().retention {
        rows.push(row!(InvalidArgument purge(None) "status", store.purge(&active)));
        rows.push(row!(InvalidArgument purge(None) "after", store.purge(&astray)));
    }
    for Row { operation, key, kind, field, asked } in rows {
        let what = format!("the error of {operation}, {kind}");
        let none = || Failure::new(format!("expected {what}\n    found none"));
        let error = asked.await.ok_or_else(none)?;
        ensure_eq!((error.kind, error.retry), (kind, Retry::Never), "kind and retry of {what}");
        ensure_eq!(error.operation, operation, "the operation of {what}");
        ensure_eq!(error.key.as_deref(), key.as_ref(), "the session of {what}");
        let (detail, line) = (&error.detail, error.to_string());
        ensure!(detail.contains(field), "expected {what} to name {field:?}", found = "{detail:?}");
        ensure!(!line.contains('\n'), "expected {what} in one line", found = "{line:?}");
    }
    Ok(())
}
