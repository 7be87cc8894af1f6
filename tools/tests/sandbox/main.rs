//! Sandboxes through what is public of them. Where bubblewrap does not work (it may be missing, or be there and not be
//! permitted), what is tested is what a plain folder promises: that it says so.
//!
//! Requirements: C11, C44, C45.

// A helper of a test may panic like the test itself.
#![allow(clippy::unwrap_used)]

mod ground;

mod killed;
mod life;
mod toolbox;
mod walls;
