//! Runs one case once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover_store::{Capabilities, CommitSurvives};

use crate::bench::{Bench, Terms};
use crate::case::{Case, Level};
use crate::failure::{CaseResult, Failure, Kind};
use crate::harness::StoreHarness;
use crate::isolation::{Ended, isolated};
use crate::record::History;
use crate::report::{CaseFailure, CaseReport};
use crate::settings::Settings;
use crate::status::Status;
use crate::world::{World, Worlds};

/// When a case runs out of time, an operation counts as hanging if it has had no answer for the case's time limit
/// divided by this number.
const HANGS_SHARE: u32 = 4;

/// The result of running a case once.
pub(crate) struct Attempt {
    pub(crate) result: CaseResult,
    /// Set if the case did not end in time.
    pub(crate) out_of_time: bool,
    pub(crate) history: History,
    pub(crate) capabilities: Option<Capabilities>,
    pub(crate) took: Duration,
}

impl Attempt {
    /// Runs one case once in the caller's runtime. There is no time limit, and a panic of the store is not caught.
    pub(crate) async fn here<H: StoreHarness>(
        case: &Case,
        worlds: &Arc<Worlds<H>>,
        settings: Settings,
    ) -> Self {
        let (history, began) = (History::default(), Instant::now());
        let terms = Terms { settings, ends: None };
        let (result, capabilities) = perform(case, worlds, terms, history.clone()).await;
        Self { result, out_of_time: false, history, capabilities, took: began.elapsed() }
    }

    /// Runs one case once, in a runtime of its own. A case whose settings are raised gets more time than `time_max`.
    pub(crate) fn isolated<H: StoreHarness>(
        case: &'static Case,
        make: impl FnOnce() -> H + Send + 'static,
        settings: Settings,
        time_max: Duration,
    ) -> Self {
        let (history, began) = (History::default(), Instant::now());
        let time_max = settings.time_max(case, time_max);
        let terms = Terms { settings, ends: began.checked_add(time_max) };
        let (kept, mut no_end) = (history.clone(), None);
        let late = || no_end = Some(history.close(time_max / HANGS_SHARE));
        let ended =
            isolated(
                make,
                time_max,
                late,
                move |worlds| async move { perform(case, &worlds, terms, kept).await },
            );
        let failed = |failure: Failure| (Err(failure), None);
        let (result, capabilities) = match ended {
            Ended::Done(ended) => ended,
            Ended::Panicked(said) => failed(Failure::panicked(format!(
                "expected an end of the case\n    found    a panic: {said}"
            ))),
            Ended::OutOfTime => {
                let found = no_end.as_deref().unwrap_or("none");
                failed(Failure::hung(format!("expected an end within {time_max:?}\n    found    {found}")))
            }
            Ended::NotBegun(error) => failed(Failure::new(format!("no runtime for the case: {error}"))),
        };
        Self { result, out_of_time: no_end.is_some(), history, capabilities, took: began.elapsed() }
    }

    /// Returns the status of the case, from this attempt alone.
    pub(crate) fn status(&self) -> Status {
        match &self.result {
            Ok(()) => Status::Passed,
            Err(failure) => match failure.kind() {
                Kind::Failed(_) => Status::Failed,
                Kind::NotImplemented => Status::NotImplemented,
                Kind::NotRun | Kind::Moot => Status::Skipped,
            },
        }
    }

    /// Makes the report of this attempt with the given status.
    pub(crate) fn report(
        &self,
        case: &Case,
        status: Status,
        settings: Settings,
        again: String,
    ) -> CaseReport {
        if let (Status::Skipped, Err(reason)) = (status, &self.result) {
            let skipped = CaseReport::skipped(case, reason.text());
            // A claimed case that could not be run is missed, even if its capability is optional.
            return CaseReport { missed: reason.kind() != Kind::Moot, ..skipped };
        }
        let failure = self.result.as_ref().err().map(|failure| CaseFailure {
            found: failure.text().to_owned(),
            found_by: failure.found_by(),
            at: failure.place(),
            why: case.why.to_owned(),
            seed: settings.seed,
            history: self.history.texts(),
            again,
        });
        let milliseconds = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        CaseReport { milliseconds, failure, ..CaseReport::new(case, status) }
    }
}

/// Runs the case in a fresh store.
async fn perform<H: StoreHarness>(
    case: &Case,
    worlds: &Arc<Worlds<H>>,
    terms: Terms,
    history: History,
) -> (CaseResult, Option<Capabilities>) {
    let clock = worlds.harness().clock();
    let world = Arc::clone(worlds).fresh().await;
    let capabilities = world.store().capabilities();
    let result = match check_claim(case, &capabilities) {
        Ok(()) => (case.run)(Bench::new(Box::new(world), clock, history, terms)).await,
        Err(failure) => Err(failure),
    };
    (result, Some(capabilities))
}

/// Fails if the case is of the level durable and the capabilities of the store declare that commits survive nothing.
fn check_claim(case: &Case, capabilities: &Capabilities) -> CaseResult {
    match case.level {
        Level::Durable if capabilities.commit_survives == CommitSurvives::Nothing => Err(Failure::new(
            "expected commits that survive, as the level durable is claimed\n    found    capabilities that promise nothing",
        )),
        Level::Core | Level::Durable | Level::Distributed => Ok(()),
    }
}
