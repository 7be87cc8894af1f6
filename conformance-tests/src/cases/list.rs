//! Lists, read page by page (H24).

use std::num::NonZeroU32;

use holdover_store::{SessionSummary, TimeRange};

use super::prelude::*;
use crate::snapshot::all_runs;

cases! {
    list.shows_each_session_as_it_stands: Core Sequential,
        "a row of a list says the same as the session itself",
        "a list that lags behind shows people what is not so",
        "SessionSummary: a session in a list";
    list.order_is_total_and_stable: Core Time,
        "sessions are listed newest first, those of one instant by id descending",
        "without a total order pages overlap",
        "SessionQuery: newest first, ties by id descending";
    list.cursor_walk_equals_full_set: Core Property,
        "a walk by pages of every size shows each session once",
        "a page that skips a session hides it for good",
        "Page: it may be short and still have a cursor; a walk to the end is complete";
    list.cursor_stable_under_inserts_and_deletes: Core Sequential,
        "sessions that come and go during a walk hide and repeat none of the others",
        "a cursor that counts rows is off by one after each",
        "PageCursor: a place in a list";
    list.filters_compose: Core Property,
        "status, queue and labels filter together, each by exact match",
        "a filter that is dropped shows what was not asked for",
        "SessionQuery: with one of these statuses; in this queue; with all of these labels";
    list.the_session_of_a_life_is_found_by_it: Core Sequential,
        "a list by a life holds the one session of the tenant that lives it",
        "an answer that names a life would find no session, or another's",
        "SessionQuery::life: living this life: one session, or none";
    list.created_range_is_half_open: Core Time,
        "sessions of a time of creation are listed: from its first instant on, and not at its end",
        "sessions would be missing between two days, or be in both",
        "SessionQuery: created in this time; TimeRange: instants from `since` on that lie before `before`";
    list.changed_range_follows_the_last_change: Core Time,
        "sessions of a time of change are listed by what changed in them last, whatever they were created at",
        "whoever asks for what is new would be shown what is old, and miss what has changed",
        "SessionQuery: last changed in this time; all filters hold together";
    list.limit_over_max_is_bounded: Core Sequential,
        "a page holds at most the maximum, whatever is asked for",
        "one request would read the whole table",
        "PAGE_ROWS_MAX: a larger limit is read as this";
    list.cursor_of_other_filter_or_tenant_rejected: Core Property,
        "a cursor is refused by any other query",
        "read under another filter it would skip rows, under another tenant show them",
        "list_sessions: a cursor of another query is an InvalidArgument";
    page.may_be_short_with_a_cursor_walk_is_complete: Core Property,
        "runs and pending calls are walked completely by pages of every size",
        "a caller that stops at a short page misses the rest",
        "Page: it may be short and still have a cursor; a walk to the end is complete";
}

/// The earliest instant. On any clock, no session was created or changed before it, or at `LATEST` or later.
const EARLIEST: Timestamp = Timestamp::from_ms(i64::MIN);
const LATEST: Timestamp = Timestamp::from_ms(i64::MAX);

fn rows(limit: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(limit)
}

async fn walk(t: &Bench, query: SessionQuery) -> CaseResult<Vec<SessionSummary>> {
    walk_sessions(&t.store, query).await
}

async fn names(t: &Bench, query: SessionQuery) -> CaseResult<Vec<String>> {
    Ok(walk(t, query).await?.into_iter().map(|row| row.key.id.to_string()).collect())
}

fn all() -> SessionQuery {
    SessionQuery::all(id(TENANT))
}

async fn shows_each_session_as_it_stands(t: Bench) -> CaseResult {
    let new = NewSession { labels: Labels::from_iter([("user", "u")]), ..new_session("s") };
    t.store.create_session(new.clone()).await?;
    let claim = t.claim(&new.key).await?;
    t.deliver(&new.key, message("m")).await?;
    let release = Some(release_to(SessionStatus::Failed));
    t.commit(&claim.fence, Commit { messages: inline(["1", "2"]), release, ..commit() }).await?;
    let session = t.load(&new.key).await?;
    let expected = SessionSummary {
        key: session.key,
        incarnation: session.incarnation,
        status: session.status,
        version: session.version,
        epoch: session.epoch,
        queue: session.queue,
        labels: session.labels,
        last_message: session.last_message,
        unread: session.unread,
        alarm: session.alarm,
        created_at: session.created_at,
        updated_at: session.updated_at,
    };
    ensure_eq!(walk(&t, all()).await?, [expected], "the list");
    Ok(())
}

