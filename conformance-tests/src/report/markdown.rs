//! For a repository: nothing in it changes from run to run unless the store, the suite or the outcome does.

use std::fmt::Write as _;

use holdover_core::store::{Capabilities, CommitSurvives, SharedBy};

use super::{Counts, Report, SUITE_VERSION};
use crate::runner::Status;

impl Report {
    /// The report as a page of Markdown. Without seed and times, so that two runs with the same outcome
    /// give the same page.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Conformance of {}\n\n**{}: {}** · version {} · suite {SUITE_VERSION}\n",
            self.store.name, self.level, self.verdict, self.store.version,
        );
        if let Some(capabilities) = &self.capabilities {
            let _ = write!(text, "\n{}\n", promise(capabilities));
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

    fn gaps_and_failures(&self, text: &mut String) {
        if let Some(filter) = &self.filter {
            let _ = write!(text, "\nOnly {}: {} cases were left out.\n", code(filter), self.left_out);
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

/// What a store promises, in a sentence.
fn promise(capabilities: &Capabilities) -> String {
    let survives = match capabilities.commit_survives {
        CommitSurvives::Nothing => "does not survive its process",
        CommitSurvives::ProcessKill => "survives the death of its process",
        CommitSurvives::PowerCut => "survives a power cut",
        CommitSurvives::Failover => "survives the loss of its server",
    };
    let shared = match capabilities.shared_by {
        SharedBy::Process => "handles within one process",
        SharedBy::Machine => "the processes of one machine",
        SharedBy::Network => "many machines",
    };
    let backend = &capabilities.backend;
    format!("{backend}: an acknowledged commit {survives}; the data is shared by {shared}.")
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}
