//! The report as JSON, for programs.

use super::Report;

impl Report {
    /// The report as JSON, in lines. Its schema is the fields of [`Report`], in snake case; levels, kinds
    /// and verdicts are in snake case too, statuses in capitals.
    pub fn json(&self) -> String {
        // Strings, numbers and lists of them: nothing that JSON cannot hold.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