async fn order_is_total_and_stable(t: Bench) -> CaseResult {
    let mut created = Vec::new();
    for name in ["m", "a", "B", "z", "b"] {
        created.push(t.create(name).await?);
        t.create(&format!("{name}-twin")).await?;
        t.advance(t.lease() / 5).await;
    }
    // Later changes to a session do not move its place.
    let claim = t.claim(&created[0]).await?;
    t.commit(&claim.fence, commit()).await?;
    let listed = walk(&t, all()).await?;
    let places: Vec<_> = listed.iter().map(|row| (row.created_at, row.key.id.clone())).collect();
    ensure!(places.is_sorted_by(|a, b| a > b), "expected newest first, then by id", found = "{places:?}");
    ensure_eq!(places.len(), 10, "sessions listed");
    ensure_eq!(walk(&t, all()).await?, listed, "the list, read again");
    Ok(())
}

/// Requirements: H24.
async fn cursor_walk_equals_full_set(t: Bench) -> CaseResult {
    for number in 0..9 {
        t.create(&format!("s{number}")).await?;
    }
    let full = names(&t, all()).await?;
    let expected: Vec<_> = (0..9).rev().map(|number| format!("s{number}")).collect();
    ensure_eq!(full, expected, "the whole list");
    for limit in 1..=10 {
        let query = SessionQuery { page: PageRequest { after: None, limit: rows(limit) }, ..all() };
        ensure_eq!(names(&t, query).await?, full, "a walk by {limit}");
    }
    Ok(())
}

async fn cursor_stable_under_inserts_and_deletes(t: Bench) -> CaseResult {
    for number in 0..8 {
        t.create(&format!("s{number}")).await?;
        t.advance(t.lease() / 10).await;
    }
    let mut query = SessionQuery { page: PageRequest { after: None, limit: rows(3) }, ..all() };
    let mut seen: Vec<String> = Vec::new();
    for page in 0..PAGES_MAX {
        let read = t.store.list_sessions(&query).await?;
        seen.extend(read.items.iter().map(|row| row.key.id.to_string()));
        // Two sessions are created in front, and the last one shown is deleted, so all row numbers shift.
        if let Some(last) = read.items.last() {
            t.create(&format!("new{page}")).await?;
            t.create(&format!("newer{page}")).await?;
            t.store.delete_session(&last.key, Deletion::FORCE).await?;
        }
        match read.next {
            Some(next) => query.page.after = Some(next),
            None => break,
        }
    }
    let expected: Vec<_> = (0..8).rev().map(|number| format!("s{number}")).collect();
    ensure_eq!(seen, expected, "the sessions that were there all along, or were shown before they went");
    Ok(())
}

/// Requirements: H24.
async fn filters_compose(t: Bench) -> CaseResult {
    let labels = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Labels>();
    let create = async |name: &str, queue: &str, pairs: &[(&str, &str)]| -> CaseResult {
        let new = NewSession { queue: id(queue), labels: labels(pairs), ..new_session(name) };
        t.store.create_session(new).await?;
        Ok(())
    };
    create("1", "q", &[("user", "u"), ("tag", "x")]).await?;
    create("2", "q", &[("user", "u")]).await?;
    create("3", "Q", &[("user", "u"), ("tag", "x")]).await?;
    create("4", "q", &[("user", "U"), ("tag", "%")]).await?;
    create("5", "q", &[]).await?;
    create("6", "q", &[("user", "U"), ("tag", "x")]).await?;
    t.claim(&key("2")).await?;
    let held = t.claim(&key("1")).await?;
    t.release(&held.fence, SessionStatus::Suspended).await?;

    let listed = async |query: SessionQuery| -> CaseResult<Vec<String>> {
        let mut found = names(&t, query).await?;
        found.sort();
        Ok(found)
    };
    let of = |pairs: &[(&str, &str)]| SessionQuery { labels: labels(pairs), ..all() };
    ensure_eq!(listed(all()).await?, ["1", "2", "3", "4", "5", "6"], "all");
    ensure_eq!(listed(of(&[("user", "u")])).await?, ["1", "2", "3"], "user u");
    ensure_eq!(listed(of(&[("user", "u"), ("tag", "x")])).await?, ["1", "3"], "user u and tag x");
    ensure_eq!(listed(of(&[("tag", "%")])).await?, ["4"], "tag %");
    ensure_eq!(listed(of(&[("tag", "u")])).await?, Vec::<String>::new(), "tag u");
    let queue = SessionQuery { queue: Some(id("q")), ..of(&[("tag", "x")]) };
    ensure_eq!(listed(queue).await?, ["1", "6"], "queue q and tag x");
    let status = |status: &[SessionStatus]| SessionQuery { status: status.to_vec(), ..all() };
    ensure_eq!(listed(status(&[SessionStatus::Idle])).await?, ["3", "4", "5", "6"], "idle");
    let either = [SessionStatus::Active, SessionStatus::Suspended];
    ensure_eq!(listed(status(&either)).await?, ["1", "2"], "active or suspended");
    let every =
        SessionQuery { queue: Some(id("q")), labels: labels(&[("user", "u")]), ..status(&either[1..]) };
    ensure_eq!(listed(every).await?, ["1"], "suspended, queue q, user u");
    // The same query, page by page.
    let paged = SessionQuery { page: PageRequest { after: None, limit: rows(1) }, ..of(&[("user", "u")]) };
    ensure_eq!(listed(paged).await?, ["1", "2", "3"], "user u, by one");
    Ok(())
}

