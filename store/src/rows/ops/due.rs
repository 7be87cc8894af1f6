//! Claims of due sessions.

use super::super::ask::Decision;
use super::super::facts::Facts;
use super::claim::begin_run;
use crate::ids::RunId;
use crate::{Claim, ClaimDue};

/// Decides the claim of a session that was found due, for `run`. Returns none if the session is no longer due.
pub(in super::super) fn claim(facts: &Facts, run: &RunId, want: &ClaimDue) -> Option<Decision<Claim>> {
    let row = facts.row()?;
    if !row.is_due(&want.queues, want.newest_format, want.tenant.as_ref(), facts.now) {
        return None;
    }
    let draft = super::super::ask::Draft::of(None, row.clone());
    Some(begin_run(facts, draft, run, &want.worker, want.lease, Vec::new()))
}
