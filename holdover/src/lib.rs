#![doc = include_str!("docs/lib.md")]

pub mod agent;
pub mod elsewhere;
pub mod events;
#[cfg(feature = "flow")]
pub mod flow;
#[cfg(feature = "front")]
pub mod front;
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
#[cfg(feature = "schedules")]
pub mod schedules;
pub mod session;
pub mod store;
#[cfg(feature = "temporal")]
pub mod temporal;
pub mod tools;

#[cfg(all(doctest, feature = "sqlite", feature = "models", feature = "tools"))]
#[doc = include_str!("../../README.md")]
struct ReadMe;

#[cfg(all(doctest, feature = "memory", feature = "sqlite", feature = "flow"))]
#[doc = include_str!("../../docs/how-to/flows.md")]
struct HowToFlows;

#[cfg(all(doctest, feature = "flow-test"))]
#[doc = include_str!("../../docs/how-to/test-flows.md")]
struct HowToTestFlows;

#[cfg(all(doctest, feature = "memory", feature = "models", feature = "schedules"))]
#[doc = include_str!("../../docs/how-to/schedules.md")]
struct HowToSchedules;

#[cfg(all(doctest, feature = "sqlite", feature = "models", feature = "temporal"))]
#[doc = include_str!("../../docs/how-to/temporal.md")]
struct HowToTemporal;
