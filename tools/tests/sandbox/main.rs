//! Tests of sandboxes through the public interface. Where bubblewrap does not work (it may be missing or not
//! permitted), they test the promise of a plain folder: that it says so.
//!
//! Requirements: C11, C44, C45.

// A helper of a test may panic like the test itself.
#![allow(clippy::unwrap_used)]

mod ground;

mod killed;
mod life;
mod toolbox;
mod walls;
