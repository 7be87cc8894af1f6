//! One growing session: the cost of a step early and late, beside bare inserts of the same bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover::session::{MessageSeq, SessionKey};
use holdover::store::{SqliteStore, StateStore};
use holdover_store::{MessageRange, StateStoreExt};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Mutex;

use crate::raw::Raw;
use crate::scene::{self, Turn};
use crate::stats::{Samples, cpu, ms};
use crate::timed::Timed;
use crate::{Failed, Settings};

/// The number of measured steps on either side of a chosen step.
const WINDOW: u64 = 9;

/// The number of steps of the first session. It only warms up, and is not reported.
const WARM_UP: u64 = 100;

/// The number of sessions that end with the first window. One half runs before the growing session, one half after
/// it.
const YOUNG: usize = 10;

/// The measurements around one step.
pub(crate) struct Around {
    pub(crate) step: u64,
    pub(crate) step_ms: Samples,
    pub(crate) raw_ms: Samples,
    /// The ratio of the time of each step to that of its own bare transactions.
    pub(crate) ratio: Samples,
    /// The processor time of the process for a step, on all cores together.
    pub(crate) cpu_ms: Samples,
    pub(crate) raw_cpu_ms: Samples,
    pub(crate) stored_bytes: Samples,
}

impl Around {
    fn new(step: u64) -> Self {
        Self {
            step,
            step_ms: Samples::default(),
            raw_ms: Samples::default(),
            ratio: Samples::default(),
            cpu_ms: Samples::default(),
            raw_cpu_ms: Samples::default(),
            stored_bytes: Samples::default(),
        }
    }

    /// Returns the first and the last measured step. The first step of a session is never measured, because it
    /// also begins the turn.
    fn window(&self) -> (u64, u64) {
        (self.step.saturating_sub(WINDOW).max(2), self.step + WINDOW)
    }

    fn add(&mut self, marks: &[Mark]) {
        let (from, to) = self.window();
        let within: Vec<&Mark> = marks.iter().filter(|mark| (from..=to).contains(&mark.step)).collect();
        for mark in &within {
            self.step_ms.add(ms(mark.took));
            self.raw_ms.add(ms(mark.raw));
            self.ratio.add(mark.took.as_secs_f64() / mark.raw.as_secs_f64());
            self.cpu_ms.add(ms(mark.cpu));
            self.raw_cpu_ms.add(ms(mark.raw_cpu));
        }
        if let (Some(first), Some(last)) = (within.first(), within.last())
            && last.step > first.step
        {
            let grown = last.bytes.saturating_sub(first.bytes);
            self.stored_bytes.add(grown as f64 / (last.step - first.step) as f64);
        }
    }
}

pub(crate) struct Growth {
    pub(crate) around: Vec<Around>,
    /// The ratio of the last chosen step to the first, with one value for each repetition. There are three kinds: by
    /// the ratios to the bare transactions, by the times, and by the processor times.
    pub(crate) last_over_first: [Samples; 3],
    /// The number of payload bytes of one step, on average over the growing session.
    pub(crate) payload_bytes: Samples,
    /// The number of transactions of one step, on average over the growing session.
    pub(crate) transactions: Samples,
    /// The ratio of the file's bytes to those of all transcripts in it, at the end.
    pub(crate) stored_over_logical: Samples,
}

pub(crate) async fn measure(settings: &Settings) -> Result<Growth, Failed> {
    let mut growth = Growth {
        around: settings.steps.iter().copied().map(Around::new).collect(),
        last_over_first: Default::default(),
        payload_bytes: Samples::default(),
        transactions: Samples::default(),
        stored_over_logical: Samples::default(),
    };
    for _ in 0..settings.repetitions {
        let here = repetition(settings, &mut growth).await?;
        if let (Some(first), Some(last)) = (here.first(), here.last()) {
            let [by_ratio, by_time, by_cpu] = &mut growth.last_over_first;
            by_ratio.add(last.ratio.median() / first.ratio.median());
            by_time.add(last.step_ms.median() / first.step_ms.median());
            by_cpu.add(last.cpu_ms.median() / first.cpu_ms.median());
        }
        for (all, here) in growth.around.iter_mut().zip(&here) {
            all.step_ms.extend(&here.step_ms);
            all.raw_ms.extend(&here.raw_ms);
            all.ratio.extend(&here.ratio);
            all.cpu_ms.extend(&here.cpu_ms);
            all.raw_cpu_ms.extend(&here.raw_cpu_ms);
            all.stored_bytes.extend(&here.stored_bytes);
        }
    }
    Ok(growth)
}

