#![doc = include_str!("../README.md")]

mod apart;
mod attempt;
mod bench;
mod case;
mod cases;
mod child;
mod clock;
mod conduct;
mod difference;
mod failure;
mod fixture;
mod gap;
mod harness;
mod latency;
mod linear;
mod list;
mod macros;
mod model;
mod ops;
mod parts;
mod pause;
mod poll;
mod proxy;
mod random;
mod reader;
mod record;
#[cfg(feature = "reference")]
pub mod reference;
mod report;
mod runner;
mod scene;
mod script;
mod settings;
mod shown;
mod snapshot;
mod status;
mod suite;
mod sweep;
mod world;
mod wrapped;

pub use case::{Capability, Case, Kind, Level};
pub use cases::all;
pub use child::serve_child;
pub use clock::{ClockControl, TestClock, VirtualClock};
pub use gap::{Claim, Gap};
pub use harness::{Instance, StoreHarness, StoreInfo};
pub use latency::OperationReport;
pub use proxy::Proxy;
pub use report::{CaseFailure, CaseReport, LevelReport, Report, SUITE_VERSION, Verdict};
#[doc(hidden)]
pub use runner::check_claims;
pub use runner::{TestPlace, check, run};
pub use settings::Settings;
pub use status::Status;
pub use suite::{Progress, Suite};
pub use wrapped::Wrapped;
