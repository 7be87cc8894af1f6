//! The second door: every case from a program, and a report of it.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use holdover_core::store::Capabilities;

use crate::apart::run_apart;
use crate::case::{Case, Level};
use crate::cases;
use crate::gap::Gap;
use crate::harness::StoreHarness;
use crate::latency::Latencies;
use crate::report::{CaseReport, Report, Run};
use crate::runner::{Attempt, Status};

/// Runs the cases of the suite against a store, and reports how they went.
///
/// ```no_run
/// # async fn example<H: holdover_conformance_tests::StoreHarness + Default>() {
/// use holdover_conformance_tests::{Suite, Verdict};
///
/// let report = Suite::new(H::default).run().await;
/// println!("{}", report.console());
/// assert_eq!(report.verdict(), Verdict::Passed);
/// # }
/// ```
pub struct Suite<H> {
    make: Arc<dyn Fn() -> H + Send + Sync>,
    level: Option<Level>,
    filter: Option<String>,
    seed: u64,
    jobs: usize,
    case_time_max: Option<Duration>,
    again: Option<String>,
}

impl<H: StoreHarness> Suite<H> {
    /// All cases that the store claims. `make` makes a harness for each, so that no two cases share a
    /// clock.
    pub fn new(make: impl Fn() -> H + Send + Sync + 'static) -> Self {
        let jobs = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            make: Arc::new(make),
            level: None,
            filter: None,
            seed: 0,
            jobs,
            case_time_max: None,
            again: None,
        }
    }

    /// Asks for a verdict on `level`, and skips the cases above it. Left out: the highest level that the
    /// store claims with all below it, and every case that it claims is run.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Runs only the case with this id, or those of the category of this name, or those whose id contains
    /// it: the first of the three that finds any. The verdict of a filtered run is never
    /// [`Passed`](crate::Verdict::Passed).
    #[must_use]
    pub fn filter(mut self, filter: &str) -> Self {
        self.filter = Some(filter.to_owned());
        self
    }

    /// Sets the order in which cases begin, and what those that draw at random draw.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs so many cases at a time; at least one. Left out: one for each processor.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// Sets how long a case may take, in real time, before it counts as hanging and has failed. Left out:
    /// as the harness says.
    #[must_use]
    pub fn case_time_max(mut self, time: Duration) -> Self {
        self.case_time_max = Some(time);
        self
    }

    /// The command that runs this suite, for the text of failures: ` --filter ID --seed N` is put after it.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.again = Some(command.into());
        self
    }

    /// Runs the cases. A case that panics or hangs has failed; the others go on. Each has a runtime of its
    /// own, so it does not matter in which this is called. A case that failed is run once more: if it
    /// passes then, it is [`Flaky`](Status::Flaky), which is a failure too.
    ///
    /// # Panics
    /// When no harness can be made to ask what it tests.
    pub async fn run(self) -> Report {
        let (tell, told) = oneshot::channel();
        thread::spawn(move || {
            // Nobody listens any more if the caller's future was dropped.
            let _ = tell.send(self.run_here());
        });
        match told.await {
            Ok(report) => report,
            Err(_) => panic!("the suite could not be run; what stopped it is on standard error"),
        }
    }

    fn run_here(&self) -> Report {
        let began = Instant::now();
        let harness = (self.make)();
        let (info, gaps) = (harness.info(), harness.gaps());
        let time_max = self.case_time_max.unwrap_or_else(|| harness.case_time_max());
        drop(harness);
        let chosen = choose(self.filter.as_deref());
        let left_out = cases::all().count() - chosen.len();
        let skip = |case: &Case| self.reason_to_skip(case, &gaps);
        let mut to_run: Vec<&'static Case> =
            chosen.iter().copied().filter(|case| skip(case).is_none()).collect();
        to_run.sort_by_cached_key(|case| shuffled(self.seed, case.id));
        let ran = self.run_all(&to_run, time_max);
        let reports =
            chosen.iter().map(|case| match ran.reports.iter().find(|report| report.id == case.id) {
                Some(report) => report.clone(),
                None => CaseReport::skipped(case, skip(case)),
            });
        Report::of(Run {
            store: info,
            level: self.level.unwrap_or_else(|| highest_claimed(&gaps)),
            filter: self.filter.clone(),
            left_out,
            seed: self.seed,
            took: began.elapsed(),
            capabilities: ran.capabilities,
            latencies: ran.latencies,
            cases: reports.collect(),
            gaps,
        })
    }

    fn reason_to_skip(&self, case: &Case, gaps: &[Gap]) -> Option<String> {
        if let Some(gap) = gaps.iter().find(|gap| gap.is_needed_by(case)) {
            return Some(format!("{} is not claimed: {}", gap.claim, gap.reason));
        }
        let above = self.level.is_some_and(|level| case.level > level);
        above.then(|| format!("{} was not asked for", case.level))
    }

    /// Runs cases, as many at a time as there are jobs.
    fn run_all(&self, cases: &[&'static Case], time_max: Duration) -> Ran {
        let (next, ran) = (AtomicUsize::new(0), Mutex::new(Ran::default()));
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(cases.len()) {
                scope.spawn(|| {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let (report, attempt) = self.run_case(case, time_max);
                        ran.lock().unwrap_or_else(PoisonError::into_inner).add(report, attempt);
                    }
                });
            }
        });
        ran.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_case(&self, case: &'static Case, time_max: Duration) -> (CaseReport, Attempt) {
        let attempt = || {
            let make = Arc::clone(&self.make);
            run_apart(case, move || make(), self.seed, time_max)
        };
        let first = attempt();
        // The only way to know whether it fails always.
        let passes_now = first.status() == Status::Failed && attempt().result.is_ok();
        let status = if passes_now { Status::Flaky } else { first.status() };
        let (id, seed) = (case.id, self.seed);
        let again = match &self.again {
            Some(command) => format!("{command} --filter {id} --seed {seed}"),
            None => format!("Suite::new(…).filter({id:?}).seed({seed}).run().await"),
        };
        (first.report(case, status, seed, again), first)
    }
}

/// What came of the cases that were run.
#[derive(Default)]
struct Ran {
    reports: Vec<CaseReport>,
    latencies: Latencies,
    capabilities: Option<Capabilities>,
}

impl Ran {
    fn add(&mut self, report: CaseReport, attempt: Attempt) {
        self.reports.push(report);
        self.latencies.merge(attempt.history.latencies());
        self.capabilities = self.capabilities.take().or(attempt.capabilities);
    }
}

/// The cases that a filter names.
fn choose(filter: Option<&str>) -> Vec<&'static Case> {
    let Some(filter) = filter else { return cases::all().collect() };
    let by: [fn(&Case, &str) -> bool; 3] = [
        |case, filter| case.id == filter,
        |case, filter| case.category() == filter,
        |case, filter| case.id.contains(filter),
    ];
    let found = by.map(|is_named| cases::all().filter(|case| is_named(case, filter)).collect::<Vec<_>>());
    found.into_iter().find(|cases| !cases.is_empty()).unwrap_or_default()
}

/// The highest level that the store claims together with all below it.
fn highest_claimed(gaps: &[Gap]) -> Level {
    let claims = |level: &Level| !gaps.iter().any(|gap| gap.claim == level.to_string());
    Level::ALL.into_iter().take_while(claims).last().unwrap_or(Level::Core)
}

/// The place of a case in the order that a seed stands for (FNV-1a over both).
fn shuffled(seed: u64, id: &str) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(id.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
