//! Tests of the runtime, most of them on the reference store and on virtual time. Tests on SQLite files run in real
//! time, and so does `sandbox`, which runs real processes.

// Helper functions of tests may panic like the tests themselves.
#![allow(clippy::unwrap_used)]

mod bench;
mod script;
mod stub_store;
mod sub_agent_hooks;
mod tools;

mod answers;
mod approvals;
mod background;
mod background_tasks;
mod breaking;
mod briefing;
mod children;
mod conditions;
mod correcting;
mod custom;
mod dice;
mod draining;
mod early;
mod effects;
mod elsewhere;
mod errors;
mod families;
mod files;
mod following;
mod forks;
mod handles;
mod handoff;
mod heirs;
mod holding;
mod hooks;
mod images;
mod keyless;
mod lease;
mod looking;
mod mailbox;
mod many;
mod outages;
mod outputs;
mod ownership;
mod panels;
mod panicking;
mod partial;
mod patterns;
mod phases;
mod reading;
mod renewing;
mod replaying;
mod resting;
mod retrying;
mod running;
mod sandbox;
mod shares;
mod shortening;
mod snapshots;
mod starting;
mod stopping;
mod storms;
mod taking_over;
mod told_early;
mod tree_events;
mod tree_reads;
mod tree_stops;
mod trees;
mod turns;
mod unread;
mod upgrades;
mod used;
mod versions;
mod waiting;
mod window;
mod workers;
