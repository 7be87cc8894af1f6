//! Tests of the cost of lists in a file with many sessions, counted in steps of SQLite's virtual machine.

use holdover_store::ids::Incarnation;
use holdover_store::rows::{Kind, Want};
use holdover_store::{PendingKind, TimeRange};
use uuid::Uuid;

use super::*;
use crate::due::tests::{File, MANY};
use crate::read;

/// The number of sessions in the file.
const SESSIONS: u32 = 20_000;
/// The most steps that a short list may take.
const STEPS_MAX: u64 = 600;

/// Creates many sessions of one tenant, all with one label, a run, an event and two calls; three have another
/// label, too.
fn many() -> File {
    let file = File::new();
    file.put("s", SESSIONS, "'t'", 1, "NULL");
    file.conn
        .execute_batch(
            "UPDATE session SET created_at = sid / 7;
             INSERT INTO label (sid, name, value, tenant, created_at, id)
                 SELECT sid, 'agent', 'a', tenant, created_at, id FROM session ORDER BY sid;
             INSERT INTO label (sid, name, value, tenant, created_at, id)
                 SELECT sid, 'user', 'kim', tenant, created_at, id FROM session WHERE sid IN (1, 5000, 19000);
             INSERT INTO pending (sid, tenant, session, incarnation, id, call, kind, needed, answered, last_answer, endless,
                     deadline, opened_at, digest, payload)
                 SELECT sid, tenant, id, incarnation, 'p' || n, 'call', 'approval', 1, 0, 0, 0, 9 - n, 0, x'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', x''
                 FROM session, (SELECT 1 AS n UNION ALL SELECT 2);
             INSERT INTO run (sid, epoch, run, worker, found, started_at) SELECT sid, 1, 'run', 'w', 'idle', 0 FROM session;
             INSERT INTO event (sid, seq, at, digest, payload) SELECT sid, 1, 0, x'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', x'' FROM session;",
        )
        .unwrap();
    file
}

fn tenant() -> holdover_store::ids::TenantId {
    "t".parse().unwrap()
}

#[test]
fn the_session_of_a_life_is_found_beside_any_number_of_others() {
    let file = File::new();
    file.put("s", MANY, "'t'", 1, "NULL");
    file.conn
        .execute_batch(
            "UPDATE session SET incarnation = x'00000000000000000000000000000001' WHERE sid = 70000",
        )
        .unwrap();
    let life = Incarnation(Uuid::from_u128(1));
    let query = SessionQuery { life: Some(life), ..SessionQuery::all(tenant()) };
    let (found, steps) = file.counted(|conn| sessions(conn, &query, None, 10).unwrap());
    assert_eq!(found.rows.len(), 1);
    assert!(steps < 300, "{steps}");
}

#[test]
fn few_of_many_sessions_are_listed_in_few_steps() {
    let file = many();
    let query = |labels: &[(&str, &str)]| SessionQuery {
        labels: labels.iter().copied().collect(),
        ..SessionQuery::all(tenant())
    };
    let list = |query: &SessionQuery, after: Option<&SessionPlace>, limit| {
        let (found, steps) = file.counted(|conn| sessions(conn, query, after, limit).unwrap());
        let ids: Vec<_> = found.rows.iter().map(|summary| summary.key.id.to_string()).collect();
        assert!(steps < STEPS_MAX, "{query:?} after {after:?}: {steps} steps for {ids:?}");
        (ids, found)
    };
    for labels in [&[("user", "kim")][..], &[("agent", "a"), ("user", "kim")]] {
        let (ids, found) = list(&query(labels), None, 10);
        assert_eq!(ids, ["s18999", "s4999", "s0"]);
        assert_eq!((found.next, found.rows[0].labels.0.len()), (None, 2));
        let (ids, found) = list(&query(labels), None, 1);
        assert_eq!(ids, ["s18999"]);
        assert_eq!(list(&query(labels), found.next.as_ref(), 10).0, ["s4999", "s0"]);
    }
    // Deep within a list with many sessions created at one instant.
    let (ids, _) = list(&query(&[("agent", "a")]), Some(&place(5_000 / 7, "s4999")), 3);
    assert_eq!(ids, ["s4998", "s4997", "s4996"]);
    // Created in one of thousands of instants: neither newer nor older sessions are walked.
    let created =
        TimeRange { since: Some(Timestamp::from_ms(2_000)), before: Some(Timestamp::from_ms(2_001)) };
    let within = SessionQuery { created, ..query(&[("agent", "a")]) };
    let (ids, found) = list(&within, None, 4);
    assert_eq!(ids, ["s14005", "s14004", "s14003", "s14002"]);
    let (ids, found) = list(&within, found.next.as_ref(), 4);
    assert_eq!((ids, found.next), (["s14001", "s14000", "s13999"].map(str::to_owned).to_vec(), None));
    assert_eq!(list(&query(&[("user", "lee")]), None, 10).0, Vec::<String>::new());
    assert_eq!(list(&query(&[("agent", "a"), ("user", "lee")]), None, 10).0, Vec::<String>::new());
}

