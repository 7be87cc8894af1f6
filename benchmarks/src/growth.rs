//! One session that grows: what a step costs early and late, beside bare inserts of the same bytes.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::{ConnectOptions, Connection, Row};

use crate::raw::Raw;
use crate::scene;
use crate::stats::{Samples, cpu, ms};
use crate::timed::Timed;
use crate::{Failed, Settings};

/// Steps on either side of the one that is asked about.
const WINDOW: u64 = 9;

/// What was measured around one step.
pub(crate) struct Around {
    pub(crate) step: u64,
    pub(crate) step_ms: Samples,
    pub(crate) stored_bytes: Samples,
    pub(crate) raw_ms: Samples,
    /// What the process worked for it, on all cores together.
    pub(crate) cpu_ms: Samples,
    pub(crate) raw_cpu_ms: Samples,
}

pub(crate) struct Growth {
    pub(crate) around: Vec<Around>,
    /// Bytes of payloads of one step, over the whole session.
    pub(crate) payload_bytes: Samples,
    /// Transactions of one step, over the whole session.
    pub(crate) transactions: Samples,
    /// Bytes of the file over bytes of the transcript, at the end.
    pub(crate) stored_over_logical: Samples,
}

/// When the model was asked for a step, and how large the database was then.
#[derive(Clone, Copy)]
struct Mark {
    step: u64,
    at: Instant,
    cpu: Duration,
    bytes: Option<u64>,
}

pub(crate) async fn measure(settings: &Settings) -> Result<Growth, Failed> {
    let around = settings.steps.iter().map(|step| Around {
        step: *step,
        step_ms: Samples::default(),
        stored_bytes: Samples::default(),
        raw_ms: Samples::default(),
        cpu_ms: Samples::default(),
        raw_cpu_ms: Samples::default(),
    });
    let mut growth = Growth {
        around: around.collect(),
        payload_bytes: Samples::default(),
        transactions: Samples::default(),
        stored_over_logical: Samples::default(),
    };
    for _ in 0..settings.repetitions {
        once(settings, &mut growth).await?;
    }
    Ok(growth)
}

fn window(step: u64) -> (u64, u64) {
    (step.saturating_sub(WINDOW).max(1), step + WINDOW + 1)
}

/// One session to its end, then as many bare transactions.
async fn once(settings: &Settings, growth: &mut Growth) -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(&settings.folder)?;
    let store = scene::open(folder.path()).await?;
    let timed = Timed::new(store.clone());
    let marks = Arc::new(Mutex::new(Vec::new()));
    let file = folder.path().join("holdover.db");
    let edges: Vec<u64> = settings.steps.iter().flat_map(|step| <[u64; 2]>::from(window(*step))).collect();
    let on_step: scene::OnStep = {
        let marks = Arc::clone(&marks);
        Arc::new(move |step| {
            let (at, cpu) = (Instant::now(), cpu());
            let (marks, file, edge) = (Arc::clone(&marks), file.clone(), edges.contains(&step));
            Box::pin(async move {
                let bytes = if edge { size(&file).await.ok() } else { None };
                marks.lock().unwrap_or_else(PoisonError::into_inner).push(Mark { step, at, cpu, bytes });
            })
        })
    };
    let steps = settings.steps.iter().map(|step| window(*step).1).max().unwrap_or(1);
    let agent = scene::agent(steps, Some(on_step))?;
    let runtime = scene::runtime(Arc::new(timed.clone()), &agent);
    let before = store.writer_counts();
    scene::turn(&runtime, &agent, 0).await?;
    let transactions = store.writer_counts().groups - before.groups;
    let bytes = timed.writes().bytes;
    let logical = logical(&runtime).await?;
    drop(runtime);
    store.close().await;

    growth.payload_bytes.add(bytes as f64 / steps as f64);
    growth.transactions.add(transactions as f64 / steps as f64);
    let stored = std::fs::metadata(folder.path().join("holdover.db"))?.len();
    growth.stored_over_logical.add(stored as f64 / logical as f64);
    let marks = marks.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for around in &mut growth.around {
        let (from, to) = window(around.step);
        let within: Vec<&Mark> = marks.iter().filter(|mark| (from..=to).contains(&mark.step)).collect();
        // A look at the size falls into the first step of a window, which is left out.
        for pair in within.windows(2).skip(1) {
            if let [one, next] = pair {
                around.step_ms.add(ms(next.at - one.at));
                around.cpu_ms.add(ms(next.cpu - one.cpu));
            }
        }
        if let (Some(first), Some(last)) = (within.first(), within.last())
            && let (Some(before), Some(after)) = (first.bytes, last.bytes)
        {
            around.stored_bytes.add((after - before) as f64 / (last.step - first.step) as f64);
        }
    }
    raw(folder.path(), steps, transactions, bytes, growth).await
}

/// As many transactions, with as many bytes, in the same folder.
async fn raw(
    folder: &Path,
    steps: u64,
    transactions: u64,
    bytes: u64,
    growth: &mut Growth,
) -> Result<(), Failed> {
    let mut raw = Raw::open(folder).await?;
    let per_step = transactions as f64 / steps as f64;
    let mut took = Vec::new();
    for _ in 0..transactions {
        let before = cpu();
        let time = raw.transaction(1, bytes / transactions.max(1)).await?;
        took.push((ms(time), ms(cpu() - before)));
    }
    raw.close().await?;
    for around in &mut growth.around {
        let (from, to) = window(around.step);
        for step in from + 1..to {
            #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "places in a list")]
            let places = (step as f64 * per_step) as usize..((step + 1) as f64 * per_step) as usize;
            if let Some(of_step) = took.get(places) {
                around.raw_ms.add(of_step.iter().map(|(time, _)| time).sum());
                around.raw_cpu_ms.add(of_step.iter().map(|(_, cpu)| cpu).sum());
            }
        }
    }
    Ok(())
}

/// The bytes of the database, as its newest transaction left it.
async fn size(file: &Path) -> Result<u64, Failed> {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file).read_only(true);
    let mut conn = options.connect().await?;
    let row = sqlx::query("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        .fetch_one(&mut conn)
        .await?;
    conn.close().await?;
    Ok(u64::try_from(row.try_get::<i64, _>(0)?)?)
}

/// The bytes of the transcript.
async fn logical(runtime: &holdover::Runtime) -> Result<u64, Failed> {
    use holdover::core::ids::MessageSeq;
    use holdover::core::store::{MessageRange, StateStoreExt};
    let key = holdover::SessionKey::new(holdover::TenantId::new("acme")?, holdover::SessionId::new("s0")?);
    let all = [MessageRange::new(MessageSeq(1), MessageSeq(u64::MAX))];
    let messages = runtime.store().read_all_messages(&key, &all).await?;
    Ok(messages.iter().map(|message| message.payload.len() as u64).sum())
}
