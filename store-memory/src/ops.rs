//! One plain function per operation: the data and the time go in, the answer comes out.
//!
//! Each lets core's rules decide on a copy of the session row, and writes only what was accepted.

mod commit;
mod delivery;
mod lifecycle;
mod list;
mod ownership;
mod read;
mod staging;

pub(crate) use commit::commit;
pub(crate) use delivery::{check_interrupt, deliver, interrupt};
pub(crate) use lifecycle::{check_create, create, delete, load};
pub(crate) use list::{list_pending, list_runs, list_sessions};
pub(crate) use ownership::{claim, claim_due, compare_and_set, renew};
pub(crate) use read::{read_events, read_inbox, read_messages};
pub(crate) use staging::{check_staging, stage};
