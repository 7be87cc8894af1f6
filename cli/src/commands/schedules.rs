//! `schedules`: adds, lists, changes and removes schedules.

use std::path::{Path, PathBuf};

use holdover_core::store::Labels;
use holdover_schedules::{
    Added, CatchUp, Entry, Outcome, Schedule, ScheduleError, ScheduleName, Target, Times,
};
use serde_json::{Value, json};

use super::run::agent_of;
use crate::agent_file::Instead;
use crate::args::{AddSchedule, Common, Schedules, Trigger};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::input::message_of;
use crate::print::{in_time, inline, instant, note};
use crate::store::IfMissing;

/// Runs one of the `schedules` commands.
pub(crate) async fn schedules(common: &Common, what: &Schedules) -> Result<Exit, Failure> {
    if let Schedules::Add(args) = what {
        return add(common, args).await;
    }
    let if_missing = match what {
        Schedules::List | Schedules::Show(_) => IfMissing::AsItIs,
        Schedules::Add(_)
        | Schedules::Pause(_)
        | Schedules::Resume(_)
        | Schedules::Remove(_)
        | Schedules::Trigger(_) => IfMissing::Refuse,
    };
    let front = Front::open(common, None, if_missing).await?;
    let (all, tenant) = (&front.schedules.0, front.tenant());
    let exit = match what {
        Schedules::Add(_) => Exit::Completed,
        Schedules::List => list(&front).await?,
        Schedules::Show(args) => {
            show(&front, &existing(&front, &args.name).await?);
            Exit::Completed
        }
        Schedules::Pause(args) => {
            let changed = all.pause(tenant, &args.name).await.map_err(failure)?;
            changed_to(&front, &args.name, "paused", changed).await?
        }
        Schedules::Resume(args) => {
            let changed = all.resume(tenant, &args.name).await.map_err(failure)?;
            changed_to(&front, &args.name, "resumed", changed).await?
        }
        Schedules::Remove(args) => {
            all.remove(tenant, &args.name).await.map_err(failure)?;
            front.out.line(format!("schedule {}: removed", args.name));
            front.out.object(&json!({ "schedule": args.name, "removed": true }));
            Exit::Completed
        }
        Schedules::Trigger(args) => trigger(&front, args).await?,
    };
    front.close().await;
    Ok(exit)
}

fn failure(error: ScheduleError) -> Failure {
    match error {
        ScheduleError::Invalid(why) => Failure::wrong_use(why.to_string()),
        ScheduleError::Runtime(error) => error.into(),
        ScheduleError::Exists { .. }
        | ScheduleError::NotFound { .. }
        | ScheduleError::Unreadable { .. }
        | ScheduleError::NotStarted { .. }
        | ScheduleError::Contended { .. } => Failure::failed(error.to_string()),
        // Every error of this version is named above; the lint finds missing ones.
        _ => Failure::failed(error.to_string()),
    }
}

async fn add(common: &Common, args: &AddSchedule) -> Result<Exit, Failure> {
    let times = match (&args.cron, args.every) {
        (Some(line), _) => Times::cron(line, &args.zone),
        (None, Some(every)) => Times::every(every),
        (None, None) => return Err(Failure::wrong_use("--cron or --every is missing")),
    };
    let times = times.map_err(|why| Failure::wrong_use(why.to_string()))?;
    let message = message_of(args.prompt.as_deref())?;
    let target = match (&args.agent, &args.to) {
        (Some(file), _) => target_of(file, args.root.clone(), message, &args.label).await?,
        (None, Some(session)) => Target::session(session.clone(), message),
        (None, None) => return Err(Failure::wrong_use("--agent or --to is missing")),
    };
    let if_missing = if args.to.is_some() { IfMissing::Refuse } else { IfMissing::Create };
    let front = Front::open(common, None, if_missing).await?;
    if let Some(session) = &args.to {
        front.session(session).await?;
    }
    let schedule = Schedule::new(times, target)
        .jitter(args.jitter)
        .overlap(args.overlap.into())
        .catch_up(args.catch_up.0);
    let added = front.schedules.0.add(front.tenant(), &args.name, &schedule).await.map_err(failure)?;
    let entry = existing(&front, &args.name).await?;
    let (word, what) = match added {
        Added::Created => ("created", "added"),
        Added::Duplicate => ("duplicate", "it was added before, and nothing was changed"),
    };
    front.out.line(format!("schedule {}: {what}; {}", args.name, next(&front, &entry)));
    let mut object = as_json(&entry);
    object["added"] = json!(word);
    front.out.object(&object);
    front.close().await;
    Ok(Exit::Completed)
}

async fn target_of(
    file: &Path,
    root: Option<PathBuf>,
    message: String,
    label: &[(String, String)],
) -> Result<Target, Failure> {
    let agent = agent_of(file, Instead { root, ..Instead::default() }).await?;
    Ok(Target::agent(&agent, message).labelled(Labels::from_iter(label.to_vec())))
}

async fn existing(front: &Front, name: &ScheduleName) -> Result<Entry, Failure> {
    let found = front.schedules.0.get(front.tenant(), name).await.map_err(failure)?;
    found.ok_or_else(|| failure(ScheduleError::NotFound { name: name.clone() }))
}

