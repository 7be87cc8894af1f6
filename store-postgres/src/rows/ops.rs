//! The effect of writes on the rows of their sessions. Each kind of row has members of the statement (common table
//! expressions) of its own.

use std::collections::BTreeMap;

use holdover_store::rows::{Kind, Op, Row, RowKey};
use holdover_store::rules::SessionRow;

use super::given::Given;
use super::kinds::table;
use super::put::put;
use crate::sql::{Param, Sql, int, push};

/// The operations of one write.
pub(super) struct Part<'w> {
    /// The place of the session, if the statement writes several sessions.
    pub(super) place: Option<i64>,
    /// The session after the write.
    pub(super) session: &'w SessionRow,
    pub(super) ops: &'w [Op],
}

/// The operations of a statement, by the kind of row.
#[derive(Default)]
struct Sorted<'w> {
    written: BTreeMap<Kind, Given<&'w Row>>,
    deleted: BTreeMap<Kind, Given<&'w RowKey>>,
    deleted_up_to: BTreeMap<Kind, Given<i64>>,
    cleared: BTreeMap<Kind, Given<()>>,
}

/// Adds the operations of writes. They are grouped by kind, so that most kinds need one member, however many rows there
/// are.
pub(super) fn rows(sql: &mut Sql<'_>, parts: &[Part<'_>]) {
    let mut sorted = Sorted::default();
    for Part { place, ops, .. } in parts {
        for op in *ops {
            match op {
                // An item and its key are one row, which the item's operation writes.
                Op::Insert(Row::Key { .. }) | Op::Put(Row::Key { .. }) => {}
                Op::Put(row) | Op::Insert(row) => {
                    sorted.written.entry(row.key().kind).or_default().add(*place, row);
                }
                Op::Delete(key) => sorted.deleted.entry(key.kind).or_default().add(*place, key),
                Op::DeleteUpTo(kind, last) => {
                    sorted.deleted_up_to.entry(*kind).or_default().add(*place, int(*last));
                }
                Op::Clear(kind) => sorted.cleared.entry(*kind).or_default().add(*place, ()),
            }
        }
    }
    let Sorted { written, deleted, deleted_up_to, cleared } = &sorted;
    for (kind, last) in deleted_up_to {
        let lasts = sql.bind(last.rows.clone());
        let joined = last.joined(sql, "k", "last", &[lasts]);
        remove(sql, *kind, "up_to", &joined, &format!("x.{} <= k.last", table(*kind).place));
    }
    for (kind, sessions) in cleared {
        clear(sql, *kind, sessions, parts);
    }
    for (kind, keys) in deleted {
        let place = table(*kind).place;
        let (arrays, found) = match place {
            "" => (Vec::new(), "true".to_owned()),
            place => (vec![bind_places(sql, &keys.rows)], format!("x.{place} = k.place")),
        };
        let joined = keys.joined(sql, "k", "place", &arrays);
        remove(sql, *kind, "named", &joined, &found);
    }
    for (kind, rows) in written {
        if let Some(first) = parts.first() {
            put(sql, first.session, *kind, rows);
        }
    }
}

/// Removes all rows of a kind of some sessions, except those that the same write replaces: no statement may change a row
/// twice.
fn clear(sql: &mut Sql<'_>, kind: Kind, sessions: &Given<()>, parts: &[Part<'_>]) {
    let mut kept: Given<RowKey> = Given::default();
    for Part { place, ops, .. } in parts.iter().filter(|part| sessions.names(part.place)) {
        for op in *ops {
            if let Op::Put(row) | Op::Insert(row) = op
                && row.key().kind == kind
            {
                kept.add(*place, row.key());
            }
        }
    }
    let mut sessions = sessions.clone();
    if table(kind).place.is_empty() {
        // The write replaces the only row of a session.
        sessions.leave_out(&kept);
        kept = Given::default();
    }
    if sessions.rows.is_empty() {
        return;
    }
    let joined = sessions.joined(sql, "k", "", &[]);
    let found = match table(kind).place {
        _ if kept.rows.is_empty() => "true".to_owned(),
        place => {
            let places = bind_places(sql, &kept.rows.iter().collect::<Vec<_>>());
            let kept = kept.joined(sql, "y", "place", &[places]);
            format!("NOT EXISTS (SELECT FROM s {kept} WHERE s.sid = x.sid AND y.place = x.{place})")
        }
    };
    remove(sql, kind, "all", &joined, &found);
}

/// Binds the places of rows within their sessions.
fn bind_places(sql: &mut Sql<'_>, keys: &[&RowKey]) -> Param {
    if keys.iter().any(|key| key.as_name().is_empty()) {
        sql.bind(keys.iter().map(|key| int(key.as_number())).collect::<Vec<_>>())
    } else {
        sql.bind(keys.iter().map(|key| key.as_name()).collect::<Vec<_>>())
    }
}

/// Removes the rows of the sessions in `joined` that match `found`. A consumed item keeps its key.
fn remove(sql: &mut Sql<'_>, kind: Kind, how: &str, joined: &str, found: &str) {
    let (schema, name) = (&sql.names.schema, table(kind).name);
    if kind == Kind::Item {
        push!(
            sql,
            ", {how}_{name} AS (UPDATE {schema}{name} x SET payload = NULL, digest = NULL FROM s {joined} \
             WHERE x.sid = s.sid AND x.payload IS NOT NULL AND {found})"
        );
    } else {
        push!(
            sql,
            ", {how}_{name} AS (DELETE FROM {schema}{name} x USING s {joined} WHERE x.sid = s.sid AND {found})"
        );
    }
}
