//! Claiming a named session.

use std::time::Instant;

use holdover_store::ids::{Epoch, SessionKey, Version, WorkerId};
use holdover_store::{Claim, ClaimOne, ClaimOutcome, INBOX_PAGE, PAGE_BYTES_MAX, SessionStatus, StoreError};

use crate::args::Args;
use crate::columns;
use crate::reply;
use crate::store::{Shared, unknown};
use crate::write::refused_item;

/// Whether the lease has ended on its way here, counted from before it was asked for. Then it is no claim.
pub(super) fn is_over(claim: &Claim, began: Instant) -> bool {
    claim.now.until(claim.lease_ends) <= began.elapsed()
}

impl Shared {
    pub(crate) async fn claim_session(
        &self,
        key: &SessionKey,
        claim: &ClaimOne,
    ) -> Result<ClaimOutcome, StoreError> {
        let began = Instant::now();
        let args = self
            .args()
            .text(claim.run.as_str())
            .text(claim.worker.as_str())
            .duration(claim.lease)
            .optional_number(claim.expected_version.map(|version| version.0))
            .each(&claim.items, Args::item)
            .number(INBOX_PAGE)
            .size(PAGE_BYTES_MAX);
        let expected = claim.expected_version.unwrap_or_default();
        self.ask("claim_session", &self.scripts.claim_session, key, Ok(args), |word, reply| {
            Ok(match word {
                "claimed" => {
                    let claim = columns::claim(reply)?;
                    if is_over(&claim, began) {
                        return Ok(ClaimOutcome::LeaseEnded);
                    }
                    self.grants.granted(&claim);
                    ClaimOutcome::Claimed(Box::new(claim))
                }
                "held" => ClaimOutcome::Held {
                    worker: reply::id::<WorkerId>(&reply.bytes()?)?,
                    epoch: Epoch(reply.number()?),
                    version: Version(reply.number()?),
                    lease_ends: reply::instant(&reply.bytes()?)?,
                },
                "version_conflict" => ClaimOutcome::VersionConflict {
                    expected,
                    actual: Version(reply.number()?),
                    status: reply::word(&reply.bytes()?, SessionStatus::from_wire)?,
                },
                "lease_ended" => ClaimOutcome::LeaseEnded,
                "item_refused" => {
                    let (index, refusal) = refused_item(reply)?;
                    ClaimOutcome::ItemRefused { index, refusal }
                }
                "aborted" => ClaimOutcome::Aborted,
                "not_found" => ClaimOutcome::NotFound,
                other => return unknown(other),
            })
        })
        .await
    }
}
