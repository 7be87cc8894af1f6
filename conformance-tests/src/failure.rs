//! How a case says what it found.

use std::fmt;
use std::panic::Location;

use holdover_core::store::{StoreError, StoreErrorKind};

/// How a case ends.
pub type CaseResult<T = ()> = Result<T, Failure>;

/// What a case expected and what it found instead.
#[derive(Debug)]
pub struct Failure {
    text: String,
    at: &'static Location<'static>,
    not_implemented: bool,
    skipped: bool,
}

impl Failure {
    /// Says what was expected and what was found.
    #[track_caller]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), at: Location::caller(), not_implemented: false, skipped: false }
    }

    /// Says what was expected, and by which condition it was looked for unless the text says what was found.
    #[track_caller]
    pub(crate) fn unmet(text: String, condition: &str) -> Self {
        if text.contains("found") {
            return Self::new(text);
        }
        Self::new(format!("{text}\n    found    that this does not hold: {condition}"))
    }

    /// Whether the store answered that it cannot do what every store must.
    pub fn is_not_implemented(&self) -> bool {
        self.not_implemented
    }

    /// Says why the case cannot be run here. Counts as not run.
    #[track_caller]
    pub(crate) fn skipped(reason: &str) -> Self {
        Self { skipped: true, ..Self::new(reason) }
    }

    /// Whether the case was not run.
    pub(crate) fn is_skipped(&self) -> bool {
        self.skipped
    }

    /// What was expected and what was found.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The line of the suite that looked.
    pub(crate) fn place(&self) -> String {
        self.at.to_string()
    }

    /// Says in which part of a table it happened.
    #[must_use]
    pub fn within(mut self, part: impl fmt::Display) -> Self {
        self.text = format!("[{part}] {}", self.text);
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
        let not_implemented = error.kind == StoreErrorKind::Unsupported;
        Self { not_implemented, ..Self::new(text) }
    }
}

/// Fails the case unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err($crate::Failure::unmet(format!($($text)+), stringify!($condition)));
        }
    };
}

/// Fails the case unless both are equal. The first is what was found.
macro_rules! ensure_eq {
    ($found:expr, $expected:expr, $($text:tt)+) => {
        // A match, so that temporaries of both live to its end.
        match (&$found, &$expected) {
            (found, expected) => {
                if *found != *expected {
                    let what = format!($($text)+);
                    let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
                    let compared = $crate::difference::compared(&expected, &found);
                    return Err($crate::Failure::new(format!("{what}\n{compared}")));
                }
            }
        }
    };
}

/// Takes a value apart, or fails the case. Evaluates to what the pattern binds.
macro_rules! want {
    ($found:expr, $pattern:pat) => { want!($found, $pattern => ()) };
    ($found:expr, $pattern:pat => $take:expr) => {{
        let found = $found;
        let shown = format!("{found:?}");
        let $pattern = found else {
            let expected = stringify!($pattern);
            return Err($crate::Failure::new(format!("expected {expected}\n    found    {shown}")));
        };
        $take
    }};
}

pub(crate) use {ensure, ensure_eq, want};
