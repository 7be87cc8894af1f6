//! Tests of sandboxes through the public interface. On machines where bubblewrap is missing or not permitted,
//! they check that a sandbox reports itself as a plain folder without walls.
//!
//! Requirements: C11, C44, C45.

// A helper of a test may panic like the test itself.
#![allow(clippy::unwrap_used)]

mod ground;

mod killed;
mod life;
mod toolbox;
mod walls;
