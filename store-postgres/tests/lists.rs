//! The cost of lists does not grow with the tables.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_launcher::Launcher;
use holdover_store::rows::PendingPlace;
use holdover_store::time::Timestamp;
use holdover_store::{
    EventCursor, EventPage, PageCursor, PageRequest, PendingKind, PendingQuery, SessionQuery, StateStore,
};
use holdover_store_postgres::PostgresStore;
use support::watched::{Watched, pages};
use support::{id, insert_waiting, key, schema_of};

/// The most pages of 8 KiB that a short list may read.
const PAGES: u64 = 120;

/// The number of times each list is read. From the sixth time on, the server may use one plan for all values.
const TIMES: usize = 7;

/// Returns SQL that creates many sessions of one tenant with a common label, each with two calls, a run and an event.
/// Three of them have a second label, and a dead letter in place of an approval.
fn many(schema: &str) -> String {
    let sessions =
        "SELECT 'acme', 's' || nth, 'queue', 1, 32503680000000, NULL FROM generate_series(1, 30000) nth";
    let label = |name: &str, value: &str, of: &str| {
        format!(
            "INSERT INTO {schema}.label (sid, name, value, tenant, created_at, id) \
             SELECT sid, '{name}', '{value}', tenant, created_at, id FROM {schema}.session {of}"
        )
    };
    let payload = "sha256('{}'), '{}'::bytea";
    [
        insert_waiting(schema, sessions),
        label("agent", "x", ""),
        label("user", "kim", "WHERE id IN ('s1', 's15000', 's29000')"),
        format!(
            "INSERT INTO {schema}.pending (sid, place, tenant, session, incarnation, id, call, kind, needed, endless, deadline, \
                 opened_at, digest, payload) \
             SELECT s.sid, 1, s.tenant, s.id, s.incarnation, 'p' || n, 'call', 'approval', 1, false, 9 - n, 5, {payload} \
             FROM {schema}.session s, generate_series(1, 2) n"
        ),
        letters(schema, "dead_letter"),
        format!(
            "INSERT INTO {schema}.run (sid, epoch, run, worker, found, started_at) \
             SELECT sid, 1, 'run', 'worker', 'idle', 5 FROM {schema}.session"
        ),
        format!("INSERT INTO {schema}.event SELECT sid, 1, 5, {payload} FROM {schema}.session"),
        format!("UPDATE {schema}.session SET epoch = 1, last_event = 1"),
    ]
    .join("; ")
}

/// Returns SQL that gives three calls this kind.
fn letters(schema: &str, kind: &str) -> String {
    format!(
        "UPDATE {schema}.pending SET kind = '{kind}' WHERE id = 'p1' AND session IN ('s1', 's15000', 's29000')"
    )
}

