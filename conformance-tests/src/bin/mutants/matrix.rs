//! Which case kills which broken store.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use holdover_conformance_tests::{Capability, Case, CaseReport, FoundBy, Level, Settings, Status, all, run};

use crate::fault::Mutant;
use crate::store::{Budget, Harness};

/// How many times the operations of the reference a case may ask of a broken store before it counts as
/// hanging, which is a failure; and how many beside.
const OPERATIONS_TIMES: u64 = 3;
const OPERATIONS_BESIDE: u64 = 2_000;
/// How long a case may wait when nothing moves any more. Time stands still while something does.
const CASE_TIME_MAX: Duration = Duration::from_secs(600);

/// Cases that draw what they ask. What they alone find, they find by luck.
const DRAWN: [&str; 1] = ["race.linearizable_histories"];

/// A broken store and the cases that kill it.
pub(crate) struct Row {
    pub(crate) mutant: &'static Mutant,
    /// In the order of the suite.
    pub(crate) killers: Vec<Killer>,
}

/// A case that a broken store does not pass.
pub(crate) struct Killer {
    pub(crate) id: &'static str,
    pub(crate) how: How,
}

/// How a case notices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// It looked, and found something else: the first line of what it says.
    Found(String),
    /// The store said that it cannot do it.
    NotImplemented,
    /// The store or the case panicked, or asked too often.
    Panicked(String),
    /// Nothing moved any more.
    Hung,
}

impl Row {
    /// Whether so many cases kill it that it says nothing about any.
    pub(crate) fn too_coarse(&self, cases: usize) -> bool {
        self.killers.len() * 3 > cases
    }

    /// Whether a case looked and found what is broken. A panic or a hang alone may be the fault of anybody.
    pub(crate) fn is_found(&self) -> bool {
        self.killers.iter().any(|killer| matches!(killer.how, How::Found(_)))
    }

    /// Whether a case found what is broken that asks the same every time.
    pub(crate) fn is_found_for_sure(&self) -> bool {
        let sure = |killer: &&Killer| !DRAWN.contains(&killer.id);
        self.killers.iter().filter(sure).any(|killer| matches!(killer.how, How::Found(_)))
    }

    /// Whether it was killed, and counts.
    pub(crate) fn counts(&self, cases: usize) -> bool {
        self.is_found_for_sure() && !self.too_coarse(cases)
    }
}

/// What every case said about every broken store.
pub(crate) struct Matrix {
    pub(crate) cases: Vec<&'static Case>,
    /// The cases that a reference itself fails: none, or nothing is proved.
    pub(crate) reference_fails: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
}

impl Matrix {
    /// Runs every case against the references and against every broken store.
    pub(crate) fn of(references: &'static [Mutant], mutants: &[&'static Mutant]) -> Self {
        let cases: Vec<&'static Case> = all().filter(|case| is_judged(case)).collect();
        let sound = on_every_processor(&cases, |case| {
            let tried = references.iter().map(|reference| tried(reference, case, u64::MAX));
            tried.reduce(Tried::most).unwrap_or_default()
        });
        let reference_fails = cases.iter().zip(&sound).filter(|(_, tried)| tried.how.is_some());
        let reference_fails = reference_fails.map(|(case, _)| case.id).collect();
        let rows = on_every_processor(mutants, |mutant| {
            let killers = cases.iter().zip(&sound).filter_map(|(case, sound)| {
                let operations_max = sound.operations * OPERATIONS_TIMES + OPERATIONS_BESIDE;
                tried(mutant, case, operations_max).how.map(|how| Killer { id: case.id, how })
            });
            Row { mutant, killers: killers.collect() }
        });
        Self { cases, reference_fails, rows }
    }

    /// How many of the broken stores a case kills.
    pub(crate) fn kills(&self, id: &str) -> usize {
        self.rows.iter().filter(|row| row.killers.iter().any(|killer| killer.id == id)).count()
    }

    /// The cases that kill nothing, of the levels at which each must.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &'static str> {
        let must = self.cases.iter().filter(|case| [Level::Core, Level::Distributed].contains(&case.level));
        must.map(|case| case.id).filter(|id| self.kills(id) == 0)
    }

    /// Whether the suite notices everything it should.
    pub(crate) fn holds(&self) -> bool {
        self.reference_fails.is_empty()
            && self.rows.iter().all(|row| row.counts(self.cases.len()))
            && self.idle().next().is_none()
    }
}

/// Stories that are drawn at random take their time, and have a test of their own; a store in memory leaves
/// nothing behind for a process that was killed, has no wire, and no schema: such cases have tests of their own too.
fn is_judged(case: &Case) -> bool {
    const ELSEWHERE: [Capability; 3] =
        [Capability::ChildProcess, Capability::WireFaults, Capability::RawData];
    case.category() != "prop" && case.needs.is_none_or(|needs| !ELSEWHERE.contains(&needs))
}

/// What came of a case.
#[derive(Default)]
struct Tried {
    /// None: the store passes.
    how: Option<How>,
    operations: u64,
}

impl Tried {
    /// Whether either store fails, and the most that either was asked.
    fn most(self, other: Self) -> Self {
        Self { how: self.how.or(other.how), operations: self.operations.max(other.operations) }
    }
}

/// How the case fails, panics or hangs on the store, if it does. Each has one thread and a clock of its own that
/// moves only when nothing else does, so that it ends the same way every time.
fn tried(mutant: &'static Mutant, case: &Case, operations_max: u64) -> Tried {
    let budget = Budget::new(operations_max);
    let harness = Harness::new(mutant, budget.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let Ok(runtime) = runtime else {
        return Tried { how: Some(How::Panicked("no runtime".into())), operations: 0 };
    };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            tokio::time::timeout(CASE_TIME_MAX, run(case, harness, Settings::default())).await
        })
    }));
    let how = match ended {
        Ok(Ok(report)) => how(&report),
        Ok(Err(_)) => Some(How::Hung),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            Some(How::Panicked(text.lines().next().unwrap_or_default().to_owned()))
        }
    };
    Tried { how, operations: budget.used() }
}

fn how(report: &CaseReport) -> Option<How> {
    if report.status == Status::NotImplemented {
        return Some(How::NotImplemented);
    }
    let failure = report.failure.as_ref()?;
    let first = failure.found.lines().next().unwrap_or_default().to_owned();
    Some(match failure.found_by {
        FoundBy::Looking => How::Found(first),
        FoundBy::Panic => How::Panicked(first),
        FoundBy::Hang => How::Hung,
    })
}

/// Answers for every item, in their order, by as many threads as there are processors.
fn on_every_processor<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let answer = work(item);
                    answers.lock().unwrap_or_else(PoisonError::into_inner).push((index, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