/// Returns each range whose bounds are open or among these instants, with the indexes of the instants in it.
fn ranges(instants: &[Timestamp]) -> Vec<(TimeRange, Vec<usize>)> {
    let bounds = || [None].into_iter().chain(instants.iter().copied().map(Some));
    let ranges = bounds().flat_map(|since| bounds().map(move |before| TimeRange { since, before }));
    let within = |range: TimeRange| {
        let after_begin = |at: Timestamp| range.since.is_none_or(|since| at >= since);
        let before_end = |at: Timestamp| range.before.is_none_or(|before| at < before);
        let all = instants.iter().enumerate().filter(|(_, at)| after_begin(**at) && before_end(**at));
        (range, all.map(|(index, _)| index).collect())
    };
    ranges.map(within).collect()
}

async fn the_session_of_a_life_is_found_by_it(t: Bench) -> CaseResult {
    let key = t.create("one").await?;
    t.create("other").await?;
    let first = t.load(&key).await?.incarnation;
    let by = |life| SessionQuery { life: Some(life), ..all() };
    ensure_eq!(names(&t, by(first)).await?, ["one"], "whose life it is");
    let foreign = SessionQuery { tenant: id("another"), ..by(first) };
    ensure_eq!(names(&t, foreign).await?, Vec::<String>::new(), "whose life it is, of another tenant");
    let status = SessionQuery { status: vec![SessionStatus::Failed], ..by(first) };
    ensure_eq!(names(&t, status).await?, Vec::<String>::new(), "whose life it is, with another status");
    // The session is created again, as another life.
    t.store.delete_session(&key, Deletion::FORCE).await?;
    t.create("one").await?;
    let second = t.load(&key).await?.incarnation;
    ensure_eq!(names(&t, by(first)).await?, Vec::<String>::new(), "whose life it was");
    ensure_eq!(names(&t, by(second)).await?, ["one"], "whose life it is now");
    let page = PageRequest { after: None, limit: rows(1) };
    let paged = SessionQuery { page, ..by(second) };
    ensure_eq!(names(&t, paged).await?, ["one"], "whose life it is, page by page");
    Ok(())
}

