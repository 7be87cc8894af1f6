//! The search for due sessions, along indexes by alarm and by tenant.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdover_store::Queues;
use holdover_store::ids::StateFormat;
use holdover_store::rows::{Due, DueGroup, DueIndex, DuePlace, DueQuery, Found, Want, find_due};
use holdover_store::time::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Params, params, params_from_iter};

use crate::error::Fault;
use crate::{read, session};

// Names are bound and read as bytes, because a stored name may not be valid text. A walk continues after a place
// with several statements, each with one bound: with a bound over several columns, SQLite would step over every
// row before it.

const NEXT_FORMAT: &str = "SELECT CAST(queue AS BLOB), format FROM session INDEXED BY session_due \
     WHERE alarm IS NOT NULL AND interrupt IS NULL AND queue = CAST(?1 AS TEXT) AND format > ?2 \
     ORDER BY format LIMIT 1";
const NEXT_QUEUE: &str = "SELECT CAST(queue AS BLOB), format FROM session INDEXED BY session_due \
     WHERE alarm IS NOT NULL AND interrupt IS NULL AND queue > CAST(?1 AS TEXT) \
     ORDER BY queue, format LIMIT 1";

/// Returns the sessions that are due, each with its wanted rows, as of one read transaction.
pub(crate) fn due(
    conn: &Connection,
    query: &DueQuery,
    wants: &[Want],
    now: Timestamp,
) -> Result<Due<Result<Found, Fault>>, Fault> {
    find_due(&Look { conn, query, wants, now }, query)
}

/// One search for due sessions.
struct Look<'a> {
    conn: &'a Connection,
    query: &'a DueQuery,
    wants: &'a [Want],
    now: Timestamp,
}

/// A queue and a format, as they are stored.
type Group = (Vec<u8>, i64);

impl DueIndex for Look<'_> {
    type Found = Result<Found, Fault>;
    type Error = Fault;

    fn groups(&self, query: &DueQuery) -> Result<Vec<DueGroup>, Fault> {
        let mut groups = vec![DueGroup::Interrupted];
        match &query.queues {
            Queues::All => {
                let mut next = self.next_group(NEXT_QUEUE, params![&[][..]])?;
                while let Some(first) = next {
                    let queue = first.0.clone();
                    self.formats(Some(first), &mut groups)?;
                    next = self.next_group(NEXT_QUEUE, params![queue])?;
                }
            }
            Queues::Named(named) => {
                let named: BTreeSet<_> = named.iter().collect();
                for queue in named {
                    let first = self.next_group(NEXT_FORMAT, params![queue.as_str().as_bytes(), -1])?;
                    self.formats(first, &mut groups)?;
                }
            }
        }
        Ok(groups)
    }

    fn rung(&self, group: &DueGroup, after: Option<&DuePlace>, limit: usize) -> Result<Vec<DuePlace>, Fault> {
        let now = Value::from(self.now.as_ms());
        let Some(DuePlace { alarm, tenant, id }) = after else {
            let all = Walk { bound: "alarm <= ?", values: vec![now], order: "alarm, tenant, id" };
            return self.walk(Along::Alarms, group, [all], limit);
        };
        let (at, tenant, id) =
            (Value::from(alarm.as_ms()), Value::from(tenant.clone()), Value::from(id.clone()));
        let same_tenant = Walk {
            bound: "alarm = ? AND tenant = CAST(? AS TEXT) AND id > CAST(? AS TEXT)",
            values: vec![at.clone(), tenant.clone(), id],
            order: "id",
        };
        let same_alarm = Walk {
            bound: "alarm = ? AND tenant > CAST(? AS TEXT)",
            values: vec![at.clone(), tenant],
            order: "tenant, id",
        };
        let later =
            Walk { bound: "alarm > ? AND alarm <= ?", values: vec![at, now], order: "alarm, tenant, id" };
        self.walk(Along::Alarms, group, [same_tenant, same_alarm, later], limit)
    }

    fn rung_of(
        &self,
        group: &DueGroup,
        tenant: &[u8],
        after: Option<&DuePlace>,
        limit: usize,
    ) -> Result<Vec<DuePlace>, Fault> {
        let (now, tenant) = (Value::from(self.now.as_ms()), Value::from(tenant.to_vec()));
        let Some(DuePlace { alarm, id, .. }) = after else {
            let all = Walk {
                bound: "tenant = CAST(? AS TEXT) AND alarm <= ?",
                values: vec![tenant, now],
                order: "alarm, id",
            };
            return self.walk(Along::Turns, group, [all], limit);
        };
        let (at, id) = (Value::from(alarm.as_ms()), Value::from(id.clone()));
        let same_alarm = Walk {
            bound: "tenant = CAST(? AS TEXT) AND alarm = ? AND id > CAST(? AS TEXT)",
            values: vec![tenant.clone(), at.clone(), id],
            order: "id",
        };
        let later = Walk {
            bound: "tenant = CAST(? AS TEXT) AND alarm > ? AND alarm <= ?",
            values: vec![tenant, at, now],
            order: "alarm, id",
        };
        self.walk(Along::Turns, group, [same_alarm, later], limit)
    }

    fn next_tenant(&self, group: &DueGroup, after: Option<&[u8]>) -> Result<Option<Vec<u8>>, Fault> {
        let values = vec![Value::from(after.unwrap_or_default().to_vec())];
        let next = Walk { bound: "tenant > CAST(? AS TEXT)", values, order: "tenant" };
        let mut found = self.walk(Along::Turns, group, [next], 1)?;
        Ok(found.pop().map(|place| place.tenant))
    }

    fn find(&self, place: &DuePlace) -> Result<Option<Self::Found>, Fault> {
        match self.look(place) {
            // An unreadable session must not block the others.
            Err(Fault::Corrupt(detail)) => {
                let [tenant, id] = [&place.tenant, &place.id].map(|name| String::from_utf8_lossy(name));
                Ok(Some(Err(Fault::Corrupt(format!("session {tenant}/{id}: {detail}")))))
            }
            found => Ok(found?.map(Ok)),
        }
    }

    fn is_sound(found: &Self::Found) -> bool {
        found.is_ok()
    }
}

