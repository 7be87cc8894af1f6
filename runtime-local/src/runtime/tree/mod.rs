//! The tree of a session. The session is the root. Below it are the children that its calls wait for or began in the
//! background, and their children.

pub(super) mod cursor;
pub(super) mod events;
mod feed;
mod follow;
pub(super) mod members;
pub(super) mod pending;
pub(super) mod runs;
pub(super) mod view;
