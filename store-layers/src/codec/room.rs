//! The limits of a store behind a codec that makes payloads larger.

use holdover_store::rules::Limits;
use holdover_store::{Capabilities, Request, Start, StoreError};

use super::encoder::unknown;
use super::{PayloadCodec, reason};

/// The number of payloads in one write whose overhead is subtracted from
/// [`commit_bytes_max`](Capabilities::commit_bytes_max) in advance. In a write with more payloads, the
/// overhead of each further payload counts against that limit.
const PAYLOADS_SET_ASIDE: usize = 4096;

/// Returns the capabilities of `store`, minus the overhead of `codec`.
pub(super) fn capabilities(codec: &impl PayloadCodec, store: &Capabilities) -> Capabilities {
    capabilities_for(codec, store, 0)
}

/// Returns the capabilities of `store`, minus the overhead of `codec` for a write with `payloads` payloads.
fn capabilities_for(codec: &impl PayloadCodec, store: &Capabilities, payloads: usize) -> Capabilities {
    let overhead = codec.overhead_bytes_max();
    // The reserved overhead is at most half of the store's limit.
    let most = store.commit_bytes_max / 2 / overhead.max(1);
    let counted = payloads.max(PAYLOADS_SET_ASIDE.min(most));
    Capabilities {
        payload_bytes_max: store.payload_bytes_max.saturating_sub(overhead),
        commit_bytes_max: store.commit_bytes_max.saturating_sub(counted.saturating_mul(overhead)),
        ..store.clone()
    }
}

/// Refuses a request that would not fit or makes no sense, before it is encoded.
pub(super) fn check(
    codec: &impl PayloadCodec,
    store: &Capabilities,
    request: &Request,
) -> Result<(), StoreError> {
    let room = |payloads| capabilities_for(codec, store, payloads);
    let operation = request.operation();
    match request {
        Request::Create(new) => {
            let claimed = match &new.start {
                Start::Claimed(claim) => claim.items.len(),
                Start::WithItems | Start::At(_) => 0,
            };
            Limits::of(&room(1 + new.items.len() + claimed), operation).creation(new)
        }
        Request::Claim(_, claim) => Limits::of(&room(claim.items.len()), operation).claim(claim),
        Request::Move(_, cas) => Limits::of(&room(cas.items.len()), operation).items(&cas.items),
        Request::Stage(_, staging) => Limits::of(&room(staging.results.len()), operation).staging(staging),
        Request::Commit(_, commit) => commit.check(&room(commit.payloads().count())),
        Request::Stream(_, batch) => batch.check(&room(batch.deltas.len())),
        Request::Deliver(_, item) => Limits::of(&room(1), operation).delivery(item),
        Request::Interrupt(_, interrupt) => {
            let most = reason::bytes_max(codec, store.payload_bytes_max);
            let room = Capabilities { payload_bytes_max: most, ..room(1) };
            Limits::of(&room, operation).interrupt(interrupt)
        }
        Request::Fork(_, _, new) => Limits::of(&room(new.payloads().count()), operation).fork(new),
        Request::Load(_)
        | Request::ListSessions(_)
        | Request::Delete(..)
        | Request::ClaimDue(_)
        | Request::Renew(..)
        | Request::TakeInterrupt(_)
        | Request::ReadMessages(..)
        | Request::ReadInbox(..)
        | Request::ReadEvents(..)
        | Request::ListRuns(..)
        | Request::ListPending(_)
        | Request::ListCheckpoints(_)
        | Request::Wait(..)
        | Request::Purge(_) => Ok(()),
        other => Err(unknown(other.operation())),
    }
}
