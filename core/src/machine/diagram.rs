//! The table as a diagram, as JSON and as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::StateKind;
use super::table::{NATURES, Nature, ROWS};

/// Returns the machine as a Mermaid state diagram, generated from the table.
pub fn mermaid() -> String {
    let mut edges: BTreeMap<(StateKind, StateKind), Vec<&str>> = BTreeMap::new();
    for row in ROWS {
        for to in row.to.iter().filter(|to| **to != row.from) {
            edges.entry((row.from, *to)).or_default().push(row.on.as_str());
        }
    }
    let mut text = String::from("stateDiagram-v2\n    [*] --> idle\n");
    for ((from, to), inputs) in edges {
        // Writing to a String does not fail.
        let _ = writeln!(text, "    {} --> {}: {}", from.as_str(), to.as_str(), inputs.join(", "));
    }
    for (state, nature) in NATURES {
        let note = match nature {
            Nature::Rest => "at rest".to_owned(),
            Nature::Working => continue,
            Nature::Parked { woken_by, .. } => {
                let inputs: Vec<&str> = woken_by.iter().map(|input| input.as_str()).collect();
                format!("parked, woken by {}", inputs.join(", "))
            }
        };
        let _ = writeln!(text, "    note right of {}: {note}", state.as_str());
    }
    text
}

/// Returns the table as JSON: a list of `{ from, on, to }`.
pub fn json() -> serde_json::Value {
    ROWS.iter()
        .map(|row| {
            let to: Vec<&str> = row.to.iter().map(|to| to.as_str()).collect();
            serde_json::json!({ "from": row.from.as_str(), "on": row.on.as_str(), "to": to })
        })
        .collect()
}

/// Returns the table as text, one move per line.
pub fn text() -> String {
    let mut text = String::new();
    for row in ROWS {
        let to: Vec<&str> = row.to.iter().map(|to| to.as_str()).collect();
        let _ = writeln!(text, "{:<13} {:<20} -> {}", row.from.as_str(), row.on.as_str(), to.join(" | "));
    }
    text
}
