#![doc = include_str!("docs/lib.md")]

pub mod agent;
pub mod elsewhere;
pub mod events;
pub mod gates;
pub mod guide;
pub mod hooks;
pub mod machine;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
pub mod pending;
pub mod prelude;
#[cfg(feature = "restate")]
pub mod restate;
pub mod runtime;
pub mod session;
pub mod store;
#[cfg(feature = "temporal")]
pub mod temporal;
pub mod tools;

#[cfg(all(doctest, feature = "sqlite", feature = "models", feature = "tools"))]
#[doc = include_str!("../../README.md")]
struct ReadMe;

#[cfg(all(doctest, feature = "sqlite", feature = "models", feature = "temporal"))]
#[doc = include_str!("../../docs/how-to/temporal.md")]
struct HowToTemporal;
