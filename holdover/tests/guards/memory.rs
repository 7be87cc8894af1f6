//! The store in memory: the cost of the engine itself.

use std::sync::Arc;

use holdover::store::MemoryStore;

use crate::step::{ALLOCATED, ALLOCATIONS, Counts, HOPS, LATE, check, check_late};

#[test]
fn a_step_in_memory() {
    let open = async || (Arc::new(MemoryStore::new()) as _, async || Counts::new());
    check(open, &[(ALLOCATIONS, 330.0), (ALLOCATED, 75_000.0), (HOPS, 0.0)]);
}

#[test]
fn u01_a_late_step_in_memory_costs_what_an_early_one_does() {
    let open = async || (Arc::new(MemoryStore::new()) as _, async || Counts::new());
    check_late(open, LATE, &[ALLOCATIONS, ALLOCATED]);
}
