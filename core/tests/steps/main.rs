//! Tests of the step iterator on the memory store, with a clock that the tests move.
//!
//! Most tests play a short sequence of events in a session. A property test generates such sequences. One scenario is
//! stopped at every action and runs on SQLite too.
//!
//! After every commit, the store is read and the invariants of `check` must hold.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic"
)]

mod begun_outside;
mod bench;
mod briefing;
mod check;
mod parsed;
mod providers;
mod run;
mod world;

mod answers;
mod aside;
mod asking_again;
mod compacting;
mod correcting;
mod crash_at_every_action;
mod custom;
mod cutting;
mod denials;
mod doubts;
mod draining;
mod dying;
mod early;
mod endings;
mod falling_back;
mod handoff;
mod hooking;
mod images;
mod interrupts;
mod late_rollbacks;
mod later;
mod letters;
mod looping;
mod mailbox;
mod mentions;
mod messages;
mod more;
mod named_signals;
mod nowhere;
mod output;
mod panels;
mod panicking;
mod partial;
mod precedence;
mod procedure;
mod random;
mod reasons;
mod recovery;
mod retrying;
mod shortening;
mod standing;
mod stopping;
mod summaries;
mod too_long;
mod tools;
mod traps;
mod turns;
mod undone;
mod used;
mod views;
mod writes;
