//! The decision on a creation when the session already exists.

use super::SessionRow;
use crate::ids::Version;
use crate::time::Timestamp;
use crate::{CreateOutcome, NewSession, Start};

impl SessionRow {
    /// Decides a creation whose key this existing session has.
    ///
    /// `Ok`: this operation created it. Answer [`CreateOutcome::Created`] with this version. If the flag is
    /// true, the lease of the requested claim still runs; include the claim as it is now. `Err`: answer with
    /// it.
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
