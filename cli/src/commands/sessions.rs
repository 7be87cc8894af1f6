//! `sessions`: looking, changing nothing.

use std::num::NonZeroU32;

use futures::StreamExt;
use holdover_core::ids::SessionKey;
use holdover_core::step::RunOutcome;
use holdover_core::store::{
    EventCursor, Labels, PAGE_ROWS_MAX, PageRequest, RunRecord, Session, SessionQuery, SessionSummary,
    StateStore,
};
use holdover_runtime_local::Follow;
use serde_json::{Value, json};

use crate::args::{Common, Events, List, One, Sessions};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::owed::{self, Debt};
use crate::print::human::{self, Detail};
use crate::print::{clean, in_time, instant, note};
use crate::source::Blueprint;
use crate::store::IfMissing;
use crate::{print, standing};

/// Looks at sessions.
pub(crate) async fn sessions(common: &Common, what: &Sessions) -> Result<Exit, Failure> {
    let front = Front::open(common, None, IfMissing::Refuse).await?;
    match what {
        Sessions::List(args) => list(&front, args).await?,
        Sessions::Show(args) => show(&front, args).await?,
        Sessions::Messages(args) => messages(&front, args).await?,
        Sessions::Events(args) => events(&front, args).await?,
    }
    front.close().await;
    Ok(Exit::Completed)
}

async fn list(front: &Front, args: &List) -> Result<(), Failure> {
    let mut query =
        SessionQuery { status: args.status.clone(), ..SessionQuery::all(front.common.tenant.clone()) };
    if let Some(agent) = &args.agent {
        query.labels = Labels::from_iter([("agent", agent.clone())]);
    }
    let mut left = args.limit;
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
        front.out.object(&print::json::session(session));
        front.out.line(format!(
            "{:<id$}  {:<11}  {:<agent$}  {:>8}  {}",
            clean(session.key.id.as_str()),
            session.status.as_str(),
            clean(session.queue.as_str()),
            session.last_message.0,
            instant(session.updated_at),
        ));
    }
    Ok(())
}

async fn show(front: &Front, args: &One) -> Result<(), Failure> {
    let session = front.session(&args.session).await?;
    let now = front.runtime.now();
    let outcome = standing::outcome(&session, now)?;
    let debts = match &outcome {
        Some(RunOutcome::Suspended(suspension)) => owed::debts(front, &session.key, suspension).await?,
        Some(_) | None => Vec::new(),
    };
    let runs = runs(front, &session.key).await?;
    if front.common.json {
        front.out.object(&as_json(&session, outcome.as_ref(), &debts, &runs)?);
        return Ok(());
    }
    let row = |name: &str, value: &str| front.out.line(format!("{name:<9} {}", clean(value)));
    row("session", session.key.id.as_str());
    row("status", session.status.as_str());
    if let Some(outcome) = &outcome {
        row("outcome", &human::outcome(outcome));
    }
    row("agent", session.queue.as_str());
    match Blueprint::stored(&session.definition) {
        Ok(blueprint) => {
            row("model", &blueprint.recipe.model.to_string());
            row("root", &blueprint.recipe.root.display().to_string());
        }
        Err(why) => row("agent", &why),
    }
    row("created", &instant(session.created_at));
    row("updated", &instant(session.updated_at));
    if let Some(lease) = &session.lease {
        let ends = in_time(now, lease.ends);
        row("held by", &format!("{} until {} ({ends})", lease.worker, instant(lease.ends)));
    }
    if let Some(alarm) = session.alarm {
        row("due", &format!("{} ({})", instant(alarm), in_time(now, alarm)));
    }
    if let Some(interrupt) = &session.interrupt {
        row("stop", &format!("{} is asked for: {}", interrupt.kind.as_str(), interrupt.reason));
    }
    if let Some(machine) = standing::machine(&session)? {
        let usage = machine.usage;
        row("turns", &machine.turn.number.to_string());
        row(
            "usage",
            &format!(
                "{} model calls, {} tool calls, {} tokens in, {} out, {} µ$",
                usage.model_calls,
                usage.tool_calls,
                usage.tokens.input,
                usage.tokens.output,
                usage.cost_microusd
            ),
        );
    }
    row("messages", &session.last_message.to_string());
    row("unread", &session.unread.to_string());
    for run in &runs {
        let end = match &run.end {
            Some(end) => format!("{} at {}", end.outcome.as_str(), instant(end.at)),
            None => "open".to_owned(),
        };
        let begun = instant(run.started_at);
        row("run", &format!("{} of {}, found it {}, began {begun}: {end}", run.epoch, run.worker, run.found));
    }
    human::debts(&front.out, &debts, now);
    Ok(())
}

fn as_json(
    session: &Session,
    outcome: Option<&RunOutcome>,
    debts: &[Debt],
    runs: &[RunRecord],
) -> Result<Value, Failure> {
    let recipe = Blueprint::stored(&session.definition).ok().map(|blueprint| blueprint.recipe);
    let machine = standing::machine(session)?;
    let runs: Vec<Value> = runs
        .iter()
        .map(|run| {
            json!({
                "run": run.epoch, "worker": run.worker, "found": run.found, "started_at": run.started_at,
                "ended_at": run.end.as_ref().map(|end| end.at),
                "outcome": run.end.as_ref().map(|end| end.outcome.as_str()),
            })
        })
        .collect();
    Ok(json!({
        "session": session.key.id,
        "status": session.status,
        "outcome": outcome.map(|outcome| print::json::outcome(outcome, debts)),
        "agent": session.queue,
        "model": recipe.as_ref().map(|recipe| recipe.model.to_string()),
        "root": recipe.as_ref().map(|recipe| &recipe.root),
        "labels": session.labels,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "alarm": session.alarm,
        "lease": session.lease,
        "interrupt": session.interrupt,
        "turns": machine.as_ref().map(|machine| machine.turn.number),
        "usage": machine.as_ref().map(|machine| machine.usage),
        "messages": session.last_message,
        "unread": session.unread,
        "runs": runs,
    }))
}

async fn runs(front: &Front, key: &SessionKey) -> Result<Vec<RunRecord>, Failure> {
    let mut runs = Vec::new();
    let mut page = PageRequest::default();
    loop {
        let found = front.store.list_runs(key, page).await?;
        runs.extend(found.items);
        match found.next {
            Some(next) => page = PageRequest { after: Some(next), limit: None },
            None => return Ok(runs),
        }
    }
}

async fn messages(front: &Front, args: &One) -> Result<(), Failure> {
    let key = front.key(&args.session);
    for entry in front.runtime.messages(&key).await? {
        front.out.object(&print::json::message(&entry));
        human::message(&front.out, &entry.message, Detail::Whole, false);
    }
    Ok(())
}

async fn events(front: &Front, args: &Events) -> Result<(), Failure> {
    let key = front.key(&args.session);
    let follow = if args.follow { Follow::Forever } else { Follow::Available };
    let mut events = front.runtime.events(&key, args.after.unwrap_or(EventCursor::START), follow);
    loop {
        let entry = tokio::select! {
            entry = events.next() => entry,
            _ = tokio::signal::ctrl_c(), if args.follow => None,
        };
        let Some(entry) = entry.transpose()? else { return Ok(()) };
        if front.common.json {
            let message = front.message_of_event(&key, &entry.event).await?;
            front.out.object(&print::json::event(&entry, message.as_ref()));
        } else {
            let line = human::event(&entry.event);
            front.out.line(format!("{:>4}  {}  {line}", entry.seq.0, instant(entry.at)));
            front.out.line(front.out.dim(&format!("      {}", entry.cursor)));
        }
    }
}
