//! Flows: the work of a session as code, the cost of a step early and late in one flow, and the time for which a new run tells
//! the code what was.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use holdover::flow::{Checked, Cx, Flow, Step, StepCx, Stop};
use holdover::prelude::*;
use holdover::store::StateStore;

use crate::report::{line, table};
use crate::scene::{self, letters};
use crate::stats::{Samples, ms};
use crate::work::BYTES;
use crate::{Failed, Page, Settings, machine};

/// The answer of a model, as a step.
const THINK: Step<u64, String> = Step::idempotent("think");
/// A call with an effect.
const SEND: Step<u64, String> = Step::at_most_once("send");

/// The number of measured steps on either side of a chosen step.
const WINDOW: u64 = 9;

/// The measurements of flows.
#[derive(clap::Args)]
pub(crate) struct Flows {
    #[command(flatten)]
    pub(crate) page: Page,
    /// The numbers of records that are told again. A step leaves two: what was asked for, and its result.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "10,1000,10000")]
    records: Vec<u64>,
}

/// The work of a flow.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct Job {
    pub(crate) steps: u64,
    /// True if each step is two: an answer, and a call.
    pub(crate) thinks: bool,
    /// True if the flow waits for a signal in the end.
    pub(crate) waits: bool,
}

async fn work(cx: Cx, job: Job) -> Result<u64, Stop> {
    for step in 1..=job.steps {
        if job.thinks {
            cx.step(&THINK, &step).await?;
        }
        cx.step(&SEND, &step).await?;
    }
    if job.waits {
        cx.signal::<()>("go").await?;
        cx.step(&SEND, &(job.steps + 1)).await?;
    }
    Ok(job.steps)
}

/// The instants at which steps began.
type Marks = Arc<Mutex<Vec<Instant>>>;

fn flow(marks: &Marks, think: Duration) -> Result<Flow<Job, u64>, Failed> {
    let flow = Flow::builder("benchmark-flow", work)
        .with(Arc::clone(marks))
        .on(&THINK, move |step: u64| async move {
            if !think.is_zero() {
                tokio::time::sleep(think).await;
            }
            Ok::<_, ToolError>(letters(step, BYTES))
        })
        .on(&SEND, |cx: StepCx, step: u64| async move {
            cx.get::<Marks>()?.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
            Ok::<_, ToolError>(letters(!step, BYTES))
        });
    Ok(flow.build()?)
}

/// Runs as many sessions at once, each of which is a flow with so many steps of two calls.
pub(crate) async fn sessions(
    store: &Arc<dyn StateStore>,
    sessions: usize,
    steps: u64,
    think: Duration,
) -> Result<(), Failed> {
    let flow = flow(&Marks::default(), think)?;
    let runtime = scene::runtime(Arc::clone(store), flow.agent());
    let job = Job { steps, thinks: true, waits: false };
    let runs = (0..sessions).map(|_| async {
        let run = runtime.execute(flow.execute(TenantId::new("acme")?, &job)?).await?;
        run.output::<u64>().await.map_err(Failed::from)
    });
    try_join_all(runs).await.map(drop)
}

/// The measurements around one step.
struct Around {
    step: u64,
    step_ms: Samples,
}

/// The measurements with so many records.
struct Retold {
    records: u64,
    /// The code alone, which is called again and gets the results.
    code_ms: Samples,
    /// From the signal for a parked session in this process until its next step begins.
    resumed_ms: Samples,
}

impl Flows {
    /// Measures, and returns the page.
    pub(crate) async fn measure(&self, command: &str) -> Result<String, Failed> {
        let settings = &self.page.settings;
        let mut around: Vec<Around> =
            settings.steps.iter().map(|step| Around { step: *step, step_ms: Samples::default() }).collect();
        let mut retold: Vec<Retold> = self
            .records
            .iter()
            .map(|records| Retold {
                records: *records,
                code_ms: Samples::default(),
                resumed_ms: Samples::default(),
            })
            .collect();
        let mut last_over_first = Samples::default();
        for _ in 0..settings.repetitions {
            let folder = tempfile::tempdir_in(&settings.places.folder)?;
            let store: Arc<dyn StateStore> = Arc::new(scene::open(folder.path()).await?);
            let here = long_flow(&store, settings).await?;
            if let (Some(first), Some(last)) = (here.first(), here.last()) {
                last_over_first.add(last.median() / first.median());
            }
            for (all, here) in around.iter_mut().zip(&here) {
                all.step_ms.extend(here);
            }
            for retold in &mut retold {
                retold.measure(&store).await?;
            }
        }
        let facts = machine::facts(&settings.places.folder).await?;
        Ok(page(command, &facts, &around, &last_over_first, &retold))
    }
}

