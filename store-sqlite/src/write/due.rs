//! Claims whatever is due, along the indexes on the alarm.

use std::collections::HashSet;

use async_trait::async_trait;
use holdover_store::ids::{QueueLabel, SessionKey};
use holdover_store::time::Timestamp;
use holdover_store::{Claim, ClaimDue, Queues};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::claim::write_claim;
use crate::columns::Columns;
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows::{self, Extras, Sid};

// In a write transaction these see what the last commit of any process left; in a read transaction they
// are a first look that spares an idle worker the write lock.

/// A loose scan of the index: one step per queue, however many sessions are in it.
const QUEUES_WITH_ALARMS: &str = "WITH RECURSIVE q (queue) AS ( \
     SELECT min(queue) FROM session WHERE alarm IS NOT NULL \
     UNION ALL \
     SELECT (SELECT min(queue) FROM session WHERE alarm IS NOT NULL AND queue > q.queue) \
     FROM q WHERE q.queue IS NOT NULL) \
     SELECT queue FROM q WHERE queue IS NOT NULL";

macro_rules! due {
    ($where:literal, $index:literal) => {
        concat!(
            "SELECT sid, alarm, tenant, id FROM session INDEXED BY ",
            $index,
            " WHERE ",
            $where,
            " AND alarm IS NOT NULL AND alarm <= ?2 AND status <> 'aborted' \
             AND (lease_ends IS NULL OR lease_ends <= ?2) AND (?3 IS NULL OR tenant = ?3) \
             ORDER BY alarm, tenant, id LIMIT ?4"
        )
    };
}

/// In one queue, with a format that the worker reads.
const DUE_IN_QUEUE: &str = due!("queue = ?1 AND format <= ?5", "session_due");
/// With an interrupt waiting, in whatever queue.
const DUE_INTERRUPTED: &str = due!("?1 IS NULL AND interrupt IS NOT NULL", "session_due_interrupted");

pub(crate) struct ClaimDueSessions(pub(crate) ClaimDue);

#[async_trait]
impl Write for ClaimDueSessions {
    type Outcome = Vec<Claim>;
    const OPERATION: &'static str = "claim_due";