/// Warms up, then runs young sessions before and after the growing one. Returns the measurements around each chosen
/// step.
async fn repetition(settings: &Settings, growth: &mut Growth) -> Result<Vec<Around>, Failed> {
    let folder = tempfile::tempdir_in(&settings.places.folder)?;
    let mut bench = Bench::open(folder.path()).await?;
    bench.session(WARM_UP).await?;
    let mut around: Vec<Around> = settings.steps.iter().copied().map(Around::new).collect();
    let young = around.first().map_or(1, |first| first.window().1);
    let long = around.iter().map(|around| around.window().1).max().unwrap_or(1);
    for at in 0..=YOUNG {
        if at == YOUNG / 2 {
            let before = (bench.store.writer_counts().groups, bench.timed.writes().bytes);
            let marks = bench.session(long).await?;
            around.iter_mut().for_each(|around| around.add(&marks));
            let after = (bench.store.writer_counts().groups, bench.timed.writes().bytes);
            growth.transactions.add((after.0 - before.0) as f64 / long as f64);
            growth.payload_bytes.add((after.1 - before.1) as f64 / long as f64);
        } else if let Some(first) = around.first_mut() {
            first.add(&bench.session(young).await?);
        }
    }
    growth.stored_over_logical.add(bench.close().await?);
    Ok(around)
}

/// The measurements of one step and of its bare transactions.
#[derive(Clone, Copy)]
struct Mark {
    step: u64,
    took: Duration,
    cpu: Duration,
    raw: Duration,
    raw_cpu: Duration,
    /// The size of the database after the step, in bytes.
    bytes: u64,
}

struct Bench {
    file: PathBuf,
    store: SqliteStore,
    timed: Timed,
    raw: Arc<Mutex<Raw>>,
    sessions: Vec<SessionKey>,
}

impl Bench {
    async fn open(folder: &Path) -> Result<Self, Failed> {
        let store = scene::open(folder).await?;
        let raw = Raw::open(folder, &store.capabilities())?;
        let (file, timed) = (folder.join("holdover.db"), Timed::new());
        Ok(Self { file, store, timed, raw: Arc::new(Mutex::new(raw)), sessions: Vec::new() })
    }

    /// Runs a new session of `steps` steps.
    async fn session(&mut self, steps: u64) -> Result<Vec<Mark>, Failed> {
        let course = Arc::new(Mutex::new(Course::default()));
        let on_step: scene::OnStep = {
            let (course, timed, raw) = (Arc::clone(&course), self.timed.clone(), Arc::clone(&self.raw));
            let file = self.file.clone();
            Arc::new(move |step| {
                let (course, timed, raw) = (Arc::clone(&course), timed.clone(), Arc::clone(&raw));
                let file = file.clone();
                Box::pin(async move {
                    let mut course = course.lock().await;
                    if let Err(error) = course.step_begins(step, &timed, &raw, &file).await {
                        course.failed = Some(error);
                    }
                })
            })
        };
        let agent = scene::agent(Turn { steps, on_step: Some(on_step), ..Turn::default() })?;
        let runtime = scene::runtime(Arc::new(self.timed.around(self.store.clone())), &agent);
        self.sessions.push(scene::turn(&runtime, &agent, self.sessions.len()).await?);
        let mut course = course.lock().await;
        match course.failed.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut course.marks)),
        }
    }

    /// Closes the store. Returns the ratio of the file's bytes to those of the transcripts.
    async fn close(self) -> Result<f64, Failed> {
        let mut logical = 0;
        let all = [MessageRange::new(MessageSeq(1), MessageSeq(u64::MAX))];
        for key in &self.sessions {
            let messages = self.store.read_all_messages(key, &all).await?;
            logical += messages.iter().map(|message| message.payload.len() as u64).sum::<u64>();
        }
        self.store.close().await;
        Ok(std::fs::metadata(&self.file)?.len() as f64 / logical as f64)
    }
}

/// The measurements of a running session.
#[derive(Default)]
struct Course {
    marks: Vec<Mark>,
    began: Option<(u64, Instant, Duration)>,
    failed: Option<Failed>,
}

impl Course {
    /// Ends the previous step, which is over once its last write is acknowledged. The step's bare transactions follow
    /// at once: one for each write, with as many bytes. Then the new step begins.
    async fn step_begins(
        &mut self,
        step: u64,
        timed: &Timed,
        raw: &Mutex<Raw>,
        file: &Path,
    ) -> Result<(), Failed> {
        timed.settled().await;
        let (now, worked) = (Instant::now(), cpu());
        let writes = timed.take_recent();
        if let Some((step, began, worked_before)) = self.began.take() {
            let mut raw = raw.lock().await;
            let mut bare = Duration::ZERO;
            for bytes in writes {
                bare += raw.transaction(1, bytes)?;
            }
            let raw_cpu = cpu() - worked;
            let bytes = size(file)?;
            let (took, cpu) = (now - began, worked - worked_before);
            self.marks.push(Mark { step, took, cpu, raw: bare, raw_cpu, bytes });
        }
        self.began = Some((step, Instant::now(), cpu()));
        Ok(())
    }
}

/// Returns the size of the database in bytes, as of its newest transaction.
fn size(file: &Path) -> Result<u64, Failed> {
    let conn = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let bytes: i64 = conn.query_row(pages, [], |row| row.get(0))?;
    Ok(u64::try_from(bytes)?)
}
