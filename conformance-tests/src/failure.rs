//! The failure of a case: what it expected and what it found.

use std::fmt;
use std::panic::Location;

use holdover_store::{StoreError, StoreErrorKind};
use serde::{Deserialize, Serialize};

/// How a case ends.
pub(crate) type CaseResult<T = ()> = Result<T, Failure>;

/// What a case expected and what it found instead.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    at: &'static Location<'static>,
    kind: Kind,
}

/// What a case that did not pass says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The store does not do what it should.
    Failed(FoundBy),
    /// The store answered that it cannot do what it claims.
    NotImplemented,
    /// The case cannot be run here: nothing is known.
    NotRun,
    /// There is nothing to find out about this store.
    Moot,
}

/// How a case came to know that a store does not do what it should.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// It looked, and found something else than it should.
    #[default]
    Looking,
    /// Something panicked: the store, the harness, or the case.
    Panic,
    /// Something had no end in its time: the store, the harness, or the case.
    Hang,
}

impl Failure {
    /// Says what was expected and what was found.
    #[track_caller]
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), at: Location::caller(), kind: Kind::Failed(FoundBy::Looking) }
    }

    /// Says what was expected in place of a panic.
    #[track_caller]
    pub(crate) fn panicked(text: impl Into<String>) -> Self {
        Self { kind: Kind::Failed(FoundBy::Panic), ..Self::new(text) }
    }

    /// Says what was expected, and did not come in its time.
    #[track_caller]
    pub(crate) fn hung(text: impl Into<String>) -> Self {
        Self { kind: Kind::Failed(FoundBy::Hang), ..Self::new(text) }
    }

    /// Says why the case cannot be run here. Counts as not run.
    #[track_caller]
    pub(crate) fn not_run(reason: &str) -> Self {
        Self { kind: Kind::NotRun, ..Self::new(reason) }
    }

    /// Says why there is nothing to find out here. Counts as not run, and no verdict misses it.
    #[track_caller]
    pub(crate) fn moot(reason: &str) -> Self {
        Self { kind: Kind::Moot, ..Self::new(reason) }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// How the store was found out.
    pub(crate) fn found_by(&self) -> FoundBy {
        match self.kind {
            Kind::Failed(found_by) => found_by,
            Kind::NotImplemented | Kind::NotRun | Kind::Moot => FoundBy::Looking,
        }
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
    pub(crate) fn within(mut self, part: impl fmt::Display) -> Self {
        self.text = format!("[{part}] {}", self.text);
        self
    }

    /// Says more after it.
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

/// Fails the case unless the condition holds: says what was expected, and what was found instead.
macro_rules! ensure {
    ($condition:expr, $expected:literal, found = $found:literal $(, $of:expr)* $(,)?) => {
        if !$condition {
            let (expected, found) = (format!($expected), format!($found $(, $of)*));
            return Err($crate::failure::Failure::new(format!("{expected}\n    found    {found}")));
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
                    return Err($crate::failure::Failure::new(format!("{what}\n{compared}")));
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
            return Err($crate::failure::Failure::new(format!("expected {expected}\n    found    {shown}")));
        };
        $take
    }};
}

pub(crate) use {ensure, ensure_eq, want};
