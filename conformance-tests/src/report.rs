//! The report of a run of the suite, as data. The modules below render it.

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

/// What came of a run of the suite. As JSON, its fields are the fields of the report; `format` rises when
/// one of them changes its meaning or goes, not when one is added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The version of this schema.
    pub format: u32,
    /// The version of the suite.
    pub suite: String,
    /// What was tested.
    pub store: StoreInfo,
    /// The level that was asked for.
    pub level: Level,
    /// The verdict on it.
    pub verdict: Verdict,
    /// The verdict on each level.
    pub levels: Vec<LevelReport>,
    /// What the store says of itself; none if no case was run.
    pub capabilities: Option<Capabilities>,
    /// What it does not claim, and why.
    pub gaps: Vec<Gap>,
    /// The filter, if there was one.
    pub filter: Option<String>,
    /// How many cases the filter left out. They are not among `cases`.
    pub left_out: usize,
    /// What was drawn at random, and how much of it: fields of the report itself.
    #[serde(flatten)]
    pub settings: Settings,
    /// Why the run was stopped before its end, if it was. Then it has failed.
    pub stopped: Option<String>,
    /// How long the run took.
    pub milliseconds: u64,
    /// How long the operations of the store took.
    pub operations: Vec<OperationReport>,
    /// Every case, in the order of the suite.
    pub cases: Vec<CaseReport>,
}

/// How one case went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CaseReport {
    /// `category.name`, for ever.
    pub id: String,
    /// What a store does that passes.
    pub title: String,
    /// The level that needs it.
    pub level: Level,
    /// The optional capability that it is about.
    pub needs: Option<Capability>,
    /// How it goes about it.
    pub kind: Kind,
    /// The sentence of the contract that it checks.
    pub clause: String,
    /// How it went.
    pub status: Status,
    /// How long it took.
    pub milliseconds: u64,
    /// Why it was skipped.
    pub skipped: Option<String>,
    /// Whether a verdict on its level misses it: it was skipped, is about no optional capability, and there was
    /// something to find out.
    pub missed: bool,
    /// Why it failed.
    pub failure: Option<CaseFailure>,
}

/// Why a case failed, with all that is needed to find the fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CaseFailure {
    /// What was expected and what was found.
    pub found: String,
    /// How the case came to know.
    #[serde(default)]
    pub found_by: FoundBy,
    /// The line of the suite that looked.
    pub at: String,
    /// What goes wrong with such a store.
    pub why: String,
    /// The seed.
    pub seed: u64,
    /// The newest operations with their answers, oldest first.
    pub history: Vec<String>,
    /// The command that repeats it.
    pub again: String,
}

/// What a run brings to its report.
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

    /// The verdict on the level that was asked for. A program ends well only if it is
    /// [`Verdict::Passed`].
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The cases in which the store did not do what it should.
    pub fn failures(&self) -> impl Iterator<Item = &CaseReport> {
        self.cases.iter().filter(|case| case.status.is_failure())
    }

    /// The categories in the order of the suite, each with its cases.
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

    /// The store and where it keeps things, in a few words.
    fn tested(&self) -> String {
        let StoreInfo { name, version } = &self.store;
        match &self.capabilities {
            Some(capabilities) => format!("{name} {version} on {}", capabilities.backend),
            None => format!("{name} {version}"),
        }
    }
}

impl CaseReport {
    /// A case that went so, with nothing said about it yet.
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

    /// A case that was not run.
    pub(crate) fn skipped(case: &Case, reason: &str) -> Self {
        let missed = case.needs.is_none_or(|capability| !capability.is_optional());
        Self { skipped: Some(reason.to_owned()), missed, ..Self::new(case, Status::Skipped) }
    }

    /// What comes before the dot of the id.
    pub fn category(&self) -> &str {
        self.id.split_once('.').map_or(self.id.as_str(), |(category, _)| category)
    }

    /// Everything there is to say about it, over many lines. One line if it did not fail.
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

/// How many cases went how.
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
