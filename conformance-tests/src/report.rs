//! The report of a run of the suite, as data. Submodules judge and render it.

mod badge;
mod console;
mod json;
mod junit;
mod markdown;
#[cfg(test)]
mod tests;
mod verdict;

use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use holdover_store::Capabilities;
use serde::{Deserialize, Serialize};

pub use self::verdict::{LevelReport, Verdict};
use crate::case::{Capability, Case, Kind, Level};
use crate::failure::FoundBy;
use crate::gap::Gap;
use crate::harness::StoreInfo;
use crate::latency::{Latencies, OperationReport};
use crate::settings::Settings;
use crate::status::Status;

/// The version of the suite.
pub const SUITE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The report of a run of the suite. In JSON, the names of the fields are the same. `format` rises when a field changes
/// its meaning or is removed, not when a field is added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The version of the report's schema.
    pub format: u32,
    /// The version of the suite.
    pub suite: String,
    /// The store that was tested.
    pub store: StoreInfo,
    /// The level that the verdict is about.
    pub level: Level,
    /// The verdict on `level`.
    pub verdict: Verdict,
    /// The verdict on each level.
    pub levels: Vec<LevelReport>,
    /// The capabilities that the store declares. `None` if no case ran to its end.
    pub capabilities: Option<Capabilities>,
    /// The levels and capabilities that the store does not claim, with reasons.
    pub gaps: Vec<Gap>,
    /// The filter, if there was one.
    pub filter: Option<String>,
    /// The number of cases that the filter left out. They are not in `cases`.
    pub left_out: usize,
    /// The seed and the amount of random work. In JSON, these are fields of the report itself.
    #[serde(flatten)]
    pub settings: Settings,
    /// The reason why the run was stopped before its end. A stopped run has failed.
    pub stopped: Option<String>,
    /// The duration of the run.
    pub milliseconds: u64,
    /// The durations of the store's operations.
    pub operations: Vec<OperationReport>,
    /// Every case that the filter selects, in the order of the suite. Cases that were skipped are included.
    pub cases: Vec<CaseReport>,
}

/// The report of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CaseReport {
    /// The id of the case, `category.name`. It never changes.
    pub id: String,
    /// The behaviour that the case requires.
    pub title: String,
    /// The level that the case belongs to.
    pub level: Level,
    /// The capability that the case tests, if only some stores have it.
    pub needs: Option<Capability>,
    /// The way in which the case tests the store.
    pub kind: Kind,
    /// The sentence of the contract that the case checks.
    pub clause: String,
    /// The status of the case.
    pub status: Status,
    /// The duration of the case. 0 if it was skipped.
    pub milliseconds: u64,
    /// The reason why the case was skipped.
    pub skipped: Option<String>,
    /// Set if a verdict needs the result of this case and lacks it: the case was skipped before it ran and tests no
    /// optional capability, or it was claimed, applies to the store, and could not be run.
    pub missed: bool,
    /// The failure, if the case failed.
    pub failure: Option<CaseFailure>,
}

/// The failure of a case, with everything that is needed to find the fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CaseFailure {
    /// The text of what was expected and found.
    pub found: String,
    /// The way in which the failure was found.
    #[serde(default)]
    pub found_by: FoundBy,
    /// The line of the suite that found the failure.
    pub at: String,
    /// The harm that such a store does.
    pub why: String,
    /// The seed of the run.
    pub seed: u64,
    /// The newest operations with their answers, oldest first.
    pub history: Vec<String>,
    /// The command that runs the case again.
    pub again: String,
}

/// The data from which a report is made.
pub(crate) struct Run {
    pub(crate) store: StoreInfo,
    pub(crate) level: Level,
    pub(crate) filter: Option<String>,
    pub(crate) left_out: usize,
    pub(crate) settings: Settings,
    pub(crate) stopped: Option<String>,
    pub(crate) took: Duration,
    pub(crate) capabilities: Option<Capabilities>,
    pub(crate) latencies: Latencies,
    pub(crate) cases: Vec<CaseReport>,
    pub(crate) gaps: Vec<Gap>,
}

