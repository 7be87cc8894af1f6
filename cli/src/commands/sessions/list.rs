//! `sessions list`: lists sessions, newest first.

use std::num::NonZeroU32;

use futures::{StreamExt, TryStreamExt, stream};
use holdover_core::phrases;
use holdover_core::store::{
    Labels, PAGE_ROWS_MAX, PageCursor, PageRequest, PendingCall, PendingKind, PendingQuery, SessionQuery,
    SessionStatus, SessionSummary, StoreError, TimeRange,
};
use holdover_runtime_local::agent_label;
use serde_json::json as object;

use crate::args::{LIST_LIMIT, List, When};
use crate::exit::Failure;
use crate::front::Front;
use crate::owed::command;
use crate::pages::each_of;
use crate::print::{inline, instant, json, note, shell};

/// The number of sessions whose pending calls are read in parallel.
const ASKED_AT_ONCE: usize = 16;

/// Builds the query from the command line. Fails if no session can match the arguments, or if the cursor is for another
/// query.
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
            (Some(begin), Some(end)) if end <= begin => {
                Err(Failure::wrong_use(format!("--{of}-before: it is not later than --{of}-since")))
            }
            (_, _) => Ok(TimeRange { since, before }),
        }
    };
    let query = SessionQuery {
        status: args.status.clone(),
        labels,
        created: range("created", args.created_since, args.created_before)?,
        changed: range("changed", args.changed_since, args.changed_before)?,
        ..SessionQuery::all(front.common.tenant.clone())
    };
    if let Some(after) = &args.after
        && let Err(why) = after.position_in(query.digest())
    {
        let how = "use it with the same filters, and with instants instead of ages such as 2h";
        return Err(Failure::wrong_use(format!("--after: {why}: {how}")));
    }
    let page = PageRequest { after: args.after.clone(), limit: None };
    Ok(SessionQuery { page, ..query })
}

/// Returns the command that continues where a list ended. It contains absolute times, so it selects the same sessions
/// later.
fn on_from(front: &Front, args: &List, query: &SessionQuery, next: &PageCursor) -> String {
    let mut words = command(front, &["sessions", "list"]);
    let mut say = |flag: &str, value: String| words.push(format!("--{flag}={value}"));
    args.status.iter().for_each(|status| say("status", status.as_str().to_owned()));
    query.labels.0.iter().for_each(|(name, value)| say("label", format!("{name}={value}")));
    for (flag, at) in [
        ("created-since", query.created.since),
        ("created-before", query.created.before),
        ("changed-since", query.changed.since),
        ("changed-before", query.changed.before),
    ] {
        at.into_iter().for_each(|at| say(flag, When::At(at).to_string()));
    }
    if args.limit.get() != LIST_LIMIT {
        say("limit", args.limit.to_string());
    }
    say("after", next.to_string());
    shell(&words)
}

/// Lists the sessions that match the arguments.
pub(super) async fn list(front: &Front, args: &List) -> Result<(), Failure> {
    let mut query = query(front, args)?;
    let mut left = args.limit.get();
    let mut found: Vec<SessionSummary> = Vec::new();
    let mut more = None;
    while left > 0 {
        let rows = u32::try_from(left).unwrap_or(u32::MAX).min(PAGE_ROWS_MAX);
        query.page.limit = NonZeroU32::new(rows);
        let page = front.store.list_sessions(&query).await?;
        left = left.saturating_sub(page.items.len());
        found.extend(page.items);
        more = page.next;
        match &more {
            Some(next) => query.page.after = Some(next.clone()),
            None => break,
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
    let agent = width(&|session| called(session).chars().count(), "AGENT".len());
    let statuses =
        if front.out.json() { vec![String::new(); found.len()] } else { statuses(front, &found).await? };
    let status = statuses.iter().map(String::len).max().unwrap_or_default().max("STATUS".len());
    let head =
        format!("{:<id$}  {:<status$}  {:<agent$}  {:>8}  UPDATED", "SESSION", "STATUS", "AGENT", "MESSAGES");
    front.out.line(front.out.dim(&head));
    for (session, is) in found.iter().zip(&statuses) {
        front.out.object(&json::session(session));
        front.out.line(format!(
            "{:<id$}  {is:<status$}  {:<agent$}  {:>8}  {}",
            inline(session.key.id.as_str()),
            inline(&called(session)),
            session.last_message.0,
            instant(session.updated_at),
        ));
    }
    if let Some(next) = more {
        if !front.out.json() {
            note(&format!("there may be more sessions: {}", on_from(front, args, &query, &next)));
        }
        front.out.object(&object!({ "next": next }));
    }
    Ok(())
}

/// Returns the statuses of these sessions in words, in the same order. For a suspended session, also says what it waits
/// for. For a failed one, says if it has a dead letter.
async fn statuses(front: &Front, found: &[SessionSummary]) -> Result<Vec<String>, StoreError> {
    let status = async |session: &SessionSummary| match session.status {
        SessionStatus::Suspended => waits(front, session).await,
        SessionStatus::Failed if has_letter(front, session).await? => {
            Ok(format!("{} (dead letter)", phrases::status(session.status)))
        }
        SessionStatus::Failed
        | SessionStatus::Idle
        | SessionStatus::Active
        | SessionStatus::Interrupted
        | SessionStatus::Aborted => Ok(phrases::status(session.status).to_owned()),
    };
    stream::iter(found).map(status).buffered(ASKED_AT_ONCE).try_collect().await
}

/// Returns true if the session has an open dead letter.
async fn has_letter(front: &Front, session: &SessionSummary) -> Result<bool, StoreError> {
    let key = session.key.clone();
    let kind = Some(PendingKind::DeadLetter);
    let query = PendingQuery { session: Some(key.id), kind, ..PendingQuery::all(key.tenant) };
    Ok(!front.store.list_pending(&query).await?.items.is_empty())
}

/// Describes the answer or time that a suspended session waits for.
async fn waits(front: &Front, session: &SessionSummary) -> Result<String, StoreError> {
    if session.alarm.is_some_and(|at| at <= front.runtime.now()) {
        return Ok(phrases::suspended(&[], None));
    }
    let key = session.key.clone();
    let all = PendingQuery { session: Some(key.id), ..PendingQuery::all(key.tenant) };
    let ask = async |page| front.store.list_pending(&PendingQuery { page, ..all.clone() }).await;
    let (mut approvals, mut answers, mut children, mut newer) = (0, 0, 0, None);
    let count = |call: PendingCall| match call.kind {
        PendingKind::Approval => approvals += 1,
        PendingKind::ClientTool => answers += 1,
        PendingKind::Child => children += 1,
        // No turn waits for a call in doubt to be settled.
        PendingKind::InDoubt => {}
        kind @ (PendingKind::DeadLetter | PendingKind::Other(_)) => newer = Some(kind),
    };
    each_of(ask, count).await?;
    Ok(match &newer {
        Some(kind) if approvals + answers + children == 0 => format!("waits for {}", phrases::pending(kind)),
        Some(_) | None => phrases::waits_for(approvals, answers, children, session.alarm),
    })
}

/// Returns the label of the session's agent.
fn called(session: &SessionSummary) -> String {
    agent_label(&session.queue, &session.labels)
}
