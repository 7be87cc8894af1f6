//! The operations on one session: the rows that each method of the contract reads, and the writes that it makes.

pub(super) mod claim;
pub(super) mod commit;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod deliver;
pub(super) mod delta;
pub(super) mod due;
pub(super) mod fork;
pub(super) mod interrupt;
pub(super) mod lease;
pub(super) mod list;
pub(super) mod log;
pub(super) mod purge;
pub(super) mod session;
pub(super) mod stage;
pub(super) mod status;