fn place(at: i64, id: &str) -> SessionPlace {
    SessionPlace { at: Timestamp::from_ms(at), key: SessionKey::new(tenant(), id.parse().unwrap()) }
}

#[test]
fn a_page_looks_at_a_bounded_number_of_sessions_and_a_walk_finds_all() {
    let file = File::new();
    file.put("s", 25_000, "'t'", 1, "NULL");
    file.conn
        .execute_batch(
            "INSERT INTO label (sid, name, value, tenant, created_at, id)
                 SELECT sid, 'agent', 'a', tenant, created_at, id FROM session;
             UPDATE session SET status = 'failed' WHERE sid = 1",
        )
        .unwrap();
    let mut query = SessionQuery { status: vec![SessionStatus::Failed], ..SessionQuery::all(tenant()) };
    query.labels = [("agent", "a")].into_iter().collect();
    let (mut after, mut found) = (None, Vec::new());
    for page in 1.. {
        let scanned = sessions(&file.conn, &query, after.as_ref(), 10).unwrap();
        found.extend(scanned.rows.into_iter().map(|summary| summary.key.id.to_string()));
        after = scanned.next;
        if after.is_none() {
            assert_eq!((page, found), (3, vec!["s0".to_owned()]));
            return;
        }
    }
}

#[test]
fn what_one_of_many_sessions_has_is_read_in_few_steps() {
    let file = many();
    let key = SessionKey::new(tenant(), "s7".parse().unwrap());
    let wants =
        [Want::numbers(Kind::Run, 1, 9), Want::numbers(Kind::Events, 1, u64::MAX), Want::all(Kind::Pending)];
    let (rows, steps) = file.counted(|conn| {
        let slot = session::find(conn, &key).unwrap().unwrap();
        let life = slot.row.unwrap().incarnation;
        read::wanted(conn, slot.place.cast_signed(), &key, life, &wants).unwrap()
    });
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 2]);
    assert!(steps < STEPS_MAX, "runs, events and calls: {steps}");
}

/// Returns the ids of the calls of a page of a list by kind, the page, and the steps that it took.
fn of_kind(
    file: &File,
    kind: PendingKind,
    after: Option<&PendingPlace>,
    limit: usize,
) -> (Vec<String>, Scanned<PendingCall, PendingPlace>, u64) {
    let query = PendingQuery { kind: Some(kind), ..PendingQuery::all(tenant()) };
    let (found, steps) = file.counted(|conn| pending(conn, &query, after, limit, usize::MAX).unwrap());
    (found.rows.iter().map(|call| format!("{} {}", call.key.id, call.id)).collect(), found, steps)
}

#[test]
fn few_calls_of_a_kind_are_listed_in_few_steps_beside_many_of_another() {
    let file = many();
    file.conn
        .execute_batch(
            "UPDATE pending SET kind = 'dead_letter' WHERE id = 'p1' AND session IN ('s3', 's7000', 's19000');
             UPDATE pending SET kind = 'child' WHERE id = 'p2' AND session = 's5'",
        )
        .unwrap();
    let check = |kind, after: Option<&PendingPlace>, limit| {
        let (ids, found, steps) = of_kind(&file, kind, after, limit);
        assert!(steps < STEPS_MAX, "after {after:?}: {steps} steps for {ids:?}");
        (ids, found.next)
    };
    let (ids, next) = check(PendingKind::DeadLetter, None, 10);
    assert_eq!((ids, next), (["s19000 p1", "s3 p1", "s7000 p1"].map(str::to_owned).to_vec(), None));
    let (ids, next) = check(PendingKind::DeadLetter, None, 2);
    assert_eq!(ids, ["s19000 p1", "s3 p1"]);
    assert_eq!(check(PendingKind::DeadLetter, next.as_ref(), 2).0, ["s7000 p1"]);
    assert_eq!(check(PendingKind::Child, None, 10).0, ["s5 p2"]);
    assert_eq!(check(PendingKind::InDoubt, None, 10).0, Vec::<String>::new());
    // A page deep within the long list.
    let place = |session: &str, id: &str| PendingPlace {
        endless: false,
        deadline: Timestamp::from_ms(8),
        session: session.parse().unwrap(),
        id: id.parse().unwrap(),
    };
    assert_eq!(check(PendingKind::Approval, Some(&place("s5", "p1")), 2).0, ["s50 p1", "s500 p1"]);
}

#[test]
fn calls_of_a_kind_that_cannot_be_read_are_left_out_and_take_no_place_of_a_page() {
    let file = many();
    file.conn
        .execute_batch(
            "UPDATE pending SET kind = 'dead_letter' WHERE id = 'p1' AND session IN ('s1', 's2', 's3');
             UPDATE pending SET payload = x'00' WHERE kind = 'dead_letter' AND session IN ('s1', 's2')",
        )
        .unwrap();
    let (ids, found, _) = of_kind(&file, PendingKind::DeadLetter, None, 1);
    assert_eq!(ids, ["s3 p1"]);
    assert_eq!(of_kind(&file, PendingKind::DeadLetter, found.next.as_ref(), 1).0, Vec::<String>::new());
}
