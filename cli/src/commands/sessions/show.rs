//! `sessions show`.

use holdover_core::step::RunOutcome;
use holdover_core::store::{RunRecord, Session};
use holdover_runtime_local::{machine_of, outcome_of};
use serde_json::{Value, json};

use super::runs::all_runs;
use crate::args::One;
use crate::exit::Failure;
use crate::front::Front;
use crate::owed::{self, Debt};
use crate::print::{human, in_time, inline, instant, json as print};
use crate::source::Blueprint;

/// How many runs are shown: `sessions runs` shows all.
const RUNS_SHOWN: usize = 5;

/// Shows how one session stands, and what it waits for.
pub(super) async fn show(front: &Front, args: &One) -> Result<(), Failure> {
    let session = front.session(&args.session).await?;
    let now = front.runtime.now();
    let outcome = outcome_of(&session, now)?;
    let debts = match &outcome {
        Some(RunOutcome::Suspended(suspension)) => owed::debts(front, &session.key, suspension).await?,
        Some(_) | None => Vec::new(),
    };
    let output = match &outcome {
        Some(outcome) => front.runtime.output_of(&session.key, outcome).await?,
        None => None,
    };
    let runs = all_runs(front, &session.key).await?;
    if front.common.json {
        front.out.object(&as_json(&session, outcome.as_ref(), output.as_ref(), &debts, &runs)?);
        return Ok(());
    }
    let row = |name: &str, value: &str| front.out.line(format!("{name:<9} {}", inline(value)));
    row("session", session.key.id.as_str());
    row("status", session.status.as_str());
    if let Some(outcome) = &outcome {
        row("outcome", &human::outcome(outcome));
    }
    if let Some(output) = &output {
        row("output", &output.to_string());
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
    if let Some(machine) = machine_of(&session)? {
        let usage = machine.usage;
        row("turns", &machine.turn.number.to_string());
        if let Some(mode) = machine.mode {
            row("mode", mode.as_str());
        }
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
        let always: Vec<String> = machine.always.iter().map(ToString::to_string).collect();
        if !always.is_empty() {
            row("approved", &format!("{}, for the rest of the session", always.join(", ")));
        }
    }
    row("messages", &session.last_message.to_string());
    row("unread", &session.unread.to_string());
    if runs.len() > RUNS_SHOWN {
        row("runs", &format!("{}, the last are shown; all of them: holdover sessions runs", runs.len()));
    }
    for run in runs.iter().skip(runs.len().saturating_sub(RUNS_SHOWN)) {
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
    output: Option<&Value>,
    debts: &[Debt],
    runs: &[RunRecord],
) -> Result<Value, Failure> {
    let recipe = Blueprint::stored(&session.definition).ok().map(|blueprint| blueprint.recipe);
    let machine = machine_of(session)?;
    let runs: Vec<Value> = runs.iter().map(print::run).collect();
    Ok(json!({
        "session": session.key.id,
        "status": session.status,
        "outcome": outcome.map(|outcome| print::outcome(outcome, output, debts)),
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
        "always": machine.as_ref().map(|machine| &machine.always),
        "usage": machine.as_ref().map(|machine| machine.usage),
        "messages": session.last_message,
        "unread": session.unread,
        "runs": runs,
    }))
}
