//! What breaks a rule, and where.

use std::fmt;

/// A place that breaks a rule, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file, from the root of the repository.
    pub path: String,
    /// The line in it, from 1.
    pub line: usize,
    /// What is wrong, and how it is mended.
    pub what: String,
}

impl Fault {
    /// A fault at this place.
    pub fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Ends a test that found faults, with a line for each.
///
/// # Panics
///
/// If there is a fault.
pub fn none(mut faults: Vec<Fault>) {
    faults.sort();
    faults.dedup();
    let lines: Vec<_> = faults.iter().map(Fault::to_string).collect();
    assert!(lines.is_empty(), "{} broken:\n{}", lines.len(), lines.join("\n"));
}
