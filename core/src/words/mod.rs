//! The values that the core stores and exchanges, and the traits of everything that a run asks: models, tools,
//! gates, hooks, provisioners and skill sets.
//!
//! This module does not decide how a session continues. The machine decides what follows from an input, and the
//! engine decides when.

#[macro_use]
mod setters;

pub mod agent;
pub mod background;
pub(crate) mod cancel;
pub mod children;
pub mod custom;
pub mod delta;
pub mod ending;
pub mod error;
pub mod event;
pub mod gate;
pub mod handoff;
pub mod history;
pub mod hook;
pub mod ids;
pub mod image;
pub mod letter;
pub mod list;
pub mod mailbox;
pub mod message;
pub mod mode;
pub mod model;
pub mod output;
pub mod panel;
pub mod parameters;
pub mod payload;
pub mod phrases;
pub mod plan;
pub(crate) mod plan_record;
pub mod procedure;
pub mod prompt;
pub mod provision;
pub mod remote;
pub(crate) mod reply;
pub mod run;
pub mod signal;
pub mod skill;
pub mod suspension;
pub mod tool;
pub mod usage;
