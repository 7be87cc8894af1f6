//! `sessions show`: shows the state of a session.

use futures::StreamExt;
use holdover_core::engine::{RunKind, RunOutcome};
use holdover_core::ids::MessageSeq;
use holdover_core::machine::Glance;
use holdover_core::machine::glance::{CallCounts, Interaction};
use holdover_core::message::{Message, SettlementRecord};
use holdover_core::phrases;
use holdover_core::store::{RunRecord, Session};
use holdover_runtime_local::{RunReport, agent_label, glance_of, machine_of, only_looks, outcome_of};
use serde_json::{Value, json};

use super::runs::all_runs;
use super::steps::{self, Step};
use super::unreadable;
use crate::args::Show;
use crate::commands::skills;
use crate::exit::Failure;
use crate::front::Front;
#[cfg(not(feature = "schedules"))]
use crate::left_out::schedules::is_schedule;
use crate::owed::{self, Debt};
use crate::print::{counted, debts, human, in_time, inline, instant, json as print, note, usage};
#[cfg(feature = "schedules")]
use crate::schedules::is_schedule;
use crate::signals::Signals;
use crate::source::{Blueprint, Maker};

/// The number of runs shown. `sessions runs` shows all.
const RUNS_SHOWN: usize = 5;

/// The number of the newest messages among which settlements and the steps of a flow are looked for. `sessions messages` shows
/// all.
const NEWEST: u32 = 200;

