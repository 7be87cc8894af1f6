//! The arguments of the conformance suite.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use holdover_conformance_tests::Level;

#[derive(Debug, Args)]
#[command(after_help = "\
Your data is never touched. --store sqlite:PATH only names the place of the test. Every case creates new databases in a temporary folder beside the file PATH (inside PATH if it is a folder), so that the same file system is tested. On a server, every case creates its own schemas or namespaces with random names. All of these are removed at the end, even after Ctrl-C; kill -9 leaves them. --store memory tests the reference store. Cases move the clock, and lower the payload limits to sizes that they can reach.

The tree of results goes to standard output, or to standard error if a report goes to standard output. Exit code 0 means that every case of the requested level, and of the levels below it, was run and passed. Otherwise the exit code is 1; with --filter it is never 0. Exit code 2 means wrong use. Exit code 130 or 143 means that the suite was told to stop; there is no report then.

Examples:
  holdover conformance --store sqlite:holdover.db
  holdover conformance --store memory --level core --report md
  holdover conformance --store postgres://localhost/app --kills 500
  holdover conformance --store redis+cluster://10.0.0.1:6379,10.0.0.2:6379 --scripts 160
  holdover conformance --filter fence --report json --out fence.json --report junit --out fence.xml")]
pub(crate) struct Conformance {
    /// Highest level to test [default: the highest that the store claims]
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    pub(crate) level: Option<Level>,
    /// Run only the case with this id, else the category with this name, else cases whose id contains it
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Seed for the order of the cases and for their random values
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of random scripts in each comparison with the reference model [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) scripts: Option<NonZeroU32>,
    /// Number of processes that each kill case kills [default: 40]
    #[arg(long, value_name = "N")]
    pub(crate) kills: Option<NonZeroU32>,
    /// Number of cases that run at once [default: one per processor]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Write a report in this form; may be repeated, each time with its own --out
    #[arg(long, value_name = "FORM")]
    pub(crate) report: Vec<Form>,
    /// File for the report, in the order of --report [default: standard output]
    #[arg(long, value_name = "FILE", requires = "report")]
    pub(crate) out: Vec<PathBuf>,
}

/// A form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// All results as JSON, for programs
    Json,
    /// JUnit XML, for build servers
    Junit,
    /// A Markdown page without times, for a repository
    Md,
    /// A badge for shields.io
    Badge,
}

fn level() -> impl TypedValueParser<Value = Level> {
    let named = |name: String| Level::ALL.into_iter().find(|level| level.as_str() == name);
    PossibleValuesParser::new(Level::ALL.map(Level::as_str))
        .try_map(move |name| named(name).ok_or("there is no such level"))
}
