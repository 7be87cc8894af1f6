//! Claiming whatever is due: the partitions are looked at, then sessions are claimed one by one, soonest first.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::join_all;
use holdover_store::ids::{RunId, SessionKey, TenantId};
use holdover_store::{Claim, ClaimDue, INBOX_PAGE, PAGE_BYTES_MAX, Queues, StoreError};

use crate::args::Args;
use crate::columns;
use crate::error::{Call, Fault};
use crate::merge::{Found, Merge, Order};
use crate::place;
use crate::reply::Reply;
use crate::store::{Shared, unknown};
use crate::write::claim::is_over;

const OPERATION: &str = "claim_due";

/// How many alarms of one partition are looked at by the first script, which usually is enough.
const LOOKED_AT_FIRST: u32 = 64;

/// How many by each after it: many alarms may ring that this worker may not claim.
const LOOKED_AT_MAX: u32 = 256;

/// How many claims are under way at once.
const CLAIMS_AT_ONCE: usize = 16;

impl Shared {
    pub(crate) async fn claim_due(&self, due: &ClaimDue) -> Result<Vec<Claim>, StoreError> {
        let mut runs: VecDeque<&RunId> = due.runs.iter().collect();
        let mut claims = Vec::new();
        // Each call begins at the start, so it may not end before what is due is found.
        let mut merge = Merge::new(&self.keys, Order::Upwards, b"").until_the_end();
        let look = |partition, after| self.find_due(partition, after, due).boxed();
        while !runs.is_empty() {
            let mut found = Vec::new();
            while found.len() < runs.len().min(CLAIMS_AT_ONCE) {
                match merge.peek(&look).await {
                    Ok(Some(_)) => found.extend(merge.take().map(|(_, key)| key)),
                    Ok(None) => break,
                    Err(_) if !claims.is_empty() => return Ok(claims),
                    Err(fault) => return Err(fault.of(Call::Read, OPERATION, None)),
                }
            }
            if found.is_empty() {
                break;
            }
            let tries: Vec<_> = found.iter().zip(runs.drain(..found.len())).collect();
            let tried = join_all(tries.iter().map(|(key, run)| self.claim_found(key, run, due))).await;
            for ((key, run), claimed) in tries.into_iter().zip(tried) {
                match claimed {
                    Ok(Some(claim)) => claims.push(claim),
                    // Another worker was faster, or it is due no more: its run is free for the next.
                    Ok(None) => runs.push_back(run),
                    // What cannot be read holds up nobody else, and costs no run: the walk goes on behind it.
                    Err(Fault::Corrupt(detail)) => {
                        tracing::warn!(%key, detail, "a session that is due cannot be read");
                        runs.push_back(run);
                    }
                    // What was claimed is not lost with one that failed: that lease ends by itself.
                    Err(_) if !claims.is_empty() => {}
                    Err(fault) => return Err(fault.of(Call::Write, OPERATION, Some(key))),
                }
            }
        }
        Ok(claims)
    }

    async fn find_due(
        &self,
        partition: u16,
        after: Bytes,
        due: &ClaimDue,
    ) -> Result<Found<SessionKey>, Fault> {
        let most = if after.is_empty() { LOOKED_AT_FIRST } else { LOOKED_AT_MAX };
        let args = wanted(self.args().bytes(after), due).number(most);
        let mut reply = self.run(&self.scripts.find_due, partition, None, &args).await?;
        let mut found = named(&mut reply)?;
        found.rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    async fn claim_found(
        &self,
        key: &SessionKey,
        run: &RunId,
        due: &ClaimDue,
    ) -> Result<Option<Claim>, Fault> {
        let began = Instant::now();
        let args = self.args().text(run.as_str()).text(due.worker.as_str()).duration(due.lease);
        let args = wanted(args, due).number(INBOX_PAGE).size(PAGE_BYTES_MAX);
        let mut reply = self.on(&self.scripts.claim_due, key, args).await?;
        match reply.text()?.as_str() {
            "claimed" => {
                let claim = columns::claim(&mut reply)?;
                if is_over(&claim, began) {
                    return Ok(None);
                }
                self.grants.granted(&claim);
                Ok(Some(claim))
            }
            "not_due" => Ok(None),
            other => unknown(other),
        }
    }
}

/// The queues, the newest format and the tenant.
fn wanted(args: Args, due: &ClaimDue) -> Args {
    let args = match &due.queues {
        Queues::All => args.boolean(false),
        Queues::Named(queues) => args.boolean(true).each(queues, |args, queue| args.text(queue.as_str())),
    };
    args.number(due.newest_format.0).optional(due.tenant.as_ref().map(TenantId::as_str))
}

/// Up to where a script has looked, and the sessions at the places that it found.
pub(super) fn named(reply: &mut Reply) -> Result<Found<SessionKey>, Fault> {
    let looked = reply.bytes()?;
    let mut places = reply.list()?;
    let mut rows = Vec::new();
    while places.left() > 0 {
        let place = places.bytes()?;
        let key = place::session(&place);
        rows.push((place, key.ok_or_else(|| Fault::Corrupt("an index holds what is no session".into()))?));
    }
    Ok(Found { rows, looked: Some(looked).filter(|looked| !looked.is_empty()) })
}