impl Report {
    /// The version of the schema that this crate writes.
    pub const FORMAT: u32 = 1;

    pub(crate) fn of(run: Run) -> Self {
        let levels =
            Level::ALL.map(|level| verdict::judge(level, &run.cases, run.left_out, run.filter.is_some()));
        let levels = Vec::from(levels);
        Self {
            format: Self::FORMAT,
            suite: SUITE_VERSION.to_owned(),
            store: run.store,
            level: run.level,
            verdict: verdict::overall(run.level, &levels, &run.cases, run.stopped.is_some()),
            levels,
            capabilities: run.capabilities,
            gaps: run.gaps,
            filter: run.filter,
            left_out: run.left_out,
            settings: run.settings,
            stopped: run.stopped,
            milliseconds: u64::try_from(run.took.as_millis()).unwrap_or(u64::MAX),
            operations: run.latencies.reports(),
            cases: run.cases,
        }
    }

    /// Returns the verdict on the level of the report. A program should exit with success only if it is
    /// [`Verdict::Passed`].
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns the cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &CaseReport> {
        self.cases.iter().filter(|case| case.status.is_failure())
    }

    /// Returns the categories in the order of the suite, each with its cases.
    fn categories(&self) -> Vec<(&str, Vec<&CaseReport>)> {
        let mut categories: Vec<(&str, Vec<&CaseReport>)> = Vec::new();
        for case in &self.cases {
            match categories.iter_mut().find(|(name, _)| *name == case.category()) {
                Some((_, cases)) => cases.push(case),
                None => categories.push((case.category(), vec![case])),
            }
        }
        categories
    }

    /// Returns a short description of the store and its backend.
    fn tested(&self) -> String {
        let StoreInfo { name, version } = &self.store;
        match &self.capabilities {
            Some(capabilities) => format!("{name} {version} on {}", capabilities.backend),
            None => format!("{name} {version}"),
        }
    }
}

impl CaseReport {
    /// Creates the report of a case with this status and no details.
    pub(crate) fn new(case: &Case, status: Status) -> Self {
        Self {
            id: case.id.to_owned(),
            title: case.title.to_owned(),
            level: case.level,
            needs: case.needs,
            kind: case.kind,
            clause: case.clause.to_owned(),
            status,
            milliseconds: 0,
            skipped: None,
            missed: false,
            failure: None,
        }
    }

    /// Creates the report of a case that was not run.
    pub(crate) fn skipped(case: &Case, reason: &str) -> Self {
        let missed = case.needs.is_none_or(|capability| !capability.is_optional());
        Self { skipped: Some(reason.to_owned()), missed, ..Self::new(case, Status::Skipped) }
    }

    /// Returns the part of the id before the dot.
    pub fn category(&self) -> &str {
        self.id.split_once('.').map_or(self.id.as_str(), |(category, _)| category)
    }

    /// Returns the full description of the case in several lines, or one line if the case did not fail.
    pub fn in_full(&self) -> String {
        let mut text = format!("{}: {}\n", self.id, self.status);
        if let Some(failure) = &self.failure {
            let _ = write!(text, "  {}\n  clause: {}\n{failure}", self.title, self.clause);
        }
        text
    }
}

impl fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  why: {}\n  {}\n    at {}", self.why, self.found, self.at)?;
        writeln!(f, "  history (newest last):")?;
        for operation in &self.history {
            writeln!(f, "    {}", operation.replace('\n', "\n    "))?;
        }
        writeln!(f, "  seed: {}\n  again: {}", self.seed, self.again)
    }
}

/// The numbers of cases by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    fn of<'a>(cases: impl IntoIterator<Item = &'a CaseReport>) -> Self {
        cases.into_iter().fold(Self::default(), |mut counts, case| {
            match case.status {
                Status::Passed => counts.passed += 1,
                Status::Failed | Status::Flaky | Status::NotImplemented => counts.failed += 1,
                Status::Skipped => counts.skipped += 1,
            }
            counts
        })
    }

    fn all(self) -> usize {
        self.passed + self.failed + self.skipped
    }
}
