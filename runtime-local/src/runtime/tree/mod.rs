//! The tree of a session: the session itself, its root, and the children that its calls wait for, with theirs.

pub(super) mod cursor;
pub(super) mod events;
mod feed;
mod follow;
pub(super) mod members;
pub(super) mod pending;
pub(super) mod runs;
pub(super) mod view;
