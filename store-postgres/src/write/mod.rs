//! The writes: one call each, decided in the database under the lock of the session's row.

mod claim;
mod commit;
mod create;
mod delete;
mod deliver;
mod delta;
mod due;
mod fork;
mod interrupt;
mod lease;
mod purge;
mod stage;
mod status;

use holdover_store::Labels;
use holdover_store::payload::Payload;

use crate::call::{Values, int};
use crate::error::Fault;

pub(crate) use claim::ClaimSession;
pub(crate) use commit::SaveState;
pub(crate) use create::CreateSession;
pub(crate) use delete::DeleteSession;
pub(crate) use deliver::Deliver;
pub(crate) use delta::AppendDeltas;
pub(crate) use due::ClaimDueSessions;
pub(crate) use fork::ForkSession;
pub(crate) use interrupt::{HandInterrupt, RequestInterrupt};
pub(crate) use lease::RenewLease;
pub(crate) use purge::Purge;
pub(crate) use stage::StageResults;
pub(crate) use status::CompareAndSet;

/// An outcome that the functions of this version do not answer.
fn unknown_outcome(outcome: &str) -> Fault {
    Fault::Corrupt(format!("outcome: {}", crate::columns::unknown(outcome)))
}

/// Binds names and values. They may hold any character, which a text may not.
fn bind_labels(to: &mut Values<'_>, labels: &Labels) {
    to.add(labels.0.keys().map(String::as_bytes).collect::<Vec<_>>())
        .add(labels.0.values().map(String::as_bytes).collect::<Vec<_>>());
}

/// Binds the events of one write as one row: how many, digest, bytes one after another, how long each is.
fn bind_events(to: &mut Values<'_>, events: &[Payload]) {
    to.add(int(events.len() as u64));
    match events {
        [] => to.payload_or_null(None).add(None::<Vec<i64>>),
        [one] => to.payload(one).add(None::<Vec<i64>>),
        several => {
            let bytes: Vec<&[u8]> = several.iter().map(|event| event.bytes().as_ref()).collect();
            let sizes: Vec<i64> = several.iter().map(|event| int(event.len() as u64)).collect();
            to.payload(&Payload::new(bytes.concat())).add(sizes)
        }
    };
}
