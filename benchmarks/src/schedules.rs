//! How late schedules start their targets, on true time.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use hdrhistogram::Histogram;
use holdover::flow::{Cx, Flow, Stop};
use holdover::prelude::*;
use holdover::runtime::CancellationToken;
use holdover::schedules::{Overlap, SCHEDULE_LABEL, Schedule, ScheduleName, Schedules, Target, Times};
use holdover::session::{Labels, SessionQuery, SessionSummary};
use holdover::store::StateStore;
use tokio::task::JoinSet;

use crate::report::{line, table};
use crate::stores::{Backend, Place};
use crate::timed::histogram;
use crate::{Failed, Places, machine};

/// The time between two instants of a schedule.
const EVERY: Duration = Duration::from_secs(2);
/// The time for which targets may still start after the last instant.
const REST: Duration = Duration::from_secs(10);

/// The arguments of the benchmark of schedules.
#[derive(clap::Args)]
pub(crate) struct Lateness {
    /// The number of schedules, each of which has an instant every two seconds.
    #[arg(long, value_name = "N", default_value_t = 20)]
    schedules: u32,
    /// The number of instants of each schedule.
    #[arg(long, value_name = "N", default_value_t = 50)]
    instants: u32,
    /// The number of workers, which all run in this process.
    #[arg(long, value_name = "N", default_value_t = 8)]
    workers: u32,
    /// Writes the report to this file too.
    #[arg(long, value_name = "FILE.md")]
    pub(crate) report: Option<std::path::PathBuf>,
    #[command(flatten)]
    places: Places,
}

/// The measurements of one store.
struct Measured {
    backend: String,
    /// Milliseconds from each instant until its session exists.
    late: Histogram<u64>,
    /// The instants that started no session, by the counts of the schedules.
    missing: u64,
}

impl Lateness {
    /// Measures SQLite and each server whose URL is given. Returns the page.
    pub(crate) async fn measure(&self, command: &str) -> Result<String, Failed> {
        let facts = machine::facts(&self.places.folder).await?;
        let mut all = Vec::new();
        for place in Place::all(&self.places) {
            let measured = self.one(&place).await;
            all.push(measured.map_err(|error| format!("{}: {error}", place.name()))?);
        }
        Ok(self.page(command, &facts, &all))
    }

    async fn one(&self, place: &Place) -> Result<Measured, Failed> {
        let backend = Backend::open(place).await?;
        let store = backend.store();
        let tenant = TenantId::new("acme")?;
        let flow = Flow::builder("tick", |_: Cx, (): ()| async { Ok::<(), Stop>(()) }).build()?;
        let schedules = Schedules::new(Arc::clone(store), RuntimeOptions::default())?;
        for number in 0..self.schedules {
            let target = Target::flow(&flow, &())?;
            let schedule = Schedule::new(Times::every(EVERY)?, target).overlap(Overlap::Allow);
            schedules.add(&tenant, &ScheduleName::new(format!("s{number}"))?, &schedule).await?;
        }
        let (stop, mut working) = (CancellationToken::new(), JoinSet::new());
        for _ in 0..self.workers {
            let agents = Agents::new().with(Arc::clone(schedules.agent())).with(Arc::clone(flow.agent()));
            let runtime = Runtime::new(Arc::clone(store), agents, RuntimeOptions::default());
            let stop = stop.clone();
            working.spawn(async move { Worker::new(runtime, WorkerOptions::default()).run(stop).await });
        }
        tokio::time::sleep(EVERY * self.instants + REST).await;
        let (mut late, mut missing) = (histogram(), 0);
        for number in 0..self.schedules {
            let name = ScheduleName::new(format!("s{number}"))?;
            let entry = schedules.get(&tenant, &name).await?.ok_or("a schedule is gone")?;
            missing += entry.counts.left_out + entry.counts.failed;
            let mut started = started(store, &tenant, name.as_str()).await?;
            started.sort_by_key(|session| session.created_at);
            if started.len() < usize::try_from(self.instants)? {
                return Err(format!("{name} has started {} sessions", started.len()).into());
            }
            for session in &started[..usize::try_from(self.instants)?] {
                late.record(u64::try_from(late_ms(session)?.max(0))?)?;
            }
        }
        stop.cancel();
        while let Some(ended) = working.join_next().await {
            ended?;
        }
        let measured = Measured { backend: store.capabilities().backend, late, missing };
        drop(schedules);
        backend.close().await?;
        Ok(measured)
    }

    fn page(&self, command: &str, facts: &machine::Facts, all: &[Measured]) -> String {
        let Self { schedules, instants, workers, .. } = self;
        let mut text = String::from("# How late schedules are\n\n");
        let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
        line(&mut text, format_args!("Written by this command on {now}:\n\n```sh\n{command}\n```\n"));
        line(
            &mut text,
            format_args!(
                "{schedules} schedules with an instant every {} seconds, {instants} instants each, on {workers} workers in one \
                 process. The schedules were added one after the other, so their instants lie close together. *Late* is the time \
                 from an instant until the session of its target exists, on the store's clock. All commits are synced.\n",
                EVERY.as_secs()
            ),
        );
        table(&mut text, "| what | value |\n|---|---|");
        for (name, value) in facts {
            line(&mut text, format_args!("| {name} | {value} |"));
        }
        table(
            &mut text,
            "\n| store | instants | without a session | late, ms: median | p99 | most |\n|---|--:|--:|--:|--:|--:|",
        );
        for Measured { backend, late, missing } in all {
            line(
                &mut text,
                format_args!(
                    "| {backend} | {} | {missing} | {} | {} | {} |",
                    schedules * instants,
                    late.value_at_quantile(0.5),
                    late.value_at_quantile(0.99),
                    late.max()
                ),
            );
        }
        text
    }
}

/// Returns the sessions that the schedule of this name has started.
async fn started(
    store: &Arc<dyn StateStore>,
    tenant: &TenantId,
    name: &str,
) -> Result<Vec<SessionSummary>, Failed> {
    let mut query = SessionQuery::all(tenant.clone());
    query.labels = Labels::from_iter([(SCHEDULE_LABEL, name)]);
    query.page.limit = NonZeroU32::new(100);
    let mut sessions = Vec::new();
    loop {
        let page = store.list_sessions(&query).await?;
        sessions.extend(page.items);
        match page.next {
            Some(next) => query.page.after = Some(next),
            None => return Ok(sessions),
        }
    }
}

/// Returns the milliseconds from the instant that the session is named after until it was created.
fn late_ms(session: &SessionSummary) -> Result<i64, Failed> {
    let id = session.key.id.as_str();
    let instant =
        id.rsplit_once(':').map(|(_, instant)| instant).ok_or_else(|| format!("{id}: no instant"))?;
    let instant = NaiveDateTime::parse_from_str(instant, "%Y%m%dT%H%M%S%.fZ")?;
    Ok(session.created_at.as_ms() - instant.and_utc().timestamp_millis())
}
