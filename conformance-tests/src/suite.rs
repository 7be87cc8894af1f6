//! Runs the cases from a program and reports the results. The other entry point is the macro `conformance_tests!`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures::channel::oneshot;

use crate::case::Level;
use crate::conduct::conduct;
use crate::harness::StoreHarness;
use crate::report::{CaseReport, Report};
use crate::settings::Settings;

/// A run of the suite against one store. [`run`](Self::run) runs the cases and reports the results.
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
    pub(crate) make: Arc<dyn Fn() -> H + Send + Sync>,
    pub(crate) level: Option<Level>,
    pub(crate) filter: Option<String>,
    pub(crate) settings: Settings,
    pub(crate) jobs: usize,
    pub(crate) case_time_max: Option<Duration>,
    pub(crate) again: Option<String>,
    pub(crate) tell: Tell,
}

/// A callback that is called after each case.
type Tell = Box<dyn Fn(Progress<'_>) + Send + Sync>;

/// A case that has just ended, and the progress of the run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The report of the case.
    pub case: &'a CaseReport,
    /// The number of cases that have ended, including this one.
    pub ended: usize,
    /// The number of cases in this run.
    pub of: usize,
}

impl<H: StoreHarness> Suite<H> {
    /// Creates a suite of all cases that the store claims. `make` creates a harness of its own for each run of a case,
    /// so no two cases share a clock unless `make` shares it.
    pub fn new(make: impl Fn() -> H + Send + Sync + 'static) -> Self {
        let jobs = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            make: Arc::new(make),
            level: None,
            filter: None,
            settings: Settings::default(),
            jobs,
            case_time_max: None,
            again: None,
            tell: Box::new(|_| {}),
        }
    }

    /// Sets the level that the verdict is about, and skips the cases above it. By default, the verdict is about the
    /// highest level that the store claims together with all levels below it, and every claimed case runs.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Runs only some cases: the case with this id, else the cases of this category, else the cases whose id contains
    /// `filter`. The verdict of a filtered run is never [`Passed`](crate::Verdict::Passed).
    #[must_use]
    pub fn filter(mut self, filter: &str) -> Self {
        self.filter = Some(filter.to_owned());
        self
    }

    /// Sets the seed of the order of cases and of all random choices in cases.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Sets the number of random scripts in each comparison with the model, and of random histories that are checked.
    /// The time limit of these cases grows with it. The default is 16.
    #[must_use]
    pub fn scripts(mut self, scripts: NonZeroU32) -> Self {
        self.settings.scripts = scripts;
        self
    }

    /// Sets the number of processes that each kill case kills. The time limit of these cases grows with it. The default
    /// is 40.
    #[must_use]
    pub fn kills(mut self, kills: NonZeroU32) -> Self {
        self.settings.kills = kills;
        self
    }

    /// Sets the number of cases that run at a time, at least one. The default is the number of processors.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// Sets the real time after which a case counts as hanging and fails. The default is that of the harness. Cases
    /// whose [`scripts`](Self::scripts) or [`kills`](Self::kills) are raised get proportionally more time.
    #[must_use]
    pub fn case_time_max(mut self, time: Duration) -> Self {
        self.case_time_max = Some(time);
        self
    }

    /// Calls `tell` after each case, one call at a time, in the order in which the cases end. Cases that are skipped
    /// before the run begins are not reported.
    #[must_use]
    pub fn on_case(mut self, tell: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// Sets the command that failures print for running a case again. ` --filter ID --seed N` is appended to the
    /// command, and ` --scripts N` and ` --kills N` if they differ from the default.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.again = Some(command.into());
        self
    }

    /// Runs the cases. A case that panics or hangs fails; the other cases continue. Each case has its own runtime, so
    /// this method may be called in any runtime. A case that failed runs once more, unless it ran out of time. If it
    /// then passes, it is [`Flaky`](crate::Status::Flaky), which is a failure too.
    ///
    /// The run stops and fails for one of two reasons: the harness cannot create an instance, open a peer of it and
    /// reopen it, all within the time limit of one case; or three cases in a row run out of time. [`Report::stopped`]
    /// holds the reason.
    ///
    /// # Panics
    /// If `make` panics when it is first called, if `info`, `gaps` or `case_time_max` of that harness panics, or if the
    /// callback of [`on_case`](Self::on_case) panics.
    pub async fn run(self) -> Report {
        let (tell, told) = oneshot::channel();
        thread::spawn(move || {
            // The send fails if the caller's future was dropped.
            let _ = tell.send(conduct(&self));
        });
        match told.await {
            Ok(report) => report,
            Err(_) => panic!("the suite could not be run; what stopped it is on standard error"),
        }
    }
}
