//! `sessions list`.

use std::num::NonZeroU32;

use holdover_core::store::{Labels, PAGE_ROWS_MAX, PageRequest, SessionQuery, SessionSummary, TimeRange};

use crate::args::{List, When};
use crate::exit::Failure;
use crate::front::Front;
use crate::print::{inline, instant, json, note};

/// What is asked for.
fn query(front: &Front, args: &List) -> Result<SessionQuery, Failure> {
    let mut labels = Labels::default();
    let agent = args.agent.iter().map(|name| (Labels::AGENT.to_owned(), name.clone()));
    for (name, value) in args.label.iter().cloned().chain(agent) {
        if let Some(other) = labels.0.insert(name.clone(), value.clone())
            && other != value
        {
            let why = format!("no session has both {name}={other} and {name}={value}");
            return Err(Failure::wrong_use(format!("--label: {why}")));
        }
    }
    let now = front.runtime.now();
    let range = |of: &str, since: Option<When>, before: Option<When>| {
        let [since, before] = [since, before].map(|when| when.map(|when| when.instant(now)));
        match (since, before) {
            (Some(begin), Some(end)) if end <= begin => Err(Failure::wrong_use(format!(
                "--{of}-before: nothing lies before it and after --{of}-since"
            ))),
            (_, _) => Ok(TimeRange { since, before }),
        }
    };
    Ok(SessionQuery {
        status: args.status.clone(),
        labels,
        created: range("created", args.created_since, args.created_before)?,
        changed: range("changed", args.changed_since, args.changed_before)?,
        ..SessionQuery::all(front.common.tenant.clone())
    })
}

/// Lists sessions.
pub(super) async fn list(front: &Front, args: &List) -> Result<(), Failure> {
    let mut query = query(front, args)?;
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
