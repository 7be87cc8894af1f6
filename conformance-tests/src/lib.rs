#![doc = include_str!("../README.md")]

mod apart;
mod bench;
mod case;
mod cases;
mod child;
mod clock;
mod difference;
mod failure;
mod fixture;
mod gap;
mod harness;
mod latency;
mod list;
mod macros;
mod model;
mod ops;
mod reader;
mod record;
#[cfg(feature = "reference")]
pub mod reference;
mod report;
mod runner;
mod script;
mod shown;
mod snapshot;
mod suite;
mod sweep;
mod world;

pub use bench::Bench;
pub use case::{Capability, Case, CaseFuture, Kind, Level};
pub use cases::all;
pub use child::serve_child;
pub use clock::{ClockControl, TestClock, VirtualClock};
pub use failure::{CaseResult, Failure};
pub use gap::Gap;
pub use harness::{Instance, StoreHarness, StoreInfo};
pub use latency::OperationReport;
pub use record::Recorded;
pub use report::{CaseFailure, CaseReport, LevelReport, Report, SUITE_VERSION, Verdict};
pub use runner::{Status, TestPlace, check, run};
pub use suite::Suite;
