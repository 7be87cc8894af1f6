//! Names of schedules.

use std::fmt;
use std::str::FromStr;

use holdover_core::ids::{InvalidId, SessionId, SessionKey, Spelling, TenantId, check, check_spelling};
use serde::{Deserialize, Serialize};

/// The beginning of the id of a schedule's session.
const SESSION: &str = "schedule:";

/// The name of a schedule, unique within a tenant: letters, digits, `_` and `-`, at most 64 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScheduleName(String);

impl ScheduleName {
    /// Creates a name.
    ///
    /// # Errors
    /// The text breaks a rule for names.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
        let text = text.into();
        check("schedule name", &text)?;
        check_spelling("schedule name", &text, Spelling::Plain)?;
        Ok(Self(text))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key of the session in which the schedule of this name runs.
    ///
    /// # Errors
    /// Never: each name fits into the id of a session.
    pub fn session(&self, tenant: &TenantId) -> Result<SessionKey, InvalidId> {
        Ok(SessionKey::new(tenant.clone(), SessionId::new(format!("{SESSION}{self}"))?))
    }

    /// Returns the name of the schedule that runs in the session with this id, if one does.
    pub(crate) fn of_session(id: &SessionId) -> Option<Self> {
        Self::new(id.as_str().strip_prefix(SESSION)?).ok()
    }
}

impl fmt::Display for ScheduleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ScheduleName {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::new(text)
    }
}

impl TryFrom<String> for ScheduleName {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        Self::new(text)
    }
}

impl From<ScheduleName> for String {
    fn from(name: ScheduleName) -> Self {
        name.0
    }
}
