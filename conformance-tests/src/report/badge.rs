//! The report as a badge for the top of a README.

use serde_json::json;

use super::{Counts, Report, Verdict};

impl Report {
    /// Returns the report as a badge, in the schema of shields.io endpoints.
    pub fn badge(&self) -> String {
        let counts = Counts::of(&self.cases);
        let (message, color) = match self.verdict {
            Verdict::Passed => (format!("{}, {} cases", self.level, counts.passed), "brightgreen"),
            Verdict::Failed => (format!("{} of {} cases failed", counts.failed, counts.all()), "red"),
            Verdict::Incomplete => ("incomplete".to_owned(), "lightgrey"),
        };
        let badge = json!({
            "schemaVersion": 1,
            "label": "holdover conformance",
            "message": message,
            "color": color,
            "isError": self.verdict == Verdict::Failed,
        });
        format!("{badge}\n")
    }
}
