//! The rule for a creation whose session already exists.

use super::SessionRow;
use crate::ids::Version;
use crate::time::Timestamp;
use crate::{CreateOutcome, NewSession, Start};

impl SessionRow {
    /// Decides a creation whose key already belongs to this session.
    ///
    /// Returns `Ok` if the same operation created this session. The outcome is then
    /// [`CreateOutcome::Created`] with the returned version. If the flag is true, the lease of the requested
    /// claim still runs, and the outcome includes the claim with current data. An `Err` holds the outcome.
    pub fn created_before(&self, new: &NewSession, now: Timestamp) -> Result<(Version, bool), CreateOutcome> {
        if self.created_by != new.operation {
            return Err(CreateOutcome::AlreadyExists {
                incarnation: self.incarnation,
                status: self.status,
                version: self.version,
            });
        }
        let first = Version(1);
        Ok(match &new.start {
            Start::WithItems | Start::At(_) => (first, false),
            Start::Claimed(claim) => (first.next(), self.repeated_claim(&claim.run, now) == Some(true)),
        })
    }
}