/// Reads all lists `TIMES` times. `filled` tells whether the lists have results.
async fn lists(watched: &mut Watched, store: &PostgresStore, filled: bool, when: &str) {
    let labelled = |labels: &[(&str, &str)]| SessionQuery {
        labels: labels.iter().copied().collect(),
        ..SessionQuery::all(id("acme"))
    };
    let of_session = PendingQuery { session: Some(key("s77").id), ..PendingQuery::all(id("acme")) };
    let of_kind = |kind: PendingKind| PendingQuery { kind: Some(kind), ..PendingQuery::all(id("acme")) };
    for nth in 0..TIMES {
        let when = format!("{when}, {nth}");
        let check = |watched: &mut Watched, what: &str, found: usize, expected: usize| {
            assert_eq!(found, if filled { expected } else { 0 }, "{when}: {what}");
            let plans = watched.plans();
            assert!(!plans.is_empty(), "{when}: {what}");
            let read: u64 = plans.iter().map(|plan| pages(plan)).sum();
            assert!(read <= PAGES, "{when}: {what}: {read} pages: {plans:?}");
        };
        watched.plans();
        for (labels, expected) in [
            (&[("user", "kim")][..], 3),
            (&[("agent", "x"), ("user", "kim")], 3),
            (&[("agent", "x"), ("user", "lee")], 0),
            (&[("agent", "y")], 0),
        ] {
            let found = store.list_sessions(&labelled(labels)).await.unwrap();
            assert_eq!(found.next, None);
            check(watched, &format!("{labels:?}"), found.items.len(), expected);
        }
        let found = store.list_pending(&of_session).await.unwrap().items.len();
        check(watched, "calls of a session", found, 2);
        for (kind, expected) in [(PendingKind::DeadLetter, 3), (PendingKind::Child, 0)] {
            let found = store.list_pending(&of_kind(kind.clone())).await.unwrap();
            assert_eq!(found.next, None);
            check(watched, kind.as_str(), found.items.len(), expected);
        }
        // The second page, and one deep within the calls of the kind that nearly all have.
        let mut letters = of_kind(PendingKind::DeadLetter);
        letters.page.limit = std::num::NonZeroU32::new(2);
        let place = PendingPlace {
            endless: false,
            deadline: Timestamp::from_ms(8),
            session: id("s15000"),
            id: id("p1"),
        };
        letters.page.after = Some(PageCursor::at(letters.digest(), &place.to_bytes()));
        let found = store.list_pending(&letters).await.unwrap();
        let ids: Vec<_> = found.items.iter().map(|call| call.key.id.as_str()).collect();
        assert!(!filled || ids == ["s29000"], "{when}: {ids:?}");
        check(watched, "the rest of the dead letters", found.items.len(), 1);
        let mut approvals = of_kind(PendingKind::Approval);
        approvals.page.limit = std::num::NonZeroU32::new(2);
        approvals.page.after = Some(PageCursor::at(approvals.digest(), &place.to_bytes()));
        let found = store.list_pending(&approvals).await.unwrap();
        let ids: Vec<_> = found.items.iter().map(|call| call.key.id.as_str()).collect();
        assert!(!filled || ids == ["s15001", "s15002"], "{when}: {ids:?}");
        check(watched, "approvals from the middle on", found.items.len(), 2);
        if filled {
            let found = store.list_runs(&key("s77"), PageRequest::default()).await.unwrap().items.len();
            check(watched, "runs of a session", found, 1);
            let page = store.read_events(&key("s77"), &EventCursor::START, 10).await.unwrap();
            let EventPage::Events { events, .. } = page else { panic!("{page:?}") };
            check(watched, "events of a session", events.len(), 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_few_reads_few_pages_whatever_is_in_the_tables() {
    let launcher = Launcher::new().unwrap();
    let mut watched = Watched::new(&launcher).await;
    let schema = schema_of(&watched.options);
    let early = PostgresStore::open(watched.options.clone()).await.unwrap();
    lists(&mut watched, &early, false, "planned while empty").await;
    watched.admin.run(&many(&schema)).await;
    lists(&mut watched, &early, true, "planned early").await;
    let late = PostgresStore::open(watched.options.clone()).await.unwrap();
    lists(&mut watched, &late, true, "planned late").await;
    watched.admin.run("ANALYZE").await;
    lists(&mut watched, &early, true, "planned with statistics").await;
    lists(&mut watched, &late, true, "planned with statistics").await;
    // The statistics know one kind of calls. Letters are left later.
    watched.admin.run(&letters(&schema, "approval")).await;
    watched.admin.run("ANALYZE").await;
    watched.admin.run(&letters(&schema, "dead_letter")).await;
    lists(&mut watched, &late, true, "planned with statistics of one kind").await;
    early.close().await;
    late.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_along_labels_end_in_time_and_pass_over_nothing() {
    let launcher = Launcher::new().unwrap();
    let mut watched = Watched::new(&launcher).await;
    let schema = schema_of(&watched.options);
    let store = PostgresStore::open(watched.options.clone()).await.unwrap();
    // Each session has one of two labels in turn, and a few have both. One statement takes only a limited
    // number of steps.
    let sessions = "SELECT 'acme', 's' || lpad(nth::text, 6, '0'), 'queue', 1, 32503680000000, NULL \
         FROM generate_series(1, 25000) nth";
    let label = |name: &str, of: &str| {
        format!(
            "INSERT INTO {schema}.label (sid, name, value, tenant, created_at, id) \
             SELECT sid, '{name}', '', tenant, created_at, id FROM {schema}.session WHERE {of}"
        )
    };
    let number = "substr(id, 2)::int";
    let sql = [
        insert_waiting(&schema, sessions),
        label("even", &format!("{number} % 2 = 0 OR {number} % 997 = 0")),
        label("odd", &format!("{number} % 2 = 1 OR {number} % 997 = 0")),
    ];
    watched.admin.run(&sql.join("; ")).await;
    let mut expected: Vec<_> =
        (1..=25_000).filter(|nth| nth % 997 == 0).map(|nth| format!("s{nth:06}")).collect();
    expected.reverse();
    for size in [1, 7, 200] {
        let labels = [("even", ""), ("odd", "")].into_iter().collect();
        let mut query = SessionQuery { labels, ..SessionQuery::all(id("acme")) };
        query.page.limit = std::num::NonZeroU32::new(size);
        let mut found = Vec::new();
        loop {
            let page = store.list_sessions(&query).await.unwrap();
            found.extend(page.items.iter().map(|summary| summary.key.id.to_string()));
            query.page.after = page.next;
            if query.page.after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "by {size}");
    }
    store.close().await;
}
