//! The report as Markdown, for a repository. It changes only if the store, the suite or the result changes.

use std::fmt::Write as _;

use holdover_store::{Capabilities, CommitSurvives, SharedBy};

use super::{Counts, Report, SUITE_VERSION};
use crate::case::Capability;
use crate::status::Status;

impl Report {
    /// Returns the report as a page of Markdown. It leaves out the seed and the times, so that two runs with the same
    /// result give the same page.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Conformance of {}\n\n**{}: {}** · version {} · suite {SUITE_VERSION}\n",
            self.store.name, self.level, self.verdict, self.store.version,
        );
        if let Some(capabilities) = &self.capabilities {
            let _ = write!(text, "\n{}\n", promise(capabilities, self.killed()));
        }
        text.push_str("\n| level | verdict | passed | failed | skipped |\n|---|---|---:|---:|---:|\n");
        for one in &self.levels {
            let (passed, failed, skipped) = (one.passed, one.failed, one.skipped);
            let _ = writeln!(text, "| {} | {} | {passed} | {failed} | {skipped} |", one.level, one.verdict);
        }
        text.push_str("\n| category | passed | failed | skipped |\n|---|---:|---:|---:|\n");
        for (category, cases) in self.categories() {
            let Counts { passed, failed, skipped } = Counts::of(cases);
            let _ = writeln!(text, "| {category} | {passed} | {failed} | {skipped} |");
        }
        self.gaps_and_failures(&mut text);
        text
    }

    /// Returns true if there are cases that kill a process, and all of them passed.
    fn killed(&self) -> bool {
        let mut kills =
            self.cases.iter().filter(|case| case.needs == Some(Capability::ChildProcess)).peekable();
        kills.peek().is_some() && kills.all(|case| case.status == Status::Passed)
    }

    fn gaps_and_failures(&self, text: &mut String) {
        if let Some(filter) = &self.filter {
            let _ = write!(text, "\nOnly {}: {} cases were left out.\n", code(filter), self.left_out);
        }
        if let Some(stopped) = &self.stopped {
            let _ = write!(text, "\nStopped: {stopped}.\n");
        }
        if !self.gaps.is_empty() {
            text.push_str("\n## Not claimed\n\n");
        }
        for gap in &self.gaps {
            let _ = writeln!(text, "- {}: {}", gap.claim, gap.reason);
        }
        let failures: Vec<_> = self.failures().collect();
        if !failures.is_empty() {
            text.push_str("\n## Failed\n\n");
        }
        for case in failures {
            let status = match case.status {
                Status::Failed => String::new(),
                Status::Flaky | Status::NotImplemented | Status::Passed | Status::Skipped => {
                    format!(" ({})", case.status)
                }
            };
            let _ = writeln!(text, "- {}{status}: {}", code(&case.id), case.title);
        }
    }
}

/// Returns the store's promise in one sentence. Promises that no case has checked are marked.
fn promise(capabilities: &Capabilities, killed: bool) -> String {
    // `checked`: a case killed a process, and another process found everything.
    let (survives, checked) = match capabilities.commit_survives {
        CommitSurvives::Nothing => ("does not survive its process", true),
        CommitSurvives::ProcessKill => ("survives the death of its process", killed),
        CommitSurvives::PowerCut => ("survives a power cut", false),
        CommitSurvives::Failover => ("survives the loss of its server", false),
    };
    let survives = format!("an acknowledged commit {survives}{}", own_word(checked));
    let (shared, checked) = match capabilities.shared_by {
        SharedBy::Process => ("handles within one process", true),
        SharedBy::Machine => ("the processes of one machine", killed),
        SharedBy::Network => ("many machines", false),
    };
    format!("{}: {survives}; the data is shared by {shared}{}.", capabilities.backend, own_word(checked))
}

fn own_word(checked: bool) -> &'static str {
    if checked { "" } else { " (the store's own word: no case checked it)" }
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}
