//! Which case kills which broken store.

use std::time::Duration;

use futures::StreamExt;
use holdover_conformance_tests::{Case, Level, all, run};

use crate::fault::Mutant;
use crate::reasons::KILL_NOTHING;
use crate::store::Harness;

/// How many cases run at one time.
const AT_ONCE: usize = 4;
/// How long a case may take before it counts as hanging, which is a failure.
const CASE_TIME_MAX: Duration = Duration::from_secs(20);

/// The seed of every case.
pub(crate) const SEED: u64 = 0;

/// A broken store and the cases that kill it.
pub(crate) struct Row {
    pub(crate) mutant: &'static Mutant,
    /// In the order of the suite.
    pub(crate) killers: Vec<&'static str>,
}

impl Row {
    /// Whether so many cases kill it that it says nothing about any.
    pub(crate) fn too_coarse(&self, cases: usize) -> bool {
        self.killers.len() * 3 > cases
    }

    /// Whether it was killed, and counts.
    pub(crate) fn counts(&self, cases: usize) -> bool {
        !self.killers.is_empty() && !self.too_coarse(cases)
    }
}

/// What every case said about every broken store.
pub(crate) struct Matrix {
    pub(crate) cases: Vec<&'static Case>,
    /// The cases that the reference itself fails: none, or nothing is proved.
    pub(crate) reference_fails: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
}

impl Matrix {
    /// Runs every case against the reference and against every broken store.
    pub(crate) async fn of(reference: &'static Mutant, mutants: Vec<&'static Mutant>) -> Self {
        let cases: Vec<&'static Case> = all().collect();
        let stores: Vec<_> = std::iter::once(reference).chain(mutants).collect();
        let pairs = (0..stores.len()).flat_map(|store| (0..cases.len()).map(move |case| (store, case)));
        let pairs: Vec<_> = pairs.collect();
        let tried = pairs.into_iter().map(|(store, case)| {
            let (mutant, tried) = (stores[store], cases[case]);
            async move { (store, case, fails(mutant, tried).await) }
        });
        let mut found: Vec<(usize, usize)> = futures::stream::iter(tried)
            .buffer_unordered(AT_ONCE)
            .filter_map(|(store, case, fails)| async move { fails.then_some((store, case)) })
            .collect()
            .await;
        found.sort_unstable();
        let killers = |store: usize| {
            let of_store = found.iter().filter(|(killed, _)| *killed == store);
            of_store.map(|(_, case)| cases[*case].id).collect::<Vec<_>>()
        };
        let rows = stores.iter().enumerate().skip(1);
        let rows = rows.map(|(index, mutant)| Row { mutant, killers: killers(index) }).collect();
        Self { reference_fails: killers(0), rows, cases }
    }

    /// The cases that kill nothing, of the levels at which each must.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &'static str> {
        let must = self.cases.iter().filter(|case| match case.level {
            Level::Core | Level::Distributed => true,
            Level::Durable => false,
        });
        must.map(|case| case.id).filter(|id| !self.rows.iter().any(|row| row.killers.contains(id)))
    }

    /// The cases that kill nothing and do not say why.
    pub(crate) fn idle_without_reason(&self) -> impl Iterator<Item = &'static str> {
        self.idle().filter(|id| !KILL_NOTHING.iter().any(|(named, _)| named == id))
    }

    /// The reasons that are none: the case kills something, or there is no such case.
    pub(crate) fn idle_reasons(&self) -> impl Iterator<Item = &'static str> {
        let idle: Vec<_> = self.idle().collect();
        KILL_NOTHING.iter().map(|(id, _)| *id).filter(move |id| !idle.contains(id))
    }

    /// Whether the suite notices everything it should.
    pub(crate) fn holds(&self) -> bool {
        self.reference_fails.is_empty()
            && self.rows.iter().all(|row| row.counts(self.cases.len()))
            && self.idle_without_reason().next().is_none()
    }
}

/// Whether the case fails, panics or hangs on the store.
async fn fails(mutant: &'static Mutant, case: &'static Case) -> bool {
    let task = tokio::spawn(async move { run(case, Harness::new(mutant), SEED).await.status });
    let abort = task.abort_handle();
    match tokio::time::timeout(CASE_TIME_MAX, task).await {
        Ok(Ok(status)) => status.is_failure(),
        Ok(Err(_)) => true,
        Err(_) => {
            abort.abort();
            true
        }
    }
}
