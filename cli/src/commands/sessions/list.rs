//! `sessions list`.

use std::num::NonZeroU32;

use holdover_core::store::{Labels, PAGE_ROWS_MAX, PageRequest, SessionQuery, SessionSummary};

use crate::args::List;
use crate::exit::Failure;
use crate::front::Front;
use crate::print::{inline, instant, json, note};

/// Lists sessions.
pub(super) async fn list(front: &Front, args: &List) -> Result<(), Failure> {
    let mut query =
        SessionQuery { status: args.status.clone(), ..SessionQuery::all(front.common.tenant.clone()) };
    if let Some(agent) = &args.agent {
        query.labels = Labels::from_iter([("agent", agent.clone())]);
    }
    let mut left = args.limit.get();
    let mut found: Vec<SessionSummary> = Vec::new();
    while left > 0 {
        let rows = u32::try_from(left).unwrap_or(u32::MAX).min(PAGE_ROWS_MAX);
        query.page.limit = NonZeroU32::new(rows);
        let page = front.store.list_sessions(&query).await?;
        left = left.saturating_sub(page.items.len());
        found.extend(page.items);
        match page.next {
            Some(next) => query.page = PageRequest { after: Some(next), limit: None },
            None => break,
        }
        if left == 0 {
            note(&format!("there are more sessions: --limit shows more than {}", args.limit));
        }
    }
    if found.is_empty() {
        front.out.line(front.out.dim("no sessions"));
        return Ok(());
    }
    let width = |of: &dyn Fn(&SessionSummary) -> usize, least: usize| {
        found.iter().map(of).max().unwrap_or_default().max(least)
    };
    let id = width(&|session| session.key.id.as_str().chars().count(), "SESSION".len());
    let agent = width(&|session| session.queue.as_str().chars().count(), "AGENT".len());
    let head =
        format!("{:<id$}  {:<11}  {:<agent$}  {:>8}  UPDATED", "SESSION", "STATUS", "AGENT", "MESSAGES");
    front.out.line(front.out.dim(&head));
    for session in &found {
        front.out.object(&json::session(session));
        front.out.line(format!(
            "{:<id$}  {:<11}  {:<agent$}  {:>8}  {}",
            inline(session.key.id.as_str()),
            session.status.as_str(),
            inline(session.queue.as_str()),
            session.last_message.0,
            instant(session.updated_at),
        ));
    }
    Ok(())
}
