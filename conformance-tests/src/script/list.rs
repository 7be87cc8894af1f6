//! A list whose debug form is the code that makes it.

use std::fmt;
use std::ops::Deref;

/// A list whose `Debug` form is the code that makes it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

/// Makes a list of these items.
pub(crate) fn list<T, const N: usize>(items: [T; N]) -> List<T> {
    List(items.into())
}

impl<T: fmt::Debug> List<T> {
    /// Formats the list as the code that makes it, one line per item, for the list of regressions.
    pub(crate) fn as_code(&self) -> String {
        let items = self.iter().map(|item| format!("        {item:?},\n"));
        format!("    list([\n{}    ])", items.collect::<String>())
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("list(")?;
        f.debug_list().entries(&self.0).finish()?;
        f.write_str(")")
    }
}
