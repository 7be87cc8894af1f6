//! The broken stores, by the kind of fault.

mod border;
mod checkpoint;
mod claim;
mod clock;
mod commit;
mod data;
mod delta;
mod delta_read;
mod due;
mod fork;
mod fork_source;
mod hint;
mod inbox;
mod instant;
mod interleaved;
mod interrupt;
mod last_change;
mod lease;
mod limit;
mod list;
mod log;
mod names;
mod owner;
mod pending;
mod race;
mod release;
mod retention;
mod rows;
mod run;
mod scope;
mod session;
mod staging;
mod tenant;
mod told;
mod tombstone;
mod width;

use holdover_store::CommitOutcome;

use crate::fault::Mutant;

static LISTS: [&[Mutant]; 36] = [
    session::MUTANTS,
    tombstone::MUTANTS,
    run::MUTANTS,
    claim::MUTANTS,
    lease::MUTANTS,
    clock::MUTANTS,
    commit::MUTANTS,
    release::MUTANTS,
    staging::MUTANTS,
    pending::MUTANTS,
    inbox::MUTANTS,
    interrupt::MUTANTS,
    log::MUTANTS,
    delta::MUTANTS,
    delta_read::MUTANTS,
    checkpoint::MUTANTS,
    fork::MUTANTS,
    fork_source::MUTANTS,
    retention::MUTANTS,
    list::MUTANTS,
    tenant::MUTANTS,
    data::MUTANTS,
    race::MUTANTS,
    interleaved::MUTANTS,
    owner::MUTANTS,
    border::MUTANTS,
    limit::MUTANTS,
    width::MUTANTS,
    names::MUTANTS,
    instant::MUTANTS,
    last_change::MUTANTS,
    scope::MUTANTS,
    told::MUTANTS,
    due::MUTANTS,
    hint::MUTANTS,
    rows::MUTANTS,
];

/// Returns every broken store.
pub(crate) fn all() -> impl Iterator<Item = &'static Mutant> {
    LISTS.into_iter().flatten()
}

/// Returns true if a commit was applied, now or earlier.
fn committed(answer: &CommitOutcome) -> bool {
    matches!(answer, CommitOutcome::Committed(_))
}