/// The kind of index that a walk follows: by alarm, or by tenant.
#[derive(Clone, Copy)]
enum Along {
    Alarms,
    Turns,
}

/// A range of an index and the order in which it is read.
struct Walk {
    bound: &'static str,
    values: Vec<Value>,
    order: &'static str,
}

impl Walk {
    /// Builds the statement that reads this range for one group, with its values.
    fn statement(self, along: Along, group: &DueGroup, limit: usize) -> (String, Vec<Value>) {
        let index = match (along, group) {
            (Along::Alarms, DueGroup::Interrupted) => "session_due_interrupted",
            (Along::Alarms, DueGroup::Queue { .. }) => "session_due",
            (Along::Turns, DueGroup::Interrupted) => "session_turn_interrupted",
            (Along::Turns, DueGroup::Queue { .. }) => "session_turn",
        };
        let (which, mut values) = match group {
            DueGroup::Interrupted => ("interrupt IS NOT NULL", Vec::new()),
            DueGroup::Queue { queue, format } => (
                "interrupt IS NULL AND queue = CAST(? AS TEXT) AND format = ?",
                vec![Value::from(queue.clone()), Value::from(format.0)],
            ),
        };
        let Self { bound, order, values: bounds } = self;
        values.extend(bounds);
        values.push(Value::from(i64::try_from(limit).unwrap_or(i64::MAX)));
        let sql = format!(
            "SELECT alarm, CAST(tenant AS BLOB), CAST(id AS BLOB) FROM session INDEXED BY {index} \
             WHERE alarm IS NOT NULL AND {which} AND {bound} ORDER BY {order} LIMIT ?"
        );
        (sql, values)
    }
}

impl Look<'_> {
    /// Returns the first `limit` places that these walks find, one walk after another.
    fn walk(
        &self,
        along: Along,
        group: &DueGroup,
        walks: impl IntoIterator<Item = Walk>,
        limit: usize,
    ) -> Result<Vec<DuePlace>, Fault> {
        let mut places = Vec::new();
        for walk in walks {
            let (sql, values) = walk.statement(along, group, limit - places.len());
            let mut statement = self.conn.prepare_cached(&sql)?;
            let found = statement.query_map(params_from_iter(values), |row| {
                Ok(DuePlace { alarm: Timestamp::from_ms(row.get(0)?), tenant: row.get(1)?, id: row.get(2)? })
            })?;
            for place in found {
                places.push(place?);
            }
            if places.len() == limit {
                break;
            }
        }
        Ok(places)
    }

    /// Adds the groups of a queue, from the group `from` on, up to the newest format that the worker reads. Skips
    /// stored values that are not valid formats.
    fn formats(&self, from: Option<Group>, groups: &mut Vec<DueGroup>) -> Result<(), Fault> {
        let mut next = from;
        while let Some((queue, format)) = next
            && format <= i64::from(self.query.newest_format.0)
        {
            next = self.next_group(NEXT_FORMAT, params![queue, format.max(-1)])?;
            let read = u32::try_from(format).ok().map(StateFormat);
            groups.extend(read.map(|format| DueGroup::Queue { queue, format }));
        }
        Ok(())
    }

    fn next_group(&self, sql: &'static str, params: impl Params) -> Result<Option<Group>, Fault> {
        let mut statement = self.conn.prepare_cached(sql)?;
        Ok(statement.query_row(params, |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    fn look(&self, place: &DuePlace) -> Result<Option<Found>, Fault> {
        let key = place.key().ok_or_else(|| Fault::Corrupt("a name is none".to_owned()))?;
        let slot = session::find(self.conn, &key)?;
        let Some((sid, row)) = slot.as_ref().and_then(|slot| Some((slot.place, slot.row.as_ref()?))) else {
            return Ok(None);
        };
        let query = self.query;
        if !row.is_due(&query.queues, query.newest_format, query.tenant.as_ref(), self.now) {
            return Ok(None);
        }
        let rows = read::wanted(self.conn, sid.cast_signed(), &key, row.incarnation, self.wants)?;
        Ok(Some(Found { now: self.now, slot: slot.map(Arc::new), rows }))
    }
}

#[cfg(test)]
pub(crate) mod tests;