async fn changed_to(front: &Front, name: &ScheduleName, word: &str, changed: bool) -> Result<Exit, Failure> {
    let entry = existing(front, name).await?;
    let what =
        if changed { word.to_owned() } else { format!("{}; nothing was changed", entry.standing.as_str()) };
    front.out.line(format!("schedule {name}: {what}; {}", next(front, &entry)));
    let mut object = as_json(&entry);
    object["changed"] = json!(changed);
    front.out.object(&object);
    Ok(Exit::Completed)
}

async fn trigger(front: &Front, args: &Trigger) -> Result<Exit, Failure> {
    let Trigger { name, key } = args;
    let session = front.schedules.0.trigger(front.tenant(), name, key.clone()).await.map_err(failure)?;
    front.out.line(format!("schedule {name}: started session {}; holdover work runs it", session.id));
    front.out.object(&json!({ "schedule": name, "session": session.id }));
    Ok(Exit::Completed)
}

async fn list(front: &Front) -> Result<Exit, Failure> {
    let mut exit = Exit::Completed;
    let entries = front.schedules.0.list(front.tenant()).await.map_err(failure)?;
    if entries.is_empty() {
        front.out.line(front.out.dim("no schedules"));
    }
    for entry in entries {
        match entry {
            Ok(entry) => {
                let last = match &entry.last_start {
                    Some(last) => format!("last {}", instant(last.at)),
                    None => "never started".to_owned(),
                };
                let (name, standing, times) = (&entry.name, entry.standing.as_str(), times(&entry.times));
                front
                    .out
                    .line(inline(&format!("{name} {standing}: {times}; {}; {last}", next(front, &entry))));
                front.out.object(&as_json(&entry));
            }
            Err(error) => {
                note(&error.to_string());
                exit = Exit::Failed;
            }
        }
    }
    Ok(exit)
}

fn show(front: &Front, entry: &Entry) {
    front.out.object(&as_json(entry));
    let row = |name: &str, value: &str| front.out.line(format!("{name:<9} {}", inline(value)));
    row("schedule", entry.name.as_str());
    row("standing", entry.standing.as_str());
    row("times", &times(&entry.times));
    if entry.jitter_ms > 0 {
        let jitter = std::time::Duration::from_millis(entry.jitter_ms);
        row("jitter", &humantime::format_duration(jitter).to_string());
    }
    row("overlap", entry.overlap.as_str());
    row("catch-up", &catch_up(entry.catch_up));
    row("next", &next(front, entry));
    if let Some(waits) = entry.waits {
        row("waits", &format!("{} for the end of the earlier session", instant(waits)));
    }
    if let Some(last) = &entry.last {
        let outcome = match &last.outcome {
            Outcome::Started { session } => format!("started session {session}"),
            Outcome::Busy => "left out: the earlier session still worked".to_owned(),
            Outcome::Failed { why } => format!("failed: {why}"),
            _ => "unknown".to_owned(),
        };
        row("last", &format!("{}: {outcome}", instant(last.instant)));
    }
    if let Some(last) = &entry.last_start {
        let status = holdover_core::phrases::status(last.status);
        row("newest", &format!("session {} of {}: {status}", last.session, instant(last.at)));
    }
    let counts = entry.counts;
    row(
        "instants",
        &format!("{} started, {} left out, {} failed", counts.started, counts.left_out, counts.failed),
    );
    row("session", entry.session.id.as_str());
}

fn next(front: &Front, entry: &Entry) -> String {
    match entry.next_due.or(entry.next) {
        Some(at) => format!("next {} ({})", instant(at), in_time(front.runtime.now(), at)),
        None => "no next instant".to_owned(),
    }
}

fn times(times: &Times) -> String {
    match times {
        Times::Cron { line, zone } => format!("{line} {zone}"),
        Times::Every { every_ms } => {
            let every = std::time::Duration::from_millis(*every_ms);
            format!("every {}", humantime::format_duration(every))
        }
        _ => "unknown".to_owned(),
    }
}

fn catch_up(rule: CatchUp) -> String {
    match rule {
        CatchUp::None => "none".to_owned(),
        CatchUp::Last => "last".to_owned(),
        CatchUp::All(count) => format!("all:{count}"),
    }
}

fn as_json(entry: &Entry) -> Value {
    let times = match &entry.times {
        Times::Cron { line, zone } => json!({ "cron": line, "zone": zone }),
        Times::Every { every_ms } => json!({ "every_ms": every_ms }),
        _ => Value::Null,
    };
    json!({
        "schedule": entry.name,
        "session": entry.session.id,
        "standing": entry.standing.as_str(),
        "times": times,
        "jitter_ms": entry.jitter_ms,
        "overlap": entry.overlap.as_str(),
        "catch_up": catch_up(entry.catch_up),
        "next": entry.next,
        "next_due": entry.next_due,
        "waits": entry.waits,
        "last": entry.last,
        "last_start": entry.last_start,
        "started": entry.counts.started,
        "left_out": entry.counts.left_out,
        "failed": entry.counts.failed,
    })
}
