//! The second entry point: runs all cases from a program, and reports on them.

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
    pub(crate) make: Arc<dyn Fn() -> H + Send + Sync>,
    pub(crate) level: Option<Level>,
    pub(crate) filter: Option<String>,
    pub(crate) settings: Settings,
    pub(crate) jobs: usize,
    pub(crate) case_time_max: Option<Duration>,
    pub(crate) again: Option<String>,
    pub(crate) tell: Tell,
}

/// Who is told of each case.
type Tell = Box<dyn Fn(Progress<'_>) + Send + Sync>;

/// A case that has just ended, and how far the run is with it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// How the case went.
    pub case: &'a CaseReport,
    /// How many cases have ended, this one among them.
    pub ended: usize,
    /// How many are run.
    pub of: usize,
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
            settings: Settings::default(),
            jobs,
            case_time_max: None,
            again: None,
            tell: Box::new(|_| {}),
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
        self.settings.seed = seed;
        self
    }

    /// Plays so many scripts in each comparison with the model, in as much more time. Left out: 16.
    #[must_use]
    pub fn scripts(mut self, scripts: NonZeroU32) -> Self {
        self.settings.scripts = scripts;
        self
    }

    /// Kills so many processes in each case that kills, in as much more time. Left out: 40.
    #[must_use]
    pub fn kills(mut self, kills: NonZeroU32) -> Self {
        self.settings.kills = kills;
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

    /// Tells of each case as soon as it has ended, one at a time, in the order in which they end. Cases that are
    /// skipped before anything runs are not told of.
    #[must_use]
    pub fn on_case(mut self, tell: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// The command that runs this suite, for the text of failures: ` --filter ID --seed N` is put after it, and
    /// ` --scripts N` or ` --kills N` where they were set.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.again = Some(command.into());
        self
    }

    /// Runs the cases. A case that panics or hangs has failed; the others go on. Each has a runtime of its
    /// own, so it does not matter in which this is called. A case that failed is run once more, unless its time
    /// was over: if it passes then, it is [`Flaky`](crate::Status::Flaky), which is a failure too.
    ///
    /// The run is stopped, and has failed, when the harness cannot make an instance, a peer of it, and open it
    /// again, each once and within the time of a case; and when three cases one after the other had no end in
    /// their time. [`Report::stopped`] says so.
    ///
    /// # Panics
    /// When no harness can be made to ask what it tests.
    pub async fn run(self) -> Report {
        let (tell, told) = oneshot::channel();
        thread::spawn(move || {
            // Nobody listens any more if the caller's future was dropped.
            let _ = tell.send(conduct(&self));
        });
        match told.await {
            Ok(report) => report,
            Err(_) => panic!("the suite could not be run; what stopped it is on standard error"),
        }
    }
}
