//! The verdict of a run on a level.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CaseReport, Counts};
use crate::case::Level;
use crate::status::Status;

/// The verdict on a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Every case of the level and of those below it passed, except for cases of unclaimed optional capabilities and
    /// cases that do not apply to the store.
    Passed,
    /// A case failed, or (in the verdict on the whole report) the run was stopped.
    Failed,
    /// No case failed, but a case that the level needs was not run, so nothing is proved.
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

/// The verdict on one level, with its counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelReport {
    /// The level.
    pub level: Level,
    /// The verdict on this level and the levels below it.
    pub verdict: Verdict,
    /// The number of this level's cases that passed.
    pub passed: usize,
    /// The number of this level's cases that failed.
    pub failed: usize,
    /// The number of this level's cases that were not run.
    pub skipped: usize,
    /// The reason why the run cannot prove that the store passes the level. `None` if every case that the level needs
    /// was run.
    pub incomplete: Option<String>,
}

/// Judges `level` by its cases and those of the levels below. Cases of optional capabilities count if they were run,
/// and are not missed if the store does not claim them.
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

/// Returns the verdict on the level of the report. It is the level's own verdict, unless any case failed or the run was
/// stopped; then it is [`Verdict::Failed`].
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
