//! Runs one case, or all cases as tests.

use std::collections::BTreeSet;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::attempt::Attempt;
use crate::case::Case;
use crate::cases;
use crate::gap::Claim;
use crate::harness::StoreHarness;
use crate::report::CaseReport;
use crate::settings::Settings;
use crate::status::Status;
use crate::world::Worlds;

/// Runs one case once in the caller's tokio runtime. There is no time limit, and a panic of the store is not caught.
pub async fn run<H: StoreHarness>(case: &Case, harness: H, settings: Settings) -> CaseReport {
    let worlds = Worlds::new(harness);
    let attempt = Attempt::here(case, &worlds, settings).await;
    worlds.dispose().await;
    let again = format!("run the case {} with {settings}", case.id);
    attempt.report(case, attempt.status(), settings, again)
}

/// The tests of a test target. [`conformance_tests!`](crate::conformance_tests) expands to this.
#[derive(Debug)]
pub struct StoreTests {
    package: &'static str,
    target: &'static str,
    tests: Vec<Trial>,
}

impl StoreTests {
    /// Creates an empty list of tests for a target of a package. Failures name both in the command that repeats a test.
    pub fn of(package: &'static str, target: &'static str) -> Self {
        Self { package, target, tests: Vec::new() }
    }

    /// Adds one test for each case and one that checks `claims`. `make` makes the harness of each test. If `name` is
    /// not empty, it is the prefix of the tests' names.
    #[must_use]
    pub fn store<H: StoreHarness>(
        mut self,
        name: &str,
        make: impl Fn() -> H + Clone + Send + 'static,
        claims: &'static [&'static str],
    ) -> Self {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}::") };
        for case in cases::all() {
            let test = format!("{prefix}{}", case.id.replace('.', "::"));
            let (package, target) = (self.package, self.target);
            let again =
                format!("cargo test -p {package} --test {target} -- --include-ignored --exact {test}");
            let (make, claim) = (make.clone(), case.claim().to_string());
            let trial = Trial::test(test, move || check(case, make(), &again));
            self.tests.push(match claims.contains(&claim.as_str()) {
                true => trial,
                false => trial.with_kind(format!("{claim} is not claimed")).with_ignored_flag(true),
            });
        }
        let compared = move || check_claims(&make(), claims);
        self.tests.push(Trial::test(format!("{prefix}claims::are_everything_but_the_gaps"), compared));
        self
    }

    /// Runs the tests that the arguments of this process select, and returns the exit code of the process.
    pub fn run(self) -> ExitCode {
        libtest_mimic::run(&Arguments::from_args(), self.tests).exit_code()
    }
}

/// Fails unless the case passes or does not apply to this store. The [`Settings`] come from the environment variables
/// `HOLDOVER_SUITE_SEED`, `HOLDOVER_SUITE_SCRIPTS` and `HOLDOVER_SUITE_KILLS`.
fn check<H: StoreHarness>(case: &'static Case, harness: H, again: &str) -> Result<(), Failed> {
    let settings = Settings::from_environment()?;
    let (id, info, time_max) = (case.id, harness.info(), harness.case_time_max());
    let attempt = Attempt::isolated(case, move || harness, settings, time_max);
    let again = format!("{}{again}", settings.as_variables());
    let report = attempt.report(case, attempt.status(), settings, again);
    let reason = report.skipped.as_deref().unwrap_or_default();
    match report.status {
        Status::Passed => Ok(()),
        Status::Skipped if !report.missed => {
            // A test has no other way to say that it was not run.
            #[allow(clippy::print_stdout, reason = "for whoever runs the test")]
            {
                println!("{id}: {}: {reason}", report.status);
            }
            Ok(())
        }
        Status::Skipped => Err(format!("{id}: not run: {reason}").into()),
        Status::Failed | Status::Flaky | Status::NotImplemented => {
            Err(format!("on {} {}: {}", info.name, info.version, report.in_full()).into())
        }
    }
}

/// Fails unless the claims are everything but the gaps of the harness. The claims are named before anything runs, and a
/// case without its claim is ignored.
fn check_claims<H: StoreHarness>(harness: &H, claims: &[&str]) -> Result<(), Failed> {
    let gaps = harness.gaps();
    let left = Claim::all().filter(|claim| !gaps.iter().any(|gap| gap.claim == *claim));
    let left: BTreeSet<String> = left.map(|claim| claim.to_string()).collect();
    let named: BTreeSet<String> = claims.iter().map(|claim| (*claim).to_owned()).collect();
    if left == named {
        return Ok(());
    }
    let missing: Vec<_> = left.difference(&named).collect();
    let surplus: Vec<_> = named.difference(&left).collect();
    Err(format!(
        "the claims are not everything but the gaps of the harness: neither claimed nor a gap are {missing:?}, \
         claimed and a gap are {surplus:?}"
    )
    .into())
}
