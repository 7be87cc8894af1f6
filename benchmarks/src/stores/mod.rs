//! Compares the stores: commits of each, beside bare inserts of the same bytes into the same server with the same
//! settings, in the same run.

mod backend;
mod bare;
mod load;
mod report;

use hdrhistogram::Histogram;

use crate::stats::Samples;
use crate::timed::histogram;
use crate::{Failed, Settings};

pub(crate) use self::backend::{Backend, Place};
pub(crate) use self::bare::Bare;
pub(crate) use self::report::write;

/// The measurements of one store.
pub(crate) struct Measured {
    /// The backend's name in the store's capabilities.
    pub(crate) backend: String,
    /// The settings on which the store's promises rest.
    pub(crate) settings: Vec<(String, String)>,
    /// A row for each number of sessions.
    pub(crate) rows: Vec<Row>,
}

/// The speeds with `sessions` sessions at once.
pub(crate) struct Row {
    pub(crate) sessions: usize,
    /// The number of commits of each session, and of inserts of each task.
    pub(crate) each: usize,
    pub(crate) commits: Speed,
    pub(crate) bare: Speed,
}

/// The speed of one kind of write.
pub(crate) struct Speed {
    /// Writes per second of all tasks together: one value for each repetition.
    pub(crate) per_s: Samples,
    /// Microseconds from the call to the acknowledgement of each write.
    pub(crate) us: Histogram<u64>,
}

impl Speed {
    fn new() -> Self {
        Self { per_s: Samples::default(), us: histogram() }
    }
}

/// The approximate minimum number of writes in a repetition. Each session makes at least [`EACH_MIN`].
const ALL_MIN: usize = 640;
const EACH_MIN: usize = 10;

/// Measures SQLite, and each server whose URL is given.
pub(crate) async fn measure(settings: &Settings) -> Result<Vec<Measured>, Failed> {
    let mut all = Vec::new();
    for place in Place::all(&settings.places) {
        let name = place.name();
        let measured = one(&place, settings).await;
        all.push(measured.map_err(|error| format!("{name}: {error}"))?);
    }
    Ok(all)
}

async fn one(place: &Place, settings: &Settings) -> Result<Measured, Failed> {
    let mut rows: Vec<Row> = settings.sessions.iter().map(|sessions| Row::new(*sessions)).collect();
    let backend = Backend::open(place).await?;
    let measured = measure_rows(&backend, &mut rows, settings.repetitions).await;
    let capabilities = backend.store().capabilities();
    backend.close().await?;
    measured?;
    Ok(Measured { backend: capabilities.backend, settings: capabilities.settings, rows })
}

async fn measure_rows(backend: &Backend, rows: &mut [Row], repetitions: u32) -> Result<(), Failed> {
    // A first run, which is not reported, makes connections, prepared statements and files.
    load::commits(backend.store(), 8, EACH_MIN, &mut Speed::new()).await?;
    load::inserts(backend.bare(), 8, EACH_MIN, &mut Speed::new()).await?;
    for _ in 0..repetitions {
        for row in &mut *rows {
            load::commits(backend.store(), row.sessions, row.each, &mut row.commits).await?;
            load::inserts(backend.bare(), row.sessions, row.each, &mut row.bare).await?;
        }
    }
    Ok(())
}

impl Row {
    fn new(sessions: usize) -> Self {
        let each = (ALL_MIN / sessions.max(1)).max(EACH_MIN);
        Self { sessions, each, commits: Speed::new(), bare: Speed::new() }
    }
}
