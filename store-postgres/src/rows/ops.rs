//! The effect of a write on the rows of its session. Each kind of row has members of the statement (common table
//! expressions) of its own.

use std::collections::BTreeMap;

use holdover_store::rows::{Kind, Op, Row, RowKey};
use holdover_store::rules::SessionRow;

use super::kinds::table;
use super::put::put;
use crate::sql::{Sql, int, push};

/// Adds the operations of a write. They are grouped by kind, so that most kinds need one member, however many rows
/// there are.
pub(super) fn rows(sql: &mut Sql<'_>, session: &SessionRow, ops: &[Op]) {
    let mut written: BTreeMap<Kind, Vec<&Row>> = BTreeMap::new();
    let mut deleted: BTreeMap<Kind, Vec<&RowKey>> = BTreeMap::new();
    for op in ops {
        match op {
            // An item and its key are one row, which the item's operation writes.
            Op::Insert(Row::Key { .. }) | Op::Put(Row::Key { .. }) => {}
            Op::Put(row) | Op::Insert(row) => written.entry(row.key().kind).or_default().push(row),
            Op::Delete(key) => deleted.entry(key.kind).or_default().push(key),
            Op::DeleteUpTo(kind, last) => {
                let last = sql.bind(int(*last));
                remove(sql, *kind, "up_to", &format!("x.{} <= {last}", table(*kind).place));
            }
            Op::Clear(_) => {}
        }
    }
    for op in ops {
        if let Op::Clear(kind) = op {
            clear(sql, *kind, written.get(kind).map_or(&[], Vec::as_slice));
        }
    }
    for (kind, keys) in deleted {
        let found = compared(sql, kind, "= ANY", &keys);
        remove(sql, kind, "named", &found);
    }
    for (kind, rows) in written {
        put(sql, session, kind, &rows);
    }
}

/// Removes all rows of a kind except those that the same write replaces: no statement may change a row twice.
fn clear(sql: &mut Sql<'_>, kind: Kind, written: &[&Row]) {
    let keys: Vec<RowKey> = written.iter().map(|row| row.key()).collect();
    let found = compared(sql, kind, "<> ALL", &keys.iter().collect::<Vec<_>>());
    remove(sql, kind, "all", &found);
}

/// Returns the condition that finds rows by their places. If no key is given, or the kind has only one row, it
/// matches all rows.
fn compared(sql: &mut Sql<'_>, kind: Kind, how: &str, keys: &[&RowKey]) -> String {
    let place = table(kind).place;
    if keys.is_empty() || place.is_empty() {
        return "true".to_owned();
    }
    let places = if keys.iter().any(|key| key.as_name().is_empty()) {
        sql.bind(keys.iter().map(|key| int(key.as_number())).collect::<Vec<_>>())
    } else {
        sql.bind(keys.iter().map(|key| key.as_name()).collect::<Vec<_>>())
    };
    format!("x.{place} {how} ({places})")
}

/// Removes the rows that match `found`. A consumed item keeps its key.
fn remove(sql: &mut Sql<'_>, kind: Kind, how: &str, found: &str) {
    let (schema, name) = (&sql.names.schema, table(kind).name);
    if kind == Kind::Item {
        push!(
            sql,
            ", {how}_{name} AS (UPDATE {schema}{name} x SET payload = NULL, digest = NULL FROM s \
             WHERE x.sid = s.sid AND x.payload IS NOT NULL AND {found})"
        );
    } else {
        push!(
            sql,
            ", {how}_{name} AS (DELETE FROM {schema}{name} x USING s WHERE x.sid = s.sid AND {found})"
        );
    }
}
