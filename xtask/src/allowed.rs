//! Lists of known exceptions to a rule. They may only shrink: a rule fails if an entry is no longer needed.

use crate::tree::Tree;

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The line in the list, from 1.
    pub line: usize,
    /// The words of the entry.
    pub words: Vec<String>,
}

/// Returns the entries of a list, one per line. Empty lines and lines that begin with `#` are skipped.
pub fn read(tree: &Tree, path: &str) -> Vec<Entry> {
    let lines = tree.read(path).lines().enumerate();
    let entries = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    entries
        .map(|(at, line)| Entry { line: at + 1, words: line.split_whitespace().map(str::to_owned).collect() })
        .collect()
}
