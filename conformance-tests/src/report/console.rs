//! The report for a terminal: categories with their counts, failures in full, and the verdict last.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Counts, Report, SUITE_VERSION, Verdict};
use crate::status::Status;

impl Report {
    /// Returns the report as text for a terminal. Passed cases are only counted, and failed cases are shown in full
    /// after the counts. The last line is the verdict.
    pub fn console(&self) -> String {
        let mut text = format!("{}, suite {SUITE_VERSION}, {}\n\n", self.tested(), self.settings);
        for (category, cases) in self.categories() {
            let counts = Counts::of(cases.iter().copied());
            let _ = writeln!(text, "{category:<12}{}", in_words(counts));
            for case in cases.iter().filter(|case| case.status.is_failure()) {
                let _ = writeln!(text, "  {:<15} {}", case.status, case.id);
            }
        }
        self.skipped(&mut text);
        for case in self.failures() {
            let _ = write!(text, "\n{}", case.in_full());
        }
        text.push('\n');
        if let Some(stopped) = &self.stopped {
            let _ = writeln!(text, "STOPPED: {stopped}\n");
        }
        for level in &self.levels {
            let counts = Counts { passed: level.passed, failed: level.failed, skipped: level.skipped };
            let _ = write!(text, "{:<12}{:<11} {}", level.level, level.verdict, in_words(counts));
            match &level.incomplete {
                Some(reason) if level.verdict == Verdict::Incomplete => {
                    let _ = writeln!(text, "; {reason}");
                }
                Some(_) | None => text.push('\n'),
            }
        }
        let _ = writeln!(text, "{}", self.last_line());
        text
    }

    /// Appends the reasons why cases were skipped, each with the number of its cases.
    fn skipped(&self, text: &mut String) {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for case in self.cases.iter().filter(|case| case.status == Status::Skipped) {
            *reasons.entry(case.skipped.as_deref().unwrap_or_default()).or_default() += 1;
        }
        if !reasons.is_empty() {
            text.push('\n');
        }
        for (reason, count) in reasons {
            let _ = writeln!(text, "{count} skipped: {reason}");
        }
    }

    fn last_line(&self) -> String {
        let counts = Counts::of(&self.cases);
        let seconds = self.milliseconds as f64 / 1000.0;
        format!("{}: {}, {} in {seconds:.1} s", self.verdict, self.level, in_words(counts))
    }
}

/// Lists the counts that are not zero.
fn in_words(counts: Counts) -> String {
    let named = [(counts.passed, "passed"), (counts.failed, "FAILED"), (counts.skipped, "skipped")];
    let words = named.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "no cases".to_owned() } else { words.join(", ") }
}
