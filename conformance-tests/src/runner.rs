//! Runs one case, for tests.

use std::collections::BTreeSet;

use crate::attempt::Attempt;
use crate::case::Case;
use crate::cases;
use crate::gap::Claim;
use crate::harness::StoreHarness;
use crate::report::CaseReport;
use crate::settings::Settings;
use crate::status::Status;
use crate::world::Worlds;

/// Where a case runs as a test, to say how to run it again.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TestPlace {
    /// The package.
    pub package: &'static str,
    /// The test target.
    pub target: &'static str,
}

impl TestPlace {
    /// A test target of a package.
    pub fn new(package: &'static str, target: &'static str) -> Self {
        Self { package, target }
    }
}

/// Runs one case once, in the tokio runtime of the caller: without a time limit, and panicking with the store.
pub async fn run<H: StoreHarness>(case: &Case, harness: H, settings: Settings) -> CaseReport {
    let worlds = Worlds::new(harness);
    let attempt = Attempt::here(case, &worlds, settings).await;
    worlds.dispose().await;
    let again = format!("run the case {} with {settings}", case.id);
    attempt.report(case, attempt.status(), settings, again)
}

/// Runs the case `id` as a test: panics unless it passes, or has nothing to find out about this store. What
/// [`conformance_tests!`](crate::conformance_tests) expands to. [`Settings`] are those of the variables
/// `HOLDOVER_SUITE_SEED`, `HOLDOVER_SUITE_SCRIPTS` and `HOLDOVER_SUITE_KILLS`.
pub fn check<H: StoreHarness>(id: &str, harness: H, place: TestPlace) {
    let Some(case) = cases::all().find(|case| case.id == id) else {
        panic!("the suite has no case {id}");
    };
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => panic!("{error}"),
    };
    let (info, time_max) = (harness.info(), harness.case_time_max());
    let attempt = Attempt::apart(case, move || harness, settings, time_max);
    let TestPlace { package, target } = place;
    let test = id.replace('.', "::");
    let again = format!(
        "{}cargo test -p {package} --test {target} -- --include-ignored --exact {test}",
        settings.as_variables()
    );
    let report = attempt.report(case, attempt.status(), settings, again);
    match (report.status, &report.skipped) {
        (Status::Passed, _) => {}
        (Status::Skipped, reason) if !report.missed => {
            // Tests have no other way to say that they were not run.
            #[allow(clippy::print_stdout, reason = "for whoever runs the test")]
            {
                println!("{id}: {}: {}", report.status, reason.as_deref().unwrap_or_default());
            }
        }
        (Status::Skipped, reason) => panic!("{id}: not run: {}", reason.as_deref().unwrap_or_default()),
        (Status::Failed | Status::Flaky | Status::NotImplemented, _) => {
            panic!("on {} {}: {}", info.name, info.version, report.in_full())
        }
    }
}

/// Panics unless these are the claims of the harness: everything but its gaps. Those of
/// [`conformance_tests!`](crate::conformance_tests) are named before anything runs, and a case that no claim
/// stands for is ignored without a word.
pub fn check_claims<H: StoreHarness>(harness: &H, claims: &[&str]) {
    let gaps = harness.gaps();
    let left = Claim::all().filter(|claim| !gaps.iter().any(|gap| gap.claim == *claim));
    let left: BTreeSet<String> = left.map(|claim| claim.to_string()).collect();
    let named: BTreeSet<String> = claims.iter().map(|claim| (*claim).to_owned()).collect();
    let missing: Vec<_> = left.difference(&named).collect();
    let surplus: Vec<_> = named.difference(&left).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "the claims are not everything but the gaps of the harness: neither claimed nor a gap are {missing:?}, \
         claimed and a gap are {surplus:?}"
    );
}
