//! Running one case.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::store::{CommitSurvives, StateStore};

use crate::bench::Bench;
use crate::case::{Case, Level};
use crate::cases;
use crate::failure::{CaseResult, Failure};
use crate::harness::{HarnessWorld, StoreHarness, World};
use crate::record::History;

/// How long a case may take before it counts as hanging.
const CASE_TIME_MAX: Duration = Duration::from_secs(180);

/// How a case went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// The store does what the case asks for.
    Passed,
    /// It does not.
    Failed,
    /// The store answered `Unsupported` to something that every store must do. Counts as failed.
    NotImplemented,
}

/// How a case went, with all that is needed to find out why.
#[derive(Debug)]
pub struct Verdict {
    /// How it went.
    pub status: Status,
    /// For people: nothing if it passed; else the clause, what was expected and found, and the
    /// operations that led there.
    pub text: String,
}

/// Where a case runs as a test, to say how to run it again.
#[derive(Debug, Clone, Copy)]
pub struct TestPlace {
    /// The package.
    pub package: &'static str,
    /// The test target.
    pub target: &'static str,
}

/// Runs one case against a store.
pub async fn run<H: StoreHarness>(case: &Case, harness: H) -> Verdict {
    let info = harness.info();
    let history = History::default();
    let result = tokio::time::timeout(CASE_TIME_MAX, bench_and_run(case, harness, history.clone())).await;
    let hanging = || Failure::new(format!("expected an end within {CASE_TIME_MAX:?}\n    found none"));
    match result.unwrap_or_else(|_| Err(hanging())) {
        Ok(()) => Verdict { status: Status::Passed, text: String::new() },
        Err(failure) => {
            let not_implemented = failure.is_not_implemented();
            let status = if not_implemented { Status::NotImplemented } else { Status::Failed };
            let text = format!(
                "{} on {} {}: {}\n  {}\n  clause: {}\n  why: {}\n  {failure}\n  history:\n{history}",
                case.id, info.name, info.version, status, case.title, case.clause, case.why,
            );
            Verdict { status, text }
        }
    }
}

async fn bench_and_run<H: StoreHarness>(case: &Case, harness: H, history: History) -> CaseResult {
    let clock = harness.clock();
    let world = HarnessWorld::fresh(Arc::new(harness)).await;
    check_claim(case, &*world.store())?;
    (case.run)(Bench::new(Box::new(world), clock, history)).await
}

/// A store that claims a level must not say in its capabilities that it promises less.
fn check_claim(case: &Case, store: &dyn StateStore) -> CaseResult {
    let survives = store.capabilities().commit_survives;
    match case.level {
        Level::Durable if survives == CommitSurvives::Nothing => Err(Failure::new(
            "expected commits that survive, as the level durable is claimed\n    found capabilities that promise nothing",
        )),
        Level::Core | Level::Durable | Level::Distributed => Ok(()),
    }
}

/// Runs the case `id` as a test: panics unless it passes. What [`conformance_tests!`](crate::conformance_tests)
/// expands to.
pub fn check<H: StoreHarness>(id: &str, harness: H, place: TestPlace) {
    let Some(case) = cases::all().find(|case| case.id == id) else {
        panic!("the suite has no case {id}");
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime for {id}: {error}"),
    };
    let verdict = runtime.block_on(run(case, harness));
    // What a hanging case left behind is not waited for.
    runtime.shutdown_background();
    if verdict.status != Status::Passed {
        let TestPlace { package, target } = place;
        let test = id.replace('.', "::");
        panic!(
            "{}  again: cargo test -p {package} --test {target} -- --include-ignored --exact {test}",
            verdict.text
        );
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::NotImplemented => "NOT_IMPLEMENTED",
        })
    }
}
