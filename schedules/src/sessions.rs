//! The sessions that a schedule started: found by their label, the newest first.

use std::num::NonZeroU32;

use holdover_core::ids::TenantId;
use holdover_core::store::{
    Labels, PAGE_ROWS_MAX, PageRequest, SessionQuery, SessionStatus, SessionSummary, TimeRange,
};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{Runtime, RuntimeError};

use crate::name::ScheduleName;
use crate::schedules::SCHEDULE_LABEL;

/// The most pages that are read for one look. A page may have few sessions, or none.
const PAGES_MAX: u32 = 64;
/// The time before which a look begins, because a session that appears later may be created a little earlier.
const MARGIN_MS: i64 = 60_000;

/// The sessions of a schedule that work.
#[derive(Debug, Default)]
pub(crate) struct Working {
    /// Those that work, wait for somebody, or are about to begin.
    pub(crate) sessions: Vec<SessionSummary>,
    /// The instant at which the oldest of them was created or, if none works, the newest session of the schedule. No
    /// look needs to go further back.
    pub(crate) since: Option<Timestamp>,
}

impl Working {
    /// Looks for the sessions that were created at `since` or later. If none is given, looks at all, at most
    /// [`PAGES_MAX`] pages of them.
    pub(crate) async fn look(
        runtime: &Runtime,
        tenant: &TenantId,
        name: &ScheduleName,
        since: Option<Timestamp>,
    ) -> Result<Self, RuntimeError> {
        let mut query = of_schedule(tenant, name, PAGE_ROWS_MAX);
        let since_then = since.map(|since| Timestamp::from_ms(since.as_ms().saturating_sub(MARGIN_MS)));
        query.created = since_then.map_or(TimeRange::ALWAYS, TimeRange::since);
        let mut found = Self { sessions: Vec::new(), since };
        let mut newest = None;
        for _ in 0..PAGES_MAX {
            let page = runtime.list(&query).await?;
            newest = newest.or(page.items.first().map(|session| session.created_at));
            found.sessions.extend(page.items.into_iter().filter(works));
            query.page.after = page.next;
            if query.page.after.is_none() {
                break;
            }
        }
        if query.page.after.is_some() {
            return Ok(found);
        }
        found.since = found.sessions.last().map(|oldest| oldest.created_at).or(newest).or(since);
        Ok(found)
    }
}

fn works(session: &SessionSummary) -> bool {
    match session.status {
        SessionStatus::Active | SessionStatus::Suspended => true,
        // No run has claimed it.
        SessionStatus::Idle => session.unread > 0 && session.alarm.is_some(),
        SessionStatus::Interrupted | SessionStatus::Failed | SessionStatus::Aborted => false,
    }
}

/// Returns the newest session of a schedule.
pub(crate) async fn newest(
    runtime: &Runtime,
    tenant: &TenantId,
    name: &ScheduleName,
) -> Result<Option<SessionSummary>, RuntimeError> {
    let mut query = of_schedule(tenant, name, 1);
    for _ in 0..PAGES_MAX {
        let page = runtime.list(&query).await?;
        query.page.after = page.next;
        let newest = page.items.into_iter().next();
        if newest.is_some() || query.page.after.is_none() {
            return Ok(newest);
        }
    }
    Ok(None)
}

fn of_schedule(tenant: &TenantId, name: &ScheduleName, most: u32) -> SessionQuery {
    let labels = Labels::from_iter([(SCHEDULE_LABEL, name.as_str())]);
    let page = PageRequest { limit: NonZeroU32::new(most), after: None };
    SessionQuery { labels, page, ..SessionQuery::all(tenant.clone()) }
}
