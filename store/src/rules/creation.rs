//! The decision on a creation when the session already exists.

use super::SessionRow;
use crate::ids::Version;
use crate::time::Timestamp;
use crate::{CreateOutcome, NewSession, Start};

impl SessionRow {
    /// What a creation of this session's key is answered: it exists.
    ///
    /// `Ok`: this operation created it; answer [`CreateOutcome::Created`] with this version and, if it is true
    /// that the claim which was asked for is alive, with the claim as it stands. `Err`: answer so.
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
