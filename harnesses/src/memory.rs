//! The harness for the in-memory store.

/// Each fresh store is empty. All handles on all stores of one harness share one clock.
///
/// The broken stores that test the suite are made from the in-memory store, so this harness is defined in the suite's
/// crate.
pub use holdover_conformance_tests::reference::MemoryHarness;
