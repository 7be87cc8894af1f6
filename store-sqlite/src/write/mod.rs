//! The writes: each reads, lets the contract's rules decide, and then writes what the decision names.

mod claim;
mod commit;
mod create;
mod delete;
mod deliver;
mod delta;
mod due;
mod fork;
mod interrupt;
mod items;
mod lease;
mod purge;
mod stage;
mod status;

pub(crate) use claim::ClaimSession;
pub(crate) use commit::SaveState;
pub(crate) use create::CreateSession;
pub(crate) use delete::DeleteSession;
pub(crate) use deliver::Deliver;
pub(crate) use delta::AppendDeltas;
pub(crate) use due::{ClaimDueSessions, due_now};
pub(crate) use fork::ForkSession;
pub(crate) use interrupt::{HandInterrupt, RequestInterrupt};
pub(crate) use lease::RenewLease;
pub(crate) use purge::Purge;
pub(crate) use stage::StageResults;
pub(crate) use status::CompareAndSet;
