//! Checks whether the answers to concurrent peers could also have been given one after another.
//!
//! A history is linearizable (Herlihy and Wing, "Linearizability: a correctness condition for concurrent objects", ACM
//! TOPLAS 12(3), 1990) if every operation can be given one instant between its call and its answer, so that the model,
//! asked in the order of these instants, gives the same answers. Each session is checked alone. That is enough, because
//! an object made of others is linearizable if each of them is (the locality theorem in that paper;
//! "P-compositionality" in Horn and Kroening, "Faster linearizability checking via P-compositionality", FORTE 2015).

mod event;
mod minimal;
mod project;
mod search;
#[cfg(test)]
mod tests;

pub(crate) use event::{Event, Heard};
pub(crate) use minimal::Counterexample;
pub(crate) use project::{Asked, project};
pub(crate) use search::{OPERATIONS_MAX, Verdict, search};
