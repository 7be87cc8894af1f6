//! Tests of the cost of lists in a store with many sessions, counted in entries and rows that are read.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::ids::{Epoch, EventSeq, Incarnation, StateFormat, TenantId};
use crate::payload::Payload;
use crate::rows::{EventBatch, Token, encode_row_key, index_entries, row_entries};
use crate::{NewSession, PendingKind, RunRecord, SessionStatus, Start};

/// The number of sessions besides those that a list looks for.
const MANY: u32 = 2_000;
/// The most entries and rows that a list of few sessions may read.
const LOOKED_AT_MAX: usize = 30;

/// The data of a backend, in memory. Counts the entries and rows that are read.
#[derive(Default)]
struct Kept {
    sessions: BTreeMap<SessionKey, (SessionRow, BTreeMap<Vec<u8>, Row>)>,
    entries: BTreeSet<(Index, Vec<u8>)>,
    looked_at: Cell<usize>,
}

impl Kept {
    fn look(&self) {
        self.looked_at.set(self.looked_at.get() + 1);
    }

    /// Adds a session with labels, a run, an event and two pending calls.
    fn put(&mut self, nth: u32, labels: Labels) {
        let new = NewSession {
            key: key(nth),
            incarnation: Incarnation(uuid::Uuid::from_u128(nth.into())),
            operation: "o".parse().unwrap(),
            queue: "q".parse().unwrap(),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: StateFormat(1),
            items: vec![],
            start: Start::WithItems,
        };
        let row = SessionRow::create(&new, Timestamp::from_ms(nth.into()));
        let run = RunRecord {
            epoch: Epoch(1),
            run: "run".parse().unwrap(),
            worker: "worker".parse().unwrap(),
            found: SessionStatus::Idle,
            parent: None,
            started_at: row.created_at,
            end: None,
        };
        let call = |id: &str, deadline| PendingCall {
            key: row.key.clone(),
            incarnation: row.incarnation,
            id: id.parse().unwrap(),
            call: "call".parse().unwrap(),
            kind: PendingKind::Approval,
            needed: 1,
            answered: 0,
            last_answer: crate::ids::InboxSeq(0),
            deadline: Some(Timestamp::from_ms(deadline)),
            body: Payload::new("{}"),
            opened_at: row.created_at,
        };
        let events = EventBatch { last: EventSeq(1), at: row.created_at, payloads: vec![Payload::new("{}")] };
        let rows = [
            Row::Labels(labels),
            Row::Run(run),
            Row::Events(events),
            Row::Pending { order: 1, call: call("a", 9) },
            Row::Pending { order: 2, call: call("b", 8) },
        ];
        self.entries.extend(index_entries(&row));
        self.entries.extend(rows.iter().flat_map(|one| row_entries(&row, one)));
        let rows = rows.map(|row| (encode_row_key(&row.key()), row)).into_iter().collect();
        self.sessions.insert(row.key.clone(), (row, rows));
    }

    /// Performs `done`, and checks that it reads few entries and rows.
    fn few<T>(&self, what: &str, done: impl FnOnce(&Self) -> Result<T, StoreError>) -> T {
        self.looked_at.set(0);
        let done = done(self).unwrap();
        assert!(self.looked_at.get() <= LOOKED_AT_MAX, "{what}: {}", self.looked_at.get());
        done
    }
}

impl Snapshot for Kept {
    fn slot(&self, key: &SessionKey) -> Result<Option<Slot>, StoreError> {
        let row = self.sessions.get(key).map(|(row, _)| row.clone());
        Ok(row.map(|row| Slot { token: Token(1), place: 0, row: Some(row), lives: vec![] }))
    }

    fn rows<'a>(
        &'a self,
        key: &'a SessionKey,
        range: &Range<Vec<u8>>,
    ) -> Result<InOrder<'a, Row>, StoreError> {
        let range = range.clone();
        let rows = self.sessions.get(key).into_iter().flat_map(move |(_, rows)| rows.range(range.clone()));
        Ok(Box::new(rows.inspect(|_| self.look()).map(|(_, row)| Ok(row.clone()))))
    }

    fn entries(&self, index: Index, range: &Range<Vec<u8>>) -> Result<InOrder<'_, Vec<u8>>, StoreError> {
        let range = (index, range.start.clone())..(index, range.end.clone());
        let entries = self.entries.range(range).inspect(|_| self.look());
        Ok(Box::new(entries.map(|(_, entry)| Ok(entry.clone()))))
    }
}

fn tenant() -> TenantId {
    "t".parse().unwrap()
}

fn key(nth: u32) -> SessionKey {
    SessionKey::new(tenant(), format!("s{nth}").parse().unwrap())
}

fn many() -> Kept {
    let mut kept = Kept::default();
    for nth in 0..MANY {
        let mut labels: Labels = [("agent", "a")].into_iter().collect();
        if nth % 700 == 0 {
            labels.0.insert("user".into(), "kim".into());
        }
        kept.put(nth, labels);
    }
    kept
}

#[test]
fn few_of_many_sessions_are_listed_at_little_cost() {
    let kept = many();
    let list = |query: &SessionQuery| {
        let found = kept.few(&format!("{query:?}"), |kept| kept.sessions(query, None, 10));
        assert_eq!(found.next, None);
        found.rows.into_iter().map(|summary| summary.key).collect::<Vec<_>>()
    };
    let labelled = |labels: &[(&str, &str)]| SessionQuery {
        labels: labels.iter().copied().collect(),
        ..SessionQuery::all(tenant())
    };
    assert_eq!(list(&labelled(&[("user", "kim")])), [key(1_400), key(700), key(0)]);
    assert_eq!(list(&labelled(&[("agent", "a"), ("user", "kim")])), [key(1_400), key(700), key(0)]);
    assert_eq!(list(&labelled(&[("agent", "a"), ("user", "lee")])), []);
    let life = Incarnation(uuid::Uuid::from_u128(77));
    assert_eq!(list(&SessionQuery { life: Some(life), ..SessionQuery::all(tenant()) }), [key(77)]);
    let other = SessionQuery { life: Some(life), ..labelled(&[("user", "kim")]) };
    assert_eq!(list(&other), [], "it lives that life, and has another label");
}

#[test]
fn what_one_of_many_sessions_has_is_read_at_little_cost() {
    let kept = many();
    let wants =
        [Want::numbers(Kind::Run, 1, 9), Want::numbers(Kind::Events, 1, u64::MAX), Want::all(Kind::Pending)];
    let found = kept.few("runs, events and calls", |kept| kept.find(&key(77), &wants, Timestamp::EPOCH));
    assert_eq!(found.rows.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 2]);
}
