//! The harness for the in-memory store.

/// Each store is new and empty. All handles on all stores of one harness share one clock.
///
/// The suite itself is built on the in-memory store, so this harness lies in the suite's crate.
pub use holdover_conformance_tests::reference::MemoryHarness;