/// Shows the state of one session, and the answers that it waits for.
pub(super) async fn show(front: &Front, args: &Show) -> Result<(), Failure> {
    if args.follow {
        return follow(front, args).await;
    }
    let session = front.session(&args.session).await?;
    let now = front.runtime.now();
    let letters = owed::letters(front, &session).await?;
    let outcome = match outcome_of(&session, now) {
        Ok(outcome) => outcome,
        Err(error) => return unreadable::show(front, &session, error, &letters),
    };
    let debts = match &outcome {
        Some(RunOutcome::Suspended(suspension)) => owed::debts(front, &session.key, suspension).await?,
        Some(_) | None => Vec::new(),
    };
    let output = match &outcome {
        Some(outcome) => front.runtime.output_of(&session.key, outcome).await?,
        None => None,
    };
    let doubts = owed::doubts(front, &session.key).await?;
    let newest = newest(front, &session).await;
    let settled = settlements(&newest);
    let steps = steps::of(&newest, machine_of(&session)?.as_ref());
    let runs = all_runs(front, &session.key).await?;
    let held = front.runtime.held_signals(&session.key).await?;
    if front.common.json {
        let mut shown = as_json(&session, outcome.as_ref(), output.as_ref(), &debts, &runs)?;
        shown["in_doubt"] = doubts.iter().map(print::debt).collect();
        shown["settled"] = settled.iter().map(|(record, _)| json!(record)).collect();
        shown["dead_letters"] = letters.iter().map(print::debt).collect();
        if !held.is_empty() {
            shown["signals"] = json!(held);
        }
        if !steps.is_empty() {
            shown["steps"] = steps.iter().map(Step::as_json).collect();
        }
        front.out.object(&shown);
        return Ok(());
    }
    let row = |name: &str, value: &str| front.out.line(format!("{name:<9} {}", inline(value)));
    row("session", session.key.id.as_str());
    row("status", phrases::status(session.status));
    let glance = glance_of(&session)?;
    row("state", &state(&glance));
    let takes: Vec<&str> = glance.takes().iter().map(|input| input.as_str()).collect();
    row("takes", &takes.join(", "));
    if let Some(outcome) = &outcome {
        row("outcome", &human::outcome(outcome));
    }
    if let Some(output) = &output {
        row("output", &output.to_string());
    }
    row("agent", &agent_label(&session.queue, &session.labels));
    match Blueprint::stored(&session.definition) {
        Ok(blueprint) => {
            row("model", &blueprint.model().to_string());
            row("root", &blueprint.recipe.root.display().to_string());
            for pin in &blueprint.recipe.skills {
                row("skills", &skills::source(pin));
            }
        }
        Err(_) if is_schedule(&session.definition) => row("", "it runs a schedule (holdover schedules list)"),
        Err(why) => row("", &Maker::of(&session).elsewhere().unwrap_or(why)),
    }
    row("created", &instant(session.created_at));
    row("updated", &instant(session.updated_at));
    if let Some(lease) = &session.lease {
        let ends = in_time(now, lease.ends);
        row("held by", &format!("{} until {} ({ends})", lease.worker, instant(lease.ends)));
    }
    if let Some(alarm) = session.alarm {
        let is_look = only_looks(&session);
        row(
            if is_look { "next look" } else { "due" },
            &format!("{} ({})", instant(alarm), in_time(now, alarm)),
        );
    }
    if let Some(interrupt) = &session.interrupt {
        row("stop", &format!("{} is asked for: {}", interrupt.kind.as_str(), interrupt.reason));
    }
    if let Some(machine) = machine_of(&session)? {
        row("turns", &machine.turn.number.to_string());
        if let Some(mode) = machine.mode {
            row("mode", mode.as_str());
        }
        if let Some(state) = &machine.procedure {
            row("procedure", state.as_str());
        }
        row("usage", &usage::in_words(&machine.usage));
        if !machine.custom.is_empty() {
            row("custom", &machine.custom.to_value().to_string());
        }
        let always: Vec<String> = machine.always.iter().map(ToString::to_string).collect();
        if !always.is_empty() {
            row("approved", &format!("{}, for the rest of the session", always.join(", ")));
        }
    }
    row("messages", &session.last_message.to_string());
    row("unread", &session.unread.to_string());
    if !held.is_empty() {
        let names: Vec<&str> = held.iter().map(|signal| signal.name.as_str()).collect();
        row("signals", &format!("{} held: {}", held.len(), names.join(", ")));
    }
    for step in &steps {
        row("step", &step.line());
    }
    if runs.len() > RUNS_SHOWN {
        row("runs", &format!("{}, the last are shown; all of them: holdover sessions runs", runs.len()));
    }
    for (run, report) in runs.iter().skip(runs.len().saturating_sub(RUNS_SHOWN)) {
        let end = match &run.end {
            Some(end) => format!("{} at {}", phrases::outcome(end.outcome), instant(end.at)),
            None => "open".to_owned(),
        };
        let begun = instant(run.started_at);
        let (kind, used) = (report.kind.as_str(), usage::of_run(report));
        let line = format!("{} ({kind}) of {}, began {begun}: {end}; {used}", run.epoch, run.worker);
        row("run", &line);
    }
    for (_, text) in &settled {
        row("settled", text);
    }
    debts::all(&front.out, &session.key.id, &debts, now);
    debts::all(&front.out, &session.key.id, &doubts, now);
    debts::all(&front.out, &session.key.id, &letters, now);
    Ok(())
}

/// Returns the newest messages.
async fn newest(front: &Front, session: &Session) -> Vec<Message> {
    if session.last_message == MessageSeq(0) {
        return Vec::new();
    }
    match front.runtime.snapshot(&session.key, NEWEST).await {
        Ok(found) => found.messages.into_iter().map(|entry| entry.message).collect(),
        // The rest is shown all the same.
        Err(error) => {
            note(&format!("messages cannot be read: {error}"));
            Vec::new()
        }
    }
}

/// Returns the settlements of calls in doubt, with the texts that the model sees.
fn settlements(newest: &[Message]) -> Vec<(SettlementRecord, String)> {
    let settled = newest.iter().filter_map(|message| match message {
        Message::Notice(notice) => {
            notice.settled.as_deref().map(|record| (record.clone(), notice.text.clone()))
        }
        Message::User(_)
        | Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Summary(_) => None,
    });
    settled.collect()
}

