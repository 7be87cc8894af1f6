//! A table as a diagram, as JSON and as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::table::{Name, Nature, SESSION, Table};

/// The widths of the columns of the text, unless a name is longer.
const STATE_WIDTH: usize = 13;
const INPUT_WIDTH: usize = 20;

/// Returns the machine of a session as a Mermaid state diagram, generated from the table.
pub fn mermaid() -> String {
    SESSION.mermaid()
}

/// Returns the table of a session as JSON: a list of `{ from, on, to }`.
pub fn json() -> serde_json::Value {
    SESSION.json()
}

/// Returns the table of a session as text, one row per line.
pub fn text() -> String {
    SESSION.text()
}

fn names<N: Name>(of: &[N]) -> Vec<&str> {
    of.iter().map(Name::name).collect()
}

impl<S: Name, I: Name> Table<'_, S, I> {
    /// Returns the machine as a Mermaid state diagram.
    pub fn mermaid(&self) -> String {
        let mut edges: BTreeMap<(S, S), Vec<&str>> = BTreeMap::new();
        for row in self.rows {
            for to in row.to.iter().filter(|to| **to != row.from) {
                edges.entry((row.from, *to)).or_default().push(row.on.name());
            }
        }
        let mut text = format!("stateDiagram-v2\n    [*] --> {}\n", self.first.name());
        for ((from, to), inputs) in edges {
            // Writing to a String does not fail.
            let _ = writeln!(text, "    {} --> {}: {}", from.name(), to.name(), inputs.join(", "));
        }
        for (state, nature) in self.natures {
            let note = match nature {
                Nature::Rest => "at rest".to_owned(),
                Nature::Working => continue,
                Nature::Parked { woken_by, .. } => format!("parked, woken by {}", names(woken_by).join(", ")),
            };
            let _ = writeln!(text, "    note right of {}: {note}", state.name());
        }
        text
    }

    /// Returns the table as JSON: a list of `{ from, on, to }`.
    pub fn json(&self) -> serde_json::Value {
        let row =
            |from: &str, on: &str, to: Vec<&str>| serde_json::json!({ "from": from, "on": on, "to": to });
        self.rows.iter().map(|of| row(of.from.name(), of.on.name(), names(of.to))).collect()
    }

    /// Returns the table as text, one row per line.
    pub fn text(&self) -> String {
        let longest = |least: usize, names: &mut dyn Iterator<Item = usize>| names.fold(least, usize::max);
        let states = longest(STATE_WIDTH, &mut self.rows.iter().map(|row| row.from.name().len()));
        let inputs = longest(INPUT_WIDTH, &mut self.rows.iter().map(|row| row.on.name().len()));
        let mut text = String::new();
        for row in self.rows {
            let to = names(row.to).join(" | ");
            let _ = writeln!(text, "{:<states$} {:<inputs$} -> {to}", row.from.name(), row.on.name());
        }
        text
    }
}
