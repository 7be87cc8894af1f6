//! Removes what a retention rule says, longest unchanged first.

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_core::store::{PurgeReport, Remove, RetentionRule, SessionStatus};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::delete::delete_rows;
use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows::{self, Sid};

// All of these run in one write transaction; each session's row is read again before it is touched.
const RESTING: &str = "SELECT sid FROM session INDEXED BY session_resting \
     WHERE alarm IS NULL AND status IN ('idle', 'interrupted', 'failed', 'aborted') \
     AND unread = 0 AND interrupt IS NULL AND updated_at < ";
const SURPLUS: &str = " AND (SELECT count(*) FROM checkpoint WHERE checkpoint.sid = session.sid) > ";
const DROP_CHECKPOINTS: &str = "DELETE FROM checkpoint WHERE sid = ?1 AND id NOT IN \
     (SELECT id FROM checkpoint WHERE sid = ?1 ORDER BY id DESC LIMIT ?2)";

pub(crate) struct Purge(pub(crate) RetentionRule);

#[async_trait]
impl Write for Purge {
    type Outcome = PurgeReport;
    const OPERATION: &'static str = "purge";

    fn key(&self) -> Option<&SessionKey> {
        None
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<PurgeReport, Fault> {
        let rule = &self.0;
        let mut resting = find(tx.conn(), rule).await?;
        let limit = rule.limit.get() as usize;
        let mut report = PurgeReport { more: resting.len() > limit, ..PurgeReport::default() };
        resting.truncate(limit);
        for sid in resting {
            let Some(row) = rows::read_by_sid(tx.conn(), sid).await?.filter(|row| row.purgeable(rule)) else {
                continue;
            };
            match rule.remove {
                Remove::Sessions => {
                    delete_rows(tx, sid, row.key).await?;
                    report.sessions += 1;
                }
                Remove::Checkpoints { keep } => {
                    let query = sqlx::query(DROP_CHECKPOINTS).bind(sid.0).bind(i64::from(keep.get()));
                    report.checkpoints += tx.write(query).await?;
                }
            }
        }
        Ok(report)
    }
}

/// The sessions that the rule is about, one more than its limit.
async fn find(conn: &mut SqliteConnection, rule: &RetentionRule) -> Result<Vec<Sid>, Fault> {
    let mut sql = QueryBuilder::<Sqlite>::new(RESTING);
    sql.push_bind(rule.unchanged_since.as_ms());
    if let Some(tenant) = &rule.tenant {
        sql.push(" AND tenant = ").push_bind(tenant.as_str().to_owned());
    }
    if !rule.status.is_empty() {
        sql.push(" AND status IN (");
        let mut list = sql.separated(", ");
        for status in rule.status.iter().copied().map(SessionStatus::as_str) {
            list.push_bind(status);
        }
        sql.push(")");
    }
    if let Remove::Checkpoints { keep } = rule.remove {
        sql.push(SURPLUS).push_bind(i64::from(keep.get()));
    }
    sql.push(" ORDER BY updated_at, tenant, id LIMIT ").push_bind(int(u64::from(rule.limit.get()) + 1));
    let found = sql.build().persistent(false).fetch_all(conn).await?;
    found.iter().map(|row| Columns::of(row).int().map(Sid)).collect()
}
