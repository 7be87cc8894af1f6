//! The arguments of the conformance suite.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use holdover_conformance_tests::Level;

#[derive(Debug, Args)]
#[command(after_help = "\
Your data is never touched. --store sqlite:PATH says where to test, not what: every case has new databases in a temporary folder beside the file PATH (inside PATH if it is a folder), so that the same file system is tested, and the folder is removed at the end. On servers every case has schemas or namespaces of its own, named by chance, and they are removed at the end, also after Ctrl-C; kill -9 leaves them. --store memory tests the reference store. The clock is moved by the cases, and payload limits are lowered to a size that a case can reach.

The tree goes to standard output, or to standard error when a report goes to standard output. Exit codes: 0 only if every case of the asked level, and of those below it, was run and passed; 1 if not, and so always with --filter; 2 wrong use; 130 or 143 if told to stop: then there is no report.

Examples:
  holdover conformance --store sqlite:holdover.db
  holdover conformance --store memory --level core --report md
  holdover conformance --store postgres://localhost/app --kills 500
  holdover conformance --store redis+cluster://10.0.0.1:6379,10.0.0.2:6379 --scripts 160
  holdover conformance --filter fence --report json --out fence.json --report junit --out fence.xml")]
pub(crate) struct Conformance {
    /// The level to be judged; left out: the highest that the store claims
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    pub(crate) level: Option<Level>,
    /// Run only the case with this id; if there is none, the category with this name; else all cases whose id contains it
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// The order in which cases begin, and what they draw at random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many random scripts each comparison with the model plays [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) scripts: Option<NonZeroU32>,
    /// How many processes each case that kills kills [default: 40]
    #[arg(long, value_name = "N")]
    pub(crate) kills: Option<NonZeroU32>,
    /// How many cases run at once; left out: one for each processor
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Report in this form; may be given several times, each with its --out
    #[arg(long, value_name = "FORM")]
    pub(crate) report: Vec<Form>,
    /// Where the report goes, in the order of --report; left out: standard output
    #[arg(long, value_name = "FILE", requires = "report")]
    pub(crate) out: Vec<PathBuf>,
}

/// A form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Everything, for programs
    Json,
    /// JUnit XML, for build servers
    Junit,
    /// A page without times, for a repository
    Md,
    /// A badge, for shields.io
    Badge,
}

fn level() -> impl TypedValueParser<Value = Level> {
    let named = |name: String| Level::ALL.into_iter().find(|level| level.as_str() == name);
    PossibleValuesParser::new(Level::ALL.map(Level::as_str))
        .try_map(move |name| named(name).ok_or("there is no such level"))
}