/// Prints a short view of the machine, and prints it again after each change. Ends when the session rests, the reader
/// of the output is gone, or a signal comes.
async fn follow(front: &Front, args: &Show) -> Result<(), Failure> {
    let session = front.session(&args.session).await?;
    let mut signals = Signals::listen()?;
    let mut glances = front.runtime.glances(&session.key);
    loop {
        tokio::select! {
            glance = glances.next() => match glance {
                Some(glance) => {
                    let glance = glance?;
                    front.out.object(&print::glance(&glance));
                    front.out.line(inline(&state(&glance)));
                }
                None => return Ok(()),
            },
            () = front.out.reader_left() => return Ok(()),
            _ = signals.next() => return Ok(()),
        }
    }
}

/// Describes the current state of a session's machine, in a few words.
fn state(glance: &Glance) -> String {
    let mut words = vec![format!("{} ({})", glance.state.as_str(), glance.classic.as_str())];
    if glance.turn.0 > 0 {
        let most = glance.max_steps.map(|most| format!(" of at most {most}")).unwrap_or_default();
        words.push(format!("turn {}, {}{most}", glance.turn, counted(glance.steps, "step")));
    }
    words.push(format!("inference {}", glance.inference.as_str()));
    match glance.interaction {
        Interaction::Nothing => {}
        Interaction::Handoff
        | Interaction::UserMessageInitial
        | Interaction::UserMessageReply
        | Interaction::UserToolApproval
        | Interaction::ToolRunning => words.push(glance.interaction.as_str().to_owned()),
        // Every variant of this version is named above; the lint finds missing ones.
        _ => words.push(glance.interaction.as_str().to_owned()),
    }
    let CallCounts { running, blocked, waiting } = glance.calls;
    if running + blocked + waiting > 0 {
        words.push(format!("calls: {running} run, {blocked} blocked, {waiting} wait for their time"));
    }
    words.extend(glance.error.as_ref().map(ToString::to_string));
    words.join("; ")
}

fn as_json(
    session: &Session,
    outcome: Option<&RunOutcome>,
    output: Option<&Value>,
    debts: &[Debt],
    runs: &[(RunRecord, RunReport)],
) -> Result<Value, Failure> {
    let blueprint = Blueprint::stored(&session.definition).ok();
    let machine = machine_of(session)?;
    let resumes = runs.iter().filter(|(_, report)| report.kind == RunKind::Resume).count();
    let runs: Vec<Value> = runs.iter().map(|(run, report)| print::run(run, report)).collect();
    Ok(json!({
        "session": session.key.id,
        "status": session.status,
        "outcome": outcome.map(|outcome| print::outcome(outcome, output, debts)),
        "agent": agent_label(&session.queue, &session.labels),
        "queue": session.queue,
        "model": blueprint.as_ref().map(|blueprint| blueprint.model().to_string()),
        "root": blueprint.as_ref().map(|blueprint| &blueprint.recipe.root),
        "skills": blueprint.as_ref().map(|blueprint| {
            blueprint.recipe.skills.iter().map(skills::source_as_json).collect::<Vec<Value>>()
        }),
        "labels": session.labels,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "alarm": session.alarm,
        "lease": session.lease,
        "interrupt": session.interrupt,
        "state": print::glance(&glance_of(session)?),
        "machine": machine,
        "resumes": resumes,
        "turns": machine.as_ref().map(|machine| machine.turn.number),
        "always": machine.as_ref().map(|machine| &machine.always),
        "procedure": machine.as_ref().and_then(|machine| machine.procedure.as_ref()),
        "custom": machine.as_ref().map(|machine| &machine.custom),
        "usage": machine.as_ref().map(|machine| machine.usage),
        "turn_usage": machine.as_ref().and_then(|machine| machine.used_in_turn()),
        "messages": session.last_message,
        "unread": session.unread,
        "runs": runs,
    }))
}
