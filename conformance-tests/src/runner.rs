//! Running one case.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover_core::store::{Capabilities, CommitSurvives};
use serde::{Deserialize, Serialize};

use crate::apart::run_apart;
use crate::bench::Bench;
use crate::case::{Case, Level};
use crate::cases;
use crate::failure::{CaseResult, Failure};
use crate::harness::StoreHarness;
use crate::record::History;
use crate::report::{CaseFailure, CaseReport};
use crate::world::{World, Worlds};

/// The variable that names the seed of cases run as tests.
const SEED: &str = "HOLDOVER_SEED";

/// How a case went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// The store does what the case asks for.
    Passed,
    /// It does not: the case failed twice.
    Failed,
    /// The case failed, and passed when it was run again. Counts as failed.
    Flaky,
    /// The case was not run, and the report says why.
    Skipped,
    /// The store answered `Unsupported` to something that it claims. Counts as failed.
    NotImplemented,
}

impl Status {
    /// As reports have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Flaky => "FLAKY",
            Self::Skipped => "SKIPPED",
            Self::NotImplemented => "NOT_IMPLEMENTED",
        }
    }

    /// Whether the case was run and the store did not do what it should.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::Flaky | Self::NotImplemented => true,
            Self::Passed | Self::Skipped => false,
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where a case runs as a test, to say how to run it again.
#[derive(Debug, Clone, Copy)]
pub struct TestPlace {
    /// The package.
    pub package: &'static str,
    /// The test target.
    pub target: &'static str,
}

/// One case, run once.
pub(crate) struct Attempt {
    pub(crate) result: CaseResult,
    pub(crate) history: History,
    pub(crate) capabilities: Option<Capabilities>,
    pub(crate) took: Duration,
}

impl Attempt {
    /// How it went, were there no other.
    pub(crate) fn status(&self) -> Status {
        match &self.result {
            Ok(()) => Status::Passed,
            Err(failure) if failure.is_skipped() => Status::Skipped,
            Err(failure) if failure.is_not_implemented() => Status::NotImplemented,
            Err(_) => Status::Failed,
        }
    }

    /// What is said about it, with the status that was decided on.
    pub(crate) fn report(&self, case: &Case, status: Status, seed: u64, again: String) -> CaseReport {
        if let (Status::Skipped, Err(reason)) = (status, &self.result) {
            return CaseReport::skipped(case, Some(reason.text().to_owned()));
        }
        let failure = self.result.as_ref().err().map(|failure| CaseFailure {
            found: failure.text().to_owned(),
            at: failure.place(),
            why: case.why.to_owned(),
            seed,
            history: self.history.texts(),
            again,
        });
        let milliseconds = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        CaseReport { status, milliseconds, failure, ..CaseReport::skipped(case, None) }
    }
}

/// Runs one case once, in the runtime of the caller: without a time limit, and panicking with the store.
pub async fn run<H: StoreHarness>(case: &Case, harness: H, seed: u64) -> CaseReport {
    let (history, began) = (History::default(), Instant::now());
    let worlds = Worlds::new(harness);
    let (result, capabilities) = perform(case, &worlds, seed, history.clone()).await;
    let attempt = Attempt { result, history, capabilities, took: began.elapsed() };
    worlds.dispose().await;
    let again = format!("run the case {} with the seed {seed}", case.id);
    attempt.report(case, attempt.status(), seed, again)
}

/// Runs the case in a fresh store.
pub(crate) async fn perform<H: StoreHarness>(
    case: &Case,
    worlds: &Arc<Worlds<H>>,
    seed: u64,
    history: History,
) -> (CaseResult, Option<Capabilities>) {
    let clock = worlds.harness().clock();
    let world = Arc::clone(worlds).fresh().await;
    let capabilities = world.store().capabilities();
    let result = match check_claim(case, &capabilities) {
        Ok(()) => (case.run)(Bench::new(Box::new(world), clock, history, seed)).await,
        Err(failure) => Err(failure),
    };
    (result, Some(capabilities))
}

/// A store that claims a level must not say in its capabilities that it promises less.
fn check_claim(case: &Case, capabilities: &Capabilities) -> CaseResult {
    match case.level {
        Level::Durable if capabilities.commit_survives == CommitSurvives::Nothing => Err(Failure::new(
            "expected commits that survive, as the level durable is claimed\n    found    capabilities that promise nothing",
        )),
        Level::Core | Level::Durable | Level::Distributed => Ok(()),
    }
}

/// Runs the case `id` as a test: panics unless it passes. What [`conformance_tests!`](crate::conformance_tests)
/// expands to. The seed is that of the variable `HOLDOVER_SEED`, else 0.
pub fn check<H: StoreHarness>(id: &str, harness: H, place: TestPlace) {
    let Some(case) = cases::all().find(|case| case.id == id) else {
        panic!("the suite has no case {id}");
    };
    if let Some(gap) = harness.gaps().iter().find(|gap| gap.is_needed_by(case)) {
        panic!("{id}: the harness has {} as a gap ({}), so it cannot be claimed", gap.claim, gap.reason);
    }
    let seed = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or_default();
    let (info, time_max) = (harness.info(), harness.case_time_max());
    let attempt = run_apart(case, move || harness, seed, time_max);
    let status = attempt.status();
    if status.is_failure() || status == Status::Skipped {
        let TestPlace { package, target } = place;
        let test = id.replace('.', "::");
        let again = format!(
            "{SEED}={seed} cargo test -p {package} --test {target} -- --include-ignored --exact {test}"
        );
        let report = attempt.report(case, status, seed, again);
        panic!("on {} {}: {}", info.name, info.version, report.in_full());
    }
}