    fn key(&self) -> Option<&SessionKey> {
        None
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Vec<Claim>, Fault> {
        let wanted = self.0.runs.len();
        let mut claims: Vec<Claim> = Vec::with_capacity(wanted.min(64));
        // A record that cannot be read is passed over, so that it holds up nobody else.
        let mut seen: HashSet<Sid> = HashSet::new();
        let now = tx.now();
        while claims.len() < wanted {
            let limit = wanted.saturating_add(seen.len() - claims.len());
            let due = due_now(tx.conn(), &self.0, now, limit).await?;
            let before = seen.len();
            for due in due {
                if claims.len() < wanted && seen.insert(due.sid) {
                    claims.extend(self.claim(tx, &due, claims.len(), now).await?);
                }
            }
            if seen.len() == before {
                break;
            }
        }
        Ok(claims)
    }
}

impl ClaimDueSessions {
    async fn claim(
        &self,
        tx: &mut Tx<'_>,
        due: &Due,
        nth: usize,
        now: Timestamp,
    ) -> Result<Option<Claim>, Fault> {
        let want = &self.0;
        let Some(run) = want.runs.get(nth) else { return Ok(None) };
        let read = async {
            let Some(row) = rows::read_by_sid(tx.conn(), due.sid).await? else { return Ok(None) };
            let extras = Extras::read(tx.conn(), due.sid, &row).await?;
            Ok(Some((row, extras)))
        };
        let (before, extras) = match read.await {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(None),
            Err(Fault::Corrupt(detail)) => {
                tracing::error!(
                    tenant = %String::from_utf8_lossy(&due.tenant),
                    session = %String::from_utf8_lossy(&due.id),
                    detail,
                    "a due session cannot be read"
                );
                return Ok(None);
            }
            Err(fault) => return Err(fault),
        };
        if !before.is_due(&want.queues, want.newest_format, want.tenant.as_ref(), now) {
            return Ok(None);
        }
        let mut after = before.clone();
        let claimed = after.claim(run.clone(), want.worker.clone(), want.lease, now);
        write_claim(tx, due.sid, &before, &after, claimed, now).await?;
        extras.into_claim(after, now).map(Some)
    }
}

/// A session whose alarm has rung.
pub(crate) struct Due {
    sid: Sid,
    alarm: Timestamp,
    /// As they are stored: one that cannot be read must not hide the sessions behind it.
    tenant: Vec<u8>,
    id: Vec<u8>,
}

/// At most `limit` sessions that are due, soonest alarm first, ties by key.
pub(crate) async fn due_now(
    conn: &mut SqliteConnection,
    want: &ClaimDue,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Due>, Fault> {
    let queues = match &want.queues {
        Queues::All => queues_with_alarms(conn).await?,
        Queues::Named(named) => {
            let mut named: Vec<String> =
                named.iter().map(|queue: &QueueLabel| queue.as_str().into()).collect();
            named.sort_unstable();
            named.dedup();
            named
        }
    };
    let mut due = Vec::new();
    let sources = queues.into_iter().map(|queue| (DUE_IN_QUEUE, Some(queue)));
    for (sql, queue) in sources.chain([(DUE_INTERRUPTED, None)]) {
        let rows = sqlx::query(sql)
            .bind(queue)
            .bind(now.as_ms())
            .bind(want.tenant.as_ref().map(|tenant| tenant.as_str().to_owned()))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .bind(i64::from(want.newest_format.0))
            .fetch_all(&mut *conn)
            .await?;
        for row in &rows {
            due.push(decode(row)?);
        }
    }
    due.sort_unstable_by(|a, b| (a.alarm, &a.tenant, &a.id).cmp(&(b.alarm, &b.tenant, &b.id)));
    due.dedup_by_key(|due| due.sid);
    due.truncate(limit);
    Ok(due)
}

async fn queues_with_alarms(conn: &mut SqliteConnection) -> Result<Vec<String>, Fault> {
    let rows = sqlx::query(QUEUES_WITH_ALARMS).fetch_all(conn).await?;
    // A label that cannot be read is no queue that anybody serves.
    Ok(rows.iter().filter_map(|row| Columns::of(row).text().ok()).collect())
}

fn decode(row: &SqliteRow) -> Result<Due, Fault> {
    let mut columns = Columns::of(row);
    Ok(Due {
        sid: Sid(columns.int()?),
        alarm: columns.at()?,
        tenant: columns.text_bytes()?,
        id: columns.text_bytes()?,
    })
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection, Row};

    use super::*;

    /// How SQLite says it will run `sql`.
    async fn plan(sql: &str) -> String {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.expect("opens");
        sqlx::raw_sql(include_str!("../../schema/0001.sql")).execute(&mut conn).await.expect("creates");
        let sql = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows = sqlx::query(sql).fetch_all(&mut conn).await.expect("explains");
        let lines = rows.iter().map(|row| row.get::<String, _>("detail"));
        lines.collect::<Vec<_>>().join("; ")
    }

    #[tokio::test]
    async fn nothing_that_grows_is_scanned() {
        let due = plan(DUE_IN_QUEUE).await;
        assert!(due.contains("session_due (queue=? AND alarm"), "{due}");
        assert!(due.contains("LAST 2 TERMS"), "sorted only among equal alarms: {due}");
        let interrupted = plan(DUE_INTERRUPTED).await;
        assert!(interrupted.contains("session_due_interrupted (alarm"), "{interrupted}");
        let queues = plan(QUEUES_WITH_ALARMS).await;
        assert!(queues.contains("SEARCH session USING COVERING INDEX session_due (queue>?)"), "{queues}");
    }
}
