//! The verdict of a run on a level.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CaseReport, Counts};
use crate::case::Level;
use crate::status::Status;

/// What a run says about a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Every case of the level and of those below it was run and passed.
    Passed,
    /// A case that was run failed.
    Failed,
    /// None failed, but not every case was run: nothing is proved.
    Incomplete,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
        })
    }
}

/// The verdict on a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelReport {
    /// The level.
    pub level: Level,
    /// The verdict on it and on those below it.
    pub verdict: Verdict,
    /// Its own cases that passed.
    pub passed: usize,
    /// Its own cases that failed.
    pub failed: usize,
    /// Its own cases that were not run.
    pub skipped: usize,
    /// Why nothing is proved, if nothing is.
    pub incomplete: Option<String>,
}

/// What these cases say about `level`. Cases of optional capabilities count when they are run, and are not
/// missed when they are not.
pub(super) fn judge(level: Level, cases: &[CaseReport], left_out: usize, filtered: bool) -> LevelReport {
    let needed = || cases.iter().filter(|case| case.level <= level);
    let failed = needed().any(|case| case.status.is_failure());
    let incomplete = why_incomplete(needed(), left_out, filtered);
    let verdict = match (failed, &incomplete) {
        (true, _) => Verdict::Failed,
        (false, Some(_)) => Verdict::Incomplete,
        (false, None) => Verdict::Passed,
    };
    let Counts { passed, failed, skipped } = Counts::of(cases.iter().filter(|case| case.level == level));
    LevelReport { level, verdict, passed, failed, skipped, incomplete }
}

/// The verdict on the level that was asked for: its own, unless a case above it was run and failed, or the run
/// was stopped.
pub(super) fn overall(level: Level, levels: &[LevelReport], cases: &[CaseReport], stopped: bool) -> Verdict {
    if stopped || cases.iter().any(|case| case.status.is_failure()) {
        return Verdict::Failed;
    }
    let asked = levels.iter().find(|one| one.level == level);
    asked.map_or(Verdict::Incomplete, |one| one.verdict)
}

fn why_incomplete<'a>(
    needed: impl Iterator<Item = &'a CaseReport> + Clone,
    left_out: usize,
    filtered: bool,
) -> Option<String> {
    if filtered {
        return Some(format!("the filter left {left_out} cases out"));
    }
    let ran = needed.clone().filter(|case| case.status != Status::Skipped).count();
    let skipped = needed.filter(|case| case.missed);
    let reasons: Vec<&str> =
        skipped.map(|case| case.skipped.as_deref().unwrap_or("no reason given")).collect();
    match reasons.first() {
        Some(reason) => Some(format!("{} cases were not run: {reason}", reasons.len())),
        None if ran == 0 => Some("no case was run".into()),
        None => None,
    }
}
