//! Failures of cases: what was expected and what was found.

use std::fmt;
use std::panic::Location;

use holdover_store::{StoreError, StoreErrorKind};
use serde::{Deserialize, Serialize};

/// The result of a case, or of a step of a case.
pub(crate) type CaseResult<T = ()> = Result<T, Failure>;

/// The reason why a case did not pass: its text, the line of the suite that noticed it, and its kind.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    at: &'static Location<'static>,
    kind: Kind,
}

/// The kind of a [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The store breaks the contract.
    Failed(FoundBy),
    /// The store answered `Unsupported` to an operation that it claims to support.
    NotImplemented,
    /// The case cannot be run here, so nothing is known.
    NotRun,
    /// The case does not apply to this store.
    Moot,
}

/// The way in which a case found a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// A comparison found something other than expected.
    #[default]
    Looking,
    /// Something panicked: the store, the harness, or the case.
    Panic,
    /// The store, the harness, or the case did not finish in time.
    Hang,
}

impl Failure {
    /// Creates a failure with the text of what was expected and found.
    #[track_caller]
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), at: Location::caller(), kind: Kind::Failed(FoundBy::Looking) }
    }

    /// Creates a failure for a panic.
    #[track_caller]
    pub(crate) fn panicked(text: impl Into<String>) -> Self {
        Self { kind: Kind::Failed(FoundBy::Panic), ..Self::new(text) }
    }

    /// Creates a failure for something that did not finish in time.
    #[track_caller]
    pub(crate) fn hung(text: impl Into<String>) -> Self {
        Self { kind: Kind::Failed(FoundBy::Hang), ..Self::new(text) }
    }

    /// Creates a failure for a case that cannot run here. It counts as not run.
    #[track_caller]
    pub(crate) fn not_run(reason: &str) -> Self {
        Self { kind: Kind::NotRun, ..Self::new(reason) }
    }

    /// Creates a failure for a case that does not apply here. It counts as not run, and no verdict depends on it.
    #[track_caller]
    pub(crate) fn moot(reason: &str) -> Self {
        Self { kind: Kind::Moot, ..Self::new(reason) }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns how the failure was found.
    pub(crate) fn found_by(&self) -> FoundBy {
        match self.kind {
            Kind::Failed(found_by) => found_by,
            Kind::NotImplemented | Kind::NotRun | Kind::Moot => FoundBy::Looking,
        }
    }

    /// Returns the text of what was expected and found.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line of the suite that found the failure.
    pub(crate) fn place(&self) -> String {
        self.at.to_string()
    }

    /// Puts `[part]` before the text. The part is, for example, the row of a table in which the case failed.
    #[must_use]
    pub(crate) fn within(mut self, part: impl fmt::Display) -> Self {
        self.text = format!("[{part}] {}", self.text);
        self
    }

    /// Appends a line to the text.
    #[must_use]
    pub(crate) fn followed_by(mut self, text: &str) -> Self {
        self.text.push('\n');
        self.text.push_str(text);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    at {}", self.text, self.at)
    }
}

impl From<StoreError> for Failure {
    #[track_caller]
    fn from(error: StoreError) -> Self {
        let text = format!("expected an answer\n    found the error {error}");
        let unsupported = error.kind == StoreErrorKind::Unsupported;
        let kind = if unsupported { Kind::NotImplemented } else { Kind::Failed(FoundBy::Looking) };
        Self { kind, ..Self::new(text) }
    }
}

/// Fails the case unless the condition holds. The text says what was expected and found.
macro_rules! ensure {
    ($condition:expr, $expected:literal, found = $found:literal $(, $of:expr)* $(,)?) => {
        if !$condition {
            let (expected, found) = (format!($expected), format!($found $(, $of)*));
            return Err($crate::failure::Failure::new(format!("{expected}\n    found    {found}")));
        }
    };
}

/// Fails the case unless both values are equal. The first value is the one that was found.
macro_rules! ensure_eq {
    ($found:expr, $expected:expr, $($text:tt)+) => {
        // A `match`, so that temporaries of both values live to its end.
        match (&$found, &$expected) {
            (found, expected) => {
                if *found != *expected {
                    let what = format!($($text)+);
                    let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
                    let compared = $crate::difference::compared(&expected, &found);
                    return Err($crate::failure::Failure::new(format!("{what}\n{compared}")));
                }
            }
        }
    };
}

/// Destructures a value, or fails the case if the pattern does not match. Evaluates to what follows `=>`.
macro_rules! want {
    ($found:expr, $pattern:pat) => { want!($found, $pattern => ()) };
    ($found:expr, $pattern:pat => $take:expr) => {{
        let found = $found;
        let shown = format!("{found:?}");
        let $pattern = found else {
            let expected = stringify!($pattern);
            return Err($crate::failure::Failure::new(format!("expected {expected}\n    found    {shown}")));
        };
        $take
    }};
}

pub(crate) use {ensure, ensure_eq, want};
