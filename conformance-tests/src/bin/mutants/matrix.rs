//! The matrix of broken stores and the cases that kill them.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use holdover_conformance_tests::{Capability, Case, CaseReport, FoundBy, Level, Settings, Status, all, run};

use crate::fault::Mutant;
use crate::store::{Budget, Harness};

/// A case may make this many times the operations that it needs on the reference, plus `OPERATIONS_BESIDE`. One more
/// operation panics, because a case with so many hangs.
const OPERATIONS_TIMES: u64 = 3;
const OPERATIONS_BESIDE: u64 = 2_000;
/// The virtual time that a case may wait. Virtual time moves only when all tasks are idle.
const CASE_TIME_MAX: Duration = Duration::from_secs(600);

/// Cases with random requests. A fault that only they find is found by luck.
const DRAWN: [&str; 1] = ["race.linearizable_histories"];

/// A broken store and the cases that kill it.
pub(crate) struct Row {
    pub(crate) mutant: &'static Mutant,
    /// The cases that kill the store, in the order of the suite.
    pub(crate) killers: Vec<Killer>,
}

/// A case that fails on a broken store.
pub(crate) struct Killer {
    pub(crate) id: &'static str,
    pub(crate) how: How,
}

/// The way in which a case fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// A comparison failed. The text is the first line of the failure.
    Found(String),
    /// The store answered that an operation is not supported.
    NotImplemented,
    /// The store or the case panicked, or made too many operations.
    Panicked(String),
    /// All tasks were idle until the time was over.
    Hung,
}

impl Row {
    /// Returns true if more than a third of the cases kill the store. Such a coarse fault does not show that any one
    /// case is needed. `cases` is the number of cases in the matrix.
    pub(crate) fn too_coarse(&self, cases: usize) -> bool {
        self.killers.len() * 3 > cases
    }

    /// Returns true if a comparison in a case found the fault. A panic or a hang alone may have any cause.
    pub(crate) fn is_found(&self) -> bool {
        self.killers.iter().any(|killer| matches!(killer.how, How::Found(_)))
    }

    /// Returns true if a case without random requests found the fault.
    pub(crate) fn is_found_for_sure(&self) -> bool {
        let sure = |killer: &&Killer| !DRAWN.contains(&killer.id);
        self.killers.iter().filter(sure).any(|killer| matches!(killer.how, How::Found(_)))
    }

    /// Returns true if the store counts as killed. `cases` is the number of cases in the matrix.
    pub(crate) fn counts(&self, cases: usize) -> bool {
        self.is_found_for_sure() && !self.too_coarse(cases)
    }
}

/// The results of the cases on the broken stores.
pub(crate) struct Matrix {
    pub(crate) cases: Vec<&'static Case>,
    /// The cases that one of the references fails. If there are any, nothing is proved.
    pub(crate) reference_fails: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
}

impl Matrix {
    /// Runs every judged case against the references and against these broken stores.
    /// Runs the cases. `named` returns the cases under which a broken store runs, or `None` for all of them.
    pub(crate) fn of(
        references: &'static [Mutant],
        mutants: &[&'static Mutant],
        named: &(dyn Fn(&Mutant) -> Option<Vec<String>> + Sync),
    ) -> Self {
        let cases: Vec<&'static Case> = all().filter(|case| is_judged(case)).collect();
        let sound = on_every_processor(&cases, |case| {
            let tried = references.iter().map(|reference| tried(reference, case, u64::MAX));
            tried.reduce(Tried::most).unwrap_or_default()
        });
        let reference_fails = cases.iter().zip(&sound).filter(|(_, tried)| tried.how.is_some());
        let reference_fails = reference_fails.map(|(case, _)| case.id).collect();
        let rows = on_every_processor(mutants, |mutant| {
            let named = named(mutant);
            let runs = |case: &Case| named.as_ref().is_none_or(|named| named.iter().any(|id| id == case.id));
            let killers =
                cases.iter().zip(&sound).filter(|(case, _)| runs(case)).filter_map(|(case, sound)| {
                    let operations_max = sound.operations * OPERATIONS_TIMES + OPERATIONS_BESIDE;
                    tried(mutant, case, operations_max).how.map(|how| Killer { id: case.id, how })
                });
            Row { mutant, killers: killers.collect() }
        });
        Self { cases, reference_fails, rows }
    }

    /// Returns how many of the broken stores a case kills.
    pub(crate) fn kills(&self, id: &str) -> usize {
        self.rows.iter().filter(|row| row.killers.iter().any(|killer| killer.id == id)).count()
    }

    /// Returns the cases of the levels core and distributed that kill nothing.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &'static str> {
        let must = self.cases.iter().filter(|case| must_kill(case));
        must.map(|case| case.id).filter(|id| self.kills(id) == 0)
    }

    /// Returns true if the suite finds everything that it should.
    pub(crate) fn holds(&self) -> bool {
        self.reference_fails.is_empty()
            && self.rows.iter().all(|row| row.counts(self.cases.len()))
            && self.idle().next().is_none()
    }
}

/// Returns true if a case must kill a store: one of the levels core and distributed.
pub(crate) fn must_kill(case: &Case) -> bool {
    [Level::Core, Level::Distributed].contains(&case.level)
}

/// Returns true if a case is part of the matrix. Random scripts take long and have a test of their own. A store in
/// memory keeps nothing after its process is killed, and has no wire and no schema, so these cases have tests of their
/// own too.
fn is_judged(case: &Case) -> bool {
    const ELSEWHERE: [Capability; 3] =
        [Capability::ChildProcess, Capability::WireFaults, Capability::RawData];
    case.category() != "prop" && case.needs.is_none_or(|needs| !ELSEWHERE.contains(&needs))
}

/// The result of running a case on a store.
#[derive(Default)]
struct Tried {
    /// The failure. `None` if the store passes.
    how: Option<How>,
    operations: u64,
}

impl Tried {
    /// Combines two results: a failure of either, and the larger number of operations.
    fn most(self, other: Self) -> Self {
        Self { how: self.how.or(other.how), operations: self.operations.max(other.operations) }
    }
}

/// Runs the case on the store and returns its failure, if any. The case has one thread and a virtual clock that moves
/// only when all tasks are idle, so its result is always the same.
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

/// Applies `work` to every item, in parallel on all processors, and returns the results in the order of the items.
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