/// Requirements: H24.
async fn created_range_is_half_open(t: Bench) -> CaseResult {
    let mut created = Vec::new();
    for number in 0..4 {
        let new = NewSession { queue: id("q"), ..new_session(&format!("s{number}")) };
        t.store.create_session(new).await?;
        created.push(t.load(&key(&format!("s{number}"))).await?.created_at);
        t.advance(t.lease() / 10).await;
    }
    ensure!(created.is_sorted_by(|a, b| a < b), "expected instants that rise", found = "{created:?}");
    // Later changes to a session do not move its place.
    t.deliver(&key("s0"), message("m")).await?;
    t.claim(&key("s2")).await?;
    for (range, within) in ranges(&created) {
        let expected: Vec<_> = within.iter().rev().map(|number| format!("s{number}")).collect();
        for limit in [1, 2, 50] {
            let page = PageRequest { after: None, limit: rows(limit) };
            let query = SessionQuery { created: range, page, ..all() };
            ensure_eq!(names(&t, query).await?, expected, "created in {range:?}, by {limit}");
        }
    }
    let between = |since: i64, before: i64| {
        let at = |index: usize, by: i64| Some(Timestamp::from_ms(created[index].as_ms() + by));
        SessionQuery { created: TimeRange { since: at(1, since), before: at(2, before) }, ..all() }
    };
    ensure_eq!(names(&t, between(0, 1)).await?, ["s2", "s1"], "up to a millisecond beyond one");
    ensure_eq!(names(&t, between(1, 1)).await?, ["s2"], "from a millisecond after one");
    let ever = TimeRange { since: Some(EARLIEST), before: Some(LATEST) };
    ensure_eq!(
        names(&t, SessionQuery { created: ever, ..all() }).await?.len(),
        4,
        "from the first to the last instant"
    );
    let never = TimeRange { since: Some(LATEST), before: Some(EARLIEST) };
    let none = names(&t, SessionQuery { created: never, ..all() }).await?;
    ensure_eq!(none, Vec::<String>::new(), "from the last to the first");
    // The range combined with other filters.
    let idle = SessionQuery { status: vec![SessionStatus::Idle], queue: Some(id("q")), ..between(0, 1) };
    ensure_eq!(names(&t, idle).await?, ["s1"], "idle, and up to a millisecond beyond one");
    Ok(())
}

/// Requirements: H24.
async fn changed_range_follows_the_last_change(t: Bench) -> CaseResult {
    let mut changed = Vec::new();
    for name in ["s0", "s1", "s2", "s3"] {
        t.create(name).await?;
        t.advance(t.lease() / 10).await;
    }
    // The sessions change in another order than they were created, each in another way.
    t.store
        .create_session(NewSession { labels: Labels::from_iter([("a", "b")]), ..new_session("s4") })
        .await?;
    t.advance(t.lease() / 10).await;
    t.deliver(&key("s2"), message("m")).await?;
    t.advance(t.lease() / 10).await;
    let claim = t.claim(&key("s0")).await?;
    t.advance(t.lease() / 10).await;
    let other = t.claim(&key("s3")).await?;
    t.release(&other.fence, SessionStatus::Idle).await?;
    t.advance(t.lease() / 10).await;
    t.commit(&claim.fence, commit()).await?;
    let order = ["s1", "s4", "s2", "s3", "s0"];
    for name in order {
        changed.push(t.load(&key(name)).await?.updated_at);
    }
    ensure!(changed.is_sorted_by(|a, b| a < b), "expected instants that rise", found = "{changed:?}");
    for (range, within) in ranges(&changed) {
        let mut expected: Vec<_> = within.iter().map(|place| order[*place]).collect();
        // The list is still sorted by creation, newest first.
        expected.sort_by(|a, b| b.cmp(a));
        for limit in [1, 2, 50] {
            let page = PageRequest { after: None, limit: rows(limit) };
            let query = SessionQuery { changed: range, page, ..all() };
            ensure_eq!(names(&t, query).await?, expected, "changed in {range:?}, by {limit}");
        }
    }
    // A read is not a change.
    ensure_eq!(t.load(&key("s1")).await?.updated_at, changed[0], "the last change of what was only read");
    // The range combined with other filters, and with a range of creation times.
    let late = SessionQuery { changed: TimeRange::since(changed[1]), ..all() };
    let labelled = SessionQuery { labels: Labels::from_iter([("a", "b")]), ..late.clone() };
    ensure_eq!(names(&t, labelled).await?, ["s4"], "changed late, with a label");
    let early = t.load(&key("s2")).await?.created_at;
    let both = SessionQuery { created: TimeRange::before(early), ..late.clone() };
    ensure_eq!(names(&t, both).await?, ["s0"], "created early and changed late");
    let both = SessionQuery { status: vec![SessionStatus::Idle], created: TimeRange::since(early), ..late };
    ensure_eq!(names(&t, both).await?, ["s4", "s3", "s2"], "idle, created late and changed late");
    // After another change, the session is no longer found in the old range.
    t.advance(t.lease() / 10).await;
    t.deliver(&key("s1"), message("m")).await?;
    let at_first = TimeRange { since: Some(changed[0]), before: Some(changed[1]) };
    let gone = names(&t, SessionQuery { changed: at_first, ..all() }).await?;
    ensure_eq!(gone, Vec::<String>::new(), "changed when nothing changed last");
    Ok(())
}

