//! Durable engines: the wake-ups that they get, the sessions that they serve, and the deaths that they survive.

mod dying;
mod fake;
mod poisoned;
mod serving;
mod waking;
mod watching;