/// Runs one flow and returns the times of its steps around the chosen ones.
async fn long_flow(store: &Arc<dyn StateStore>, settings: &Settings) -> Result<Vec<Samples>, Failed> {
    let marks = Marks::default();
    let flow = flow(&marks, Duration::ZERO)?;
    let runtime = scene::runtime(Arc::clone(store), flow.agent());
    let steps = settings.steps.iter().max().copied().unwrap_or(1) + WINDOW + 1;
    let job = Job { steps, thinks: false, waits: false };
    let run = runtime.execute(flow.execute(TenantId::new("acme")?, &job)?).await?;
    run.output::<u64>().await?;
    let marks = std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner));
    let around = settings.steps.iter().map(|step| {
        let mut took = Samples::default();
        // The first step also begins the turn.
        let window = step.saturating_sub(WINDOW).max(2)..=step + WINDOW;
        for (at, pair) in (1..).zip(marks.windows(2)) {
            if let [begun, next] = pair
                && window.contains(&at)
            {
                took.add(ms(next.duration_since(*begun)));
            }
        }
        took
    });
    Ok(around.collect())
}

impl Retold {
    async fn measure(&mut self, store: &Arc<dyn StateStore>) -> Result<(), Failed> {
        let marks = Marks::default();
        let flow = flow(&marks, Duration::ZERO)?;
        let runtime = scene::runtime(Arc::clone(store), flow.agent());
        let job = Job { steps: self.records / 2, thinks: false, waits: true };
        let key = runtime.start(flow.execute(TenantId::new("acme")?, &job)?).await?.key;
        runtime.wait(&key).await?;
        let messages = runtime.messages(&key).await?;
        let began = Instant::now();
        if flow.check(&messages)? != Checked::GoesOn {
            return Err("the flow does not wait".into());
        }
        self.code_ms.add(ms(began.elapsed()));
        marks.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let began = Instant::now();
        runtime.signal(&key, holdover::session::Signal::new("go")?).await?;
        runtime.wait(&key).await?;
        let next = marks.lock().unwrap_or_else(PoisonError::into_inner).first().copied();
        let next = next.ok_or("the flow did not go on")?;
        self.resumed_ms.add(ms(next.duration_since(began)));
        Ok(())
    }
}

fn page(
    command: &str,
    facts: &machine::Facts,
    around: &[Around],
    last_over_first: &Samples,
    retold: &[Retold],
) -> String {
    let mut text = String::from("# What a flow costs\n\n");
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    line(&mut text, format_args!("Written by this command on {now}:\n\n```sh\n{command}\n```\n"));
    line(
        &mut text,
        format_args!(
            "On SQLite, with a sync for each transaction. A value is a median, with the tenth and the ninetieth percentile behind \
             it.\n"
        ),
    );
    table(&mut text, "| what | value |\n|---|---|");
    for (name, value) in facts {
        line(&mut text, format_args!("| {name} | {value} |"));
    }
    line(
        &mut text,
        format_args!(
            "\n## One flow with many steps\n\nEach step is an `at_most_once` call that returns {BYTES} bytes at once: one \
             synced write. Measured from the beginning of a step to that of the next one, around the step that is named.\n"
        ),
    );
    table(&mut text, "| around step | ms a step |\n|---|---|");
    for Around { step, step_ms } in around {
        line(&mut text, format_args!("| {step} | {step_ms} |"));
    }
    if let (Some(first), Some(last)) = (around.first(), around.last()) {
        line(
            &mut text,
            format_args!(
                "\n- Step {} over step {}, a value for each repetition: {last_over_first} ×.",
                last.step, first.step
            ),
        );
    }
    line(
        &mut text,
        format_args!(
            "\n## What was is told again\n\nA new run calls the code again and gives it the recorded results. *Code*: the code \
             alone, with the messages in memory. *Resumed*: a parked flow gets a signal, and its next step begins; the run claims the \
             session, reads its messages, and writes that the next step is sent.\n"
        ),
    );
    table(&mut text, "| records | code, ms | resumed, ms |\n|---|---|---|");
    for Retold { records, code_ms, resumed_ms } in retold {
        line(&mut text, format_args!("| {records} | {code_ms} | {resumed_ms} |"));
    }
    text
}
