#![doc = include_str!("../README.md")]

mod bench;
mod case;
mod cases;
mod clock;
mod failure;
mod fixture;
mod harness;
mod list;
mod macros;
mod ops;
mod reader;
mod record;
mod runner;
mod snapshot;

pub use bench::Bench;
pub use case::{Capability, Case, CaseFuture, Kind, Level};
pub use cases::all;
pub use clock::{ClockControl, VirtualClock};
pub use failure::{CaseResult, Failure};
pub use harness::{Instance, StoreHarness, StoreInfo};
pub use record::Recorded;
pub use runner::{Status, TestPlace, Verdict, check, run};
