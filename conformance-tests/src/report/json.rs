//! The report as JSON, for programs.

use super::Report;

impl Report {
    /// Returns the report as indented JSON. Its fields are those of [`Report`]. Fields, levels, kinds and verdicts are
    /// in snake case; statuses are in capitals.
    pub fn json(&self) -> String {
        // Every value of a report has a form in JSON, so this does not fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
