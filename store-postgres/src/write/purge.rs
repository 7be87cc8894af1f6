//! Removes what a retention rule says, longest unchanged first.

use holdover_store::ids::SessionKey;
use holdover_store::{PageCursor, PurgeReport, Remove, RetentionRule, SessionStatus};
use sqlx::postgres::PgRow;

use crate::call::{Call, Values};
use crate::columns::Columns;
use crate::error::Fault;

pub(crate) struct Purge {
    rule: RetentionRule,
    after: Place,
}

impl Purge {
    /// The step of a walk by `rule` that goes on after `position`. None: that is no place in it.
    pub(crate) fn new(rule: RetentionRule, position: Option<Vec<u8>>) -> Option<Self> {
        let after = match position {
            Some(position) => Place::from_bytes(&position)?,
            None => Place { at: i64::MIN, tenant: String::new(), id: String::new() },
        };
        Some(Self { rule, after })
    }
}

impl Call for Purge {
    type Outcome = PurgeReport;
    const OPERATION: &'static str = "purge";
    const PARAMETERS: usize = 10;
    const COLUMNS: &'static str = "a.sessions, a.checkpoints, a.next_at, a.next_tenant, a.next_id";
    const WRITES: bool = true;
    const IS_LONG: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        None
    }

    fn bind(&self, to: &mut Values<'_>) {
        let (rule, after) = (&self.rule, &self.after);
        let status: Vec<&str> = rule.status.iter().copied().map(SessionStatus::as_str).collect();
        let keep = match rule.remove {
            Remove::Sessions => None,
            Remove::Checkpoints { keep } => Some(i64::from(keep.get())),
        };
        to.add(rule.tenant.as_ref().map(|tenant| tenant.as_str()))
            .add((!status.is_empty()).then_some(status))
            .add(rule.unchanged_since.as_ms())
            .add(keep)
            .add(i64::from(rule.limit.get()))
            .step_max()
            .add(after.at)
            .add(after.tenant.as_str())
            .add(after.id.as_str())
            .channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<PurgeReport, Fault> {
        let mut c = Columns::first(rows)?;
        let (sessions, checkpoints) = (c.count()?, c.count()?);
        let next = match (c.int_or_null()?, c.text_or_null()?, c.text_or_null()?) {
            (Some(at), Some(tenant), Some(id)) => Some(Place { at, tenant, id }),
            (_, _, _) => None,
        };
        let next = next.map(|place| PageCursor::at(self.rule.digest(), &place.to_bytes()));
        Ok(PurgeReport { sessions, checkpoints, next })
    }
}

/// Where a step of the walk ended.
struct Place {
    at: i64,
    tenant: String,
    id: String,
}

impl Place {
    /// Ids hold no NUL, which therefore parts them.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.at.to_be_bytes().to_vec();
        bytes.extend_from_slice(self.tenant.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.id.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, ids) = bytes.split_first_chunk::<8>()?;
        let (tenant, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        Some(Self { at: i64::from_be_bytes(*at), tenant: tenant.to_owned(), id: id.to_owned() })
    }
}
