//! The writes: what each script is given, and what its answer means.

mod claim;
mod commit;
mod create;
mod deliver;
mod due;
mod fork;
mod lease;
mod purge;

use holdover_store::Delivery;
use holdover_store::ids::InboxSeq;

use crate::error::Fault;
use crate::reply::Reply;
use crate::store::unknown;

/// Why an item is not in the inbox now, or that it is.
fn delivery(word: &str, reply: &mut Reply) -> Result<Delivery, Fault> {
    Ok(match word {
        "accepted" => Delivery::Accepted { seq: InboxSeq(reply.number()?) },
        "duplicate" => Delivery::Duplicate { seq: InboxSeq(reply.number()?) },
        "conflict" => Delivery::Conflict { seq: InboxSeq(reply.number()?) },
        "already_answered" => Delivery::AlreadyAnswered,
        "not_pending" => Delivery::NotPending,
        "aborted" => Delivery::Aborted,
        "not_found" => Delivery::NotFound,
        other => return unknown(other),
    })
}

/// The place of the first item that was refused, and why.
fn refused_item(reply: &mut Reply) -> Result<(usize, Delivery), Fault> {
    let index = usize::try_from(reply.number()?).unwrap_or(usize::MAX);
    let mut refusal = reply.list()?;
    let word = refusal.text()?;
    Ok((index, delivery(&word, &mut refusal)?))
}
