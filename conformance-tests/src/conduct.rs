//! The conduct of a run: which cases run, in which order, and when the run stops.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use holdover_store::Capabilities;

use crate::attempt::Attempt;
use crate::case::{Case, Level};
use crate::cases;
use crate::gap::{Claim, Gap};
use crate::harness::StoreHarness;
use crate::isolation::{Ended, isolated};
use crate::latency::Latencies;
use crate::report::{CaseReport, Report, Run};
use crate::status::Status;
use crate::suite::{Progress, Suite};
use crate::world::{World, Worlds};

/// The number of consecutive cases out of time after which the run stops.
const HANGS_MAX: usize = 3;

/// Runs the cases that the suite selects, and makes the report.
pub(crate) fn conduct<H: StoreHarness>(suite: &Suite<H>) -> Report {
    let began = Instant::now();
    let harness = (suite.make)();
    let (info, gaps) = (harness.info(), harness.gaps());
    let time_max = suite.case_time_max.unwrap_or_else(|| harness.case_time_max());
    drop(harness);
    let chosen = choose(suite.filter.as_deref());
    let skip = |case: &Case| reason_to_skip(suite, case, &gaps);
    let mut to_run: Vec<&'static Case> = chosen.iter().copied().filter(|case| skip(case).is_none()).collect();
    to_run.sort_by_cached_key(|case| shuffled(suite.settings.seed, case.id));
    let probed = if to_run.is_empty() { Ok(()) } else { probe(suite, time_max) };
    let ran = match probed {
        Ok(()) => run_all(suite, &to_run, time_max),
        Err(stopped) => Ran { stopped: Some(stopped), ..Ran::default() },
    };
    let reports = chosen.iter().map(|case| match ran.reports.iter().find(|report| report.id == case.id) {
        Some(report) => report.clone(),
        None => CaseReport::skipped(case, &skip(case).unwrap_or_else(|| "the run was stopped".into())),
    });
    Report::of(Run {
        store: info,
        level: suite.level.unwrap_or_else(|| highest_claimed(&gaps)),
        filter: suite.filter.clone(),
        left_out: cases::all().count() - chosen.len(),
        settings: suite.settings,
        took: began.elapsed(),
        capabilities: ran.capabilities,
        latencies: ran.latencies,
        cases: reports.collect(),
        gaps,
        stopped: ran.stopped,
    })
}

/// Checks that the harness can create an instance, open a peer of it and reopen it, as any case may need. The error
/// says which step failed.
fn probe<H: StoreHarness>(suite: &Suite<H>, time_max: Duration) -> Result<(), String> {
    let make = Arc::clone(&suite.make);
    let step = Arc::new(Mutex::new("fresh"));
    let at = Arc::clone(&step);
    let tried = isolated(
        move || make(),
        time_max,
        || {},
        move |worlds: Arc<Worlds<H>>| async move {
            let now = |step| *at.lock().unwrap_or_else(PoisonError::into_inner) = step;
            let world = worlds.fresh().await;
            now("peer");
            drop(world.peer().await);
            now("reopen");
            drop(Box::new(world).reopen().await);
        },
    );
    let step = *step.lock().unwrap_or_else(PoisonError::into_inner);
    match tried {
        Ended::Done(()) => Ok(()),
        Ended::Panicked(said) => Err(format!("the harness panicked in {step}: {said}")),
        Ended::OutOfTime => Err(format!("the harness did not return from {step} within {time_max:?}")),
        Ended::NotBegun(error) => Err(format!("no runtime: {error}")),
    }
}

fn reason_to_skip<H>(suite: &Suite<H>, case: &Case, gaps: &[Gap]) -> Option<String> {
    if let Some(gap) = gaps.iter().find(|gap| gap.is_needed_by(case)) {
        return Some(format!("{} is not claimed: {}", gap.claim, gap.reason));
    }
    let above = suite.level.is_some_and(|level| case.level > level);
    above.then(|| format!("{} was not asked for", case.level))
}

/// Runs cases in parallel, as many at a time as there are jobs.
fn run_all<H: StoreHarness>(suite: &Suite<H>, cases: &[&'static Case], time_max: Duration) -> Ran {
    let (next, ran) = (AtomicUsize::new(0), Mutex::new(Ran::default()));
    let lock = || ran.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for _ in 0..suite.jobs.min(cases.len()) {
            scope.spawn(|| {
                while lock().stopped.is_none()
                    && let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let (report, attempt) = run_case(suite, case, time_max);
                    let mut ran = lock();
                    (suite.tell)(Progress { case: &report, ended: ran.reports.len() + 1, of: cases.len() });
                    ran.add(report, attempt);
                }
            });
        }
    });
    ran.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn run_case<H: StoreHarness>(
    suite: &Suite<H>,
    case: &'static Case,
    time_max: Duration,
) -> (CaseReport, Attempt) {
    let attempt = || {
        let make = Arc::clone(&suite.make);
        Attempt::isolated(case, move || make(), suite.settings, time_max)
    };
    let first = attempt();
    // A second run is the only way to know whether the case always fails. A case that hung would take as long again.
    let passes_now =
        first.status() == Status::Failed && !first.out_of_time && attempt().status() == Status::Passed;
    let status = if passes_now { Status::Flaky } else { first.status() };
    let again = match &suite.again {
        Some(command) => format!("{command} --filter {}{}", case.id, suite.settings.as_arguments()),
        None => format!("Suite::new(…).filter({:?}){}.run().await", case.id, suite.settings.as_calls()),
    };
    (first.report(case, status, suite.settings, again), first)
}

/// The results of the cases that were run.
#[derive(Default)]
struct Ran {
    reports: Vec<CaseReport>,
    latencies: Latencies,
    capabilities: Option<Capabilities>,
    /// The number of consecutive cases, up to the latest, that ran out of time.
    hangs: usize,
    stopped: Option<String>,
}

impl Ran {
    fn add(&mut self, report: CaseReport, attempt: Attempt) {
        self.reports.push(report);
        self.latencies.merge(attempt.history.latencies());
        self.capabilities = self.capabilities.take().or(attempt.capabilities);
        self.hangs = if attempt.out_of_time { self.hangs + 1 } else { 0 };
        if self.hangs == HANGS_MAX {
            self.stopped = Some(format!("{HANGS_MAX} cases, one after the other, had no end in their time"));
        }
    }
}

/// Returns the cases that a filter names: by id, else by category, else by a part of the id. Without a filter, returns
/// all cases.
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

/// Returns the highest level that the store claims together with all levels below it.
fn highest_claimed(gaps: &[Gap]) -> Level {
    let claims = |level: &Level| !gaps.iter().any(|gap| gap.claim == Claim::Level(*level));
    Level::ALL.into_iter().take_while(claims).last().unwrap_or(Level::Core)
}

/// Returns the key by which cases are sorted: the FNV-1a hash of the seed and the id. So each seed has an order of its
/// own.
fn shuffled(seed: u64, id: &str) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(id.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
