//! One module for each family of commands.

pub(crate) mod answer;
pub(crate) mod completions;
#[cfg(feature = "conformance")]
pub(crate) mod conformance;
pub(crate) mod dead;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod keys;
pub(crate) mod machine;
#[cfg(feature = "serve")]
pub(crate) mod mcp;
pub(crate) mod run;
#[cfg(feature = "schedules")]
pub(crate) mod schedules;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod signal;
pub(crate) mod skills;
pub(crate) mod stop;
#[cfg(feature = "serve")]
pub(crate) mod tokens;
pub(crate) mod work;
