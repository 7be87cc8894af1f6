//! A violation of a rule, and its place.

use std::fmt;

/// A place that breaks a rule, with advice on how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The path of the file, relative to the root of the repository.
    pub path: String,
    /// The line in the file, from 1.
    pub line: usize,
    /// The fault, and how to fix it.
    pub what: String,
}

impl Fault {
    /// Creates a fault at this place.
    pub fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Fails a test if there are faults, with one line for each.
///
/// # Panics
///
/// Panics if there is a fault.
pub fn none(mut faults: Vec<Fault>) {
    faults.sort();
    faults.dedup();
    let lines: Vec<_> = faults.iter().map(Fault::to_string).collect();
    assert!(lines.is_empty(), "{} broken:\n{}", lines.len(), lines.join("\n"));
}
