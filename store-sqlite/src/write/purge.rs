//! Removes what a retention rule says, longest unchanged first.

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::{PageCursor, PurgeReport, Remove, RetentionRule, SessionStatus};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::delete::delete_rows;
use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows::{self, Sid};

// All of these run in one write transaction; each session's row is read again before it is touched.
const RESTING: &str = "SELECT sid, updated_at, tenant, id FROM session INDEXED BY session_resting \
     WHERE alarm IS NULL AND status IN ('idle', 'interrupted', 'failed', 'aborted') \
     AND unread = 0 AND interrupt IS NULL AND updated_at < ";
/// Costs no more than the checkpoints that stay, where there are none to remove.
const DROP_CHECKPOINTS: &str = "DELETE FROM checkpoint WHERE sid = ?1 AND id <= \
     (SELECT id FROM checkpoint WHERE sid = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";

pub(crate) struct Purge {
    rule: RetentionRule,
    after: Option<Place>,
}

impl Purge {
    /// The step of a walk by `rule` that goes on after `position`. None: that is no place in it.
    pub(crate) fn new(rule: RetentionRule, position: Option<Vec<u8>>) -> Option<Self> {
        let after = match position {
            Some(position) => Some(Place::from_bytes(&position)?),
            None => None,
        };
        Some(Self { rule, after })
    }
}

#[async_trait]
impl Write for Purge {
    type Outcome = PurgeReport;
    const OPERATION: &'static str = "purge";

    fn key(&self) -> Option<&SessionKey> {
        None
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<PurgeReport, Fault> {
        let rule = &self.rule;
        let mut resting = self.find(tx.conn()).await?;
        let limit = rule.limit.get() as usize;
        let more = resting.len() > limit;
        resting.truncate(limit);
        let last = resting.last().filter(|_| more);
        let next = last.map(|(_, place)| PageCursor::at(rule.digest(), &place.to_bytes()));
        let mut report = PurgeReport { next, ..PurgeReport::default() };
        for (sid, _) in resting {
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
        rows::clear_tombstones(tx, u64::from(rule.limit.get())).await?;
        Ok(report)
    }
}

impl Purge {
    /// The next sessions that the rule is about, one more than its limit.
    async fn find(&self, conn: &mut SqliteConnection) -> Result<Vec<(Sid, Place)>, Fault> {
        let rule = &self.rule;
        let mut sql = QueryBuilder::<Sqlite>::new(RESTING);
        sql.push_bind(rule.unchanged_since.as_ms());
        if let Some(after) = &self.after {
            sql.push(" AND (updated_at, tenant, id) > (")
                .push_bind(after.updated_at)
                .push(", ")
                .push_bind(after.tenant.clone())
                .push(", ")
                .push_bind(after.id.clone())
                .push(")");
        }
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
        sql.push(" ORDER BY updated_at, tenant, id LIMIT ").push_bind(int(u64::from(rule.limit.get()) + 1));
        let found = sql.build().persistent(false).fetch_all(conn).await?;
        found.iter().map(Place::read).collect()
    }
}

/// Where a step of the walk ended.
struct Place {
    updated_at: i64,
    tenant: String,
    id: String,
}

impl Place {
    fn read(row: &SqliteRow) -> Result<(Sid, Self), Fault> {
        let mut c = Columns::of(row);
        Ok((Sid(c.int()?), Self { updated_at: c.int()?, tenant: c.text()?, id: c.text()? }))
    }

    /// Ids hold no NUL, which therefore parts them.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.updated_at.to_be_bytes().to_vec();
        bytes.extend_from_slice(self.tenant.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.id.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (updated_at, ids) = bytes.split_first_chunk::<8>()?;
        let (tenant, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        let updated_at = i64::from_be_bytes(*updated_at);
        Some(Self { updated_at, tenant: tenant.to_owned(), id: id.to_owned() })
    }
}
