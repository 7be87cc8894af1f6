//! The sessions that a schedule started: found by their label, the newest first.

use std::num::NonZeroU32;

use holdover_core::ids::TenantId;
use holdover_core::store::{Labels, PAGE_ROWS_MAX, SessionQuery, SessionStatus, SessionSummary};
use holdover_runtime_local::{Runtime, RuntimeError};

use crate::name::ScheduleName;
use crate::schedules::SCHEDULE_LABEL;

/// The number of the newest sessions of a schedule that are looked at, so that a look costs the same however many there are.
const LOOKED_AT_MAX: usize = 1_000;
/// The most pages that are read for one look. A page may have few sessions, or none.
const PAGES_MAX: u32 = 64;

/// Returns the newest session of a schedule.
pub(crate) async fn newest(
    runtime: &Runtime,
    tenant: &TenantId,
    name: &ScheduleName,
) -> Result<Option<SessionSummary>, RuntimeError> {
    Ok(look(runtime, tenant, name, 1).await?.into_iter().next())
}

/// Returns those of the newest sessions of a schedule that work, wait for somebody, or are about to begin.
pub(crate) async fn working(
    runtime: &Runtime,
    tenant: &TenantId,
    name: &ScheduleName,
) -> Result<Vec<SessionSummary>, RuntimeError> {
    let works = |session: &SessionSummary| match session.status {
        SessionStatus::Active | SessionStatus::Suspended => true,
        // No run has claimed it.
        SessionStatus::Idle => session.unread > 0 && session.alarm.is_some(),
        SessionStatus::Interrupted | SessionStatus::Failed | SessionStatus::Aborted => false,
    };
    let newest = look(runtime, tenant, name, LOOKED_AT_MAX).await?;
    Ok(newest.into_iter().filter(works).collect())
}

/// Returns the newest sessions of a schedule, at most `most`.
async fn look(
    runtime: &Runtime,
    tenant: &TenantId,
    name: &ScheduleName,
    most: usize,
) -> Result<Vec<SessionSummary>, RuntimeError> {
    let mut query = SessionQuery::all(tenant.clone());
    query.labels = Labels::from_iter([(SCHEDULE_LABEL, name.as_str())]);
    let mut found = Vec::new();
    for _ in 0..PAGES_MAX {
        let missing = u32::try_from(most - found.len()).unwrap_or(PAGE_ROWS_MAX);
        query.page.limit = NonZeroU32::new(missing.min(PAGE_ROWS_MAX));
        let page = runtime.list(&query).await?;
        found.extend(page.items);
        query.page.after = page.next;
        if found.len() >= most || query.page.after.is_none() {
            break;
        }
    }
    found.truncate(most);
    Ok(found)
}
