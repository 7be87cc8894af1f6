//! The operations of the contract as plain functions. Each takes the data and, if it needs it, the time, and
//! returns the answer.
//!
//! A write lets the contract's rules decide, and changes the data only if they accept the write.

mod commit;
mod delivery;
mod delta;
mod fork;
mod lifecycle;
mod list;
mod ownership;
mod read;
mod retention;
mod staging;

pub use commit::commit;
pub use delivery::{deliver, interrupt, take_interrupt};
pub use delta::append_deltas;
pub use fork::fork;
pub use lifecycle::{create, delete, load};
pub use list::{list_checkpoints, list_pending, list_runs, list_sessions};
pub use ownership::{claim, claim_due, compare_and_set, renew};
pub use read::{read_events, read_inbox, read_messages};
pub use retention::{check_purge, purge};
pub use staging::stage;