async fn limit_over_max_is_bounded(t: Bench) -> CaseResult {
    let total = PAGE_ROWS_MAX + 3;
    for number in 0..total {
        t.create(&format!("s{number}")).await?;
    }
    let query = SessionQuery { page: PageRequest { after: None, limit: rows(u32::MAX) }, ..all() };
    ensure_eq!(walk(&t, query).await?.len(), total as usize, "sessions in a walk without bound");
    Ok(())
}

async fn cursor_of_other_filter_or_tenant_rejected(t: Bench) -> CaseResult {
    for number in 0..4 {
        let new =
            NewSession { labels: Labels::from_iter([("a", "b")]), ..new_session(&format!("s{number}")) };
        t.store.create_session(new).await?;
    }
    let own = SessionQuery { page: PageRequest { after: None, limit: rows(2) }, ..all() };
    let first = t.store.list_sessions(&own).await?;
    let cursor = want!(first.next, Some(cursor) => cursor);
    let page = PageRequest { after: Some(cursor), limit: rows(2) };
    let with = |query: SessionQuery| SessionQuery { page: page.clone(), ..query };
    let others = [
        ("another tenant", SessionQuery::all(id("other"))),
        ("another status", SessionQuery { status: vec![SessionStatus::Idle], ..all() }),
        ("another queue", SessionQuery { queue: Some(id("queue")), ..all() }),
        ("other labels", SessionQuery { labels: Labels::from_iter([("a", "b")]), ..all() }),
        ("a time of creation", SessionQuery { created: TimeRange::since(EARLIEST), ..all() }),
        ("an end of creation", SessionQuery { created: TimeRange::before(LATEST), ..all() }),
        ("a time of change", SessionQuery { changed: TimeRange::since(EARLIEST), ..all() }),
        ("an end of change", SessionQuery { changed: TimeRange::before(LATEST), ..all() }),
    ];
    for (what, query) in others {
        let error = want!(t.store.list_sessions(&with(query)).await, Err(error) => error);
        ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "{what}");
    }
    let pending = PendingQuery { page: page.clone(), ..PendingQuery::all(id(TENANT)) };
    let error = want!(t.store.list_pending(&pending).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "a list of pending calls");
    let error = want!(t.store.list_runs(&key("s0"), page.clone()).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "a list of runs");
    // The same query accepts the cursor, even with another limit.
    let wider = SessionQuery { page: PageRequest { limit: rows(9), ..page }, ..all() };
    let shown = first.items.len() + walk(&t, wider).await?.len();
    ensure_eq!(shown, 4, "rows of its own query's first page and of those after it");
    Ok(())
}

async fn may_be_short_with_a_cursor_walk_is_complete(t: Bench) -> CaseResult {
    let session = t.create("s").await?;
    for _ in 0..7 {
        let claim = t.claim(&session).await?;
        t.release(&claim.fence, SessionStatus::Idle).await?;
    }
    let claim = t.running("asks").await?;
    let open = (0..7).map(|number| approval(&format!("p{number}"))).collect();
    t.commit(&claim.fence, Commit { open, ..commit() }).await?;
    let (all_of_them, query) = (all_runs(&t.store, &session).await?, PendingQuery::all(id(TENANT)));
    ensure_eq!(all_of_them.len(), 7, "runs");
    for limit in 1..=8 {
        let mut walked = Vec::new();
        let mut request = PageRequest { after: None, limit: rows(limit) };
        for _ in 0..PAGES_MAX {
            let page = t.store.list_runs(&session, request.clone()).await?;
            ensure!(
                page.items.len() <= limit as usize,
                "expected at most {limit} rows",
                found = "{}",
                page.items.len()
            );
            walked.extend(page.items);
            match page.next {
                Some(next) => request.after = Some(next),
                None => break,
            }
        }
        ensure_eq!(walked, all_of_them, "runs by {limit}");
        let paged = PendingQuery { page: PageRequest { after: None, limit: rows(limit) }, ..query.clone() };
        let ids: Vec<_> = walk_pending(&t.store, paged).await?.iter().map(|row| row.id.to_string()).collect();
        ensure_eq!(ids, ["p0", "p1", "p2", "p3", "p4", "p5", "p6"], "pending calls by {limit}");
    }
    Ok(())
}
