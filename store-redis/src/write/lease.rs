//! Leases, and moves of the status without a claim.

use std::time::Duration;

use holdover_store::ids::{Fence, SessionKey, Version};
use holdover_store::{CasOutcome, LeaseOutcome, SessionStatus, StatusCas, StoreError};

use crate::args::Args;
use crate::reply;
use crate::store::{Shared, unknown};
use crate::write::refused_item;

impl Shared {
    pub(crate) async fn renew_lease(
        &self,
        fence: &Fence,
        lease: Duration,
    ) -> Result<LeaseOutcome, StoreError> {
        let args = self.fenced(fence).duration(lease);
        self.ask("renew_lease", &self.scripts.renew_lease, &fence.key, Ok(args), |word, reply| {
            Ok(match word {
                "renewed" => LeaseOutcome::Renewed(self.receipt(fence, reply)?),
                "stale_fence" => LeaseOutcome::StaleFence,
                other => return unknown(other),
            })
        })
        .await
    }

    pub(crate) async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: &StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        let args = self
            .args()
            .optional_incarnation(cas.incarnation)
            .number(cas.expected_version.0)
            .text(cas.to.as_str())
            .each(&cas.items, Args::item);
        let script = &self.scripts.compare_and_set_status;
        self.ask("compare_and_set_status", script, key, Ok(args), |word, reply| {
            Ok(match word {
                "moved" => CasOutcome::Moved { version: Version(reply.number()?) },
                "version_conflict" => CasOutcome::VersionConflict {
                    expected: cas.expected_version,
                    actual: Version(reply.number()?),
                    status: reply::word(&reply.bytes()?, SessionStatus::from_wire)?,
                },
                "not_allowed" => CasOutcome::NotAllowed {
                    from: reply::word(&reply.bytes()?, SessionStatus::from_wire)?,
                    to: cas.to,
                },
                "item_refused" => {
                    let (index, refusal) = refused_item(reply)?;
                    CasOutcome::ItemRefused { index, refusal }
                }
                "not_found" => CasOutcome::NotFound,
                other => return unknown(other),
            })
        })
        .await
    }
}
