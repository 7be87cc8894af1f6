//! `conformance`: the public suite against a store that this binary knows, on data of its own.

mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use holdover_conformance_tests::reference::MemoryHarness;
use holdover_conformance_tests::{Report, StoreHarness, Suite, Verdict};
use holdover_store_sqlite::conformance::SqliteHarness;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::json;
use tempfile::TempDir;

use self::watch::Watch;
use crate::args::{Common, Conformance, Form};
use crate::exit::{Exit, Failure};
use crate::print::{Out, note};
use crate::signals::Signals;
use crate::store;
use crate::temporary;

/// Names the file that this process is to write into until it is killed: how the suite starts what it kills.
const CHILD: &str = "HOLDOVER_CONFORMANCE_CHILD";

/// Runs the suite, prints and writes its reports.
pub(crate) async fn conformance(common: &Common, args: &Conformance) -> Result<Exit, Failure> {
    if let Some(file) = std::env::var_os(CHILD) {
        SqliteHarness::serve_child(Path::new(&file)).await;
        return Ok(Exit::Completed);
    }
    let places = places(common, args)?;
    // Before there is a folder: whoever is told to stop removes it.
    let mut signals = Signals::listen()?;
    let url = common.store.as_str();
    let report = match url {
        "memory" | "memory:" => run(MemoryHarness::new, common, args, &places, &mut signals).await?,
        url => {
            let folder = folder_beside(url)?;
            let place = folder.path().to_owned();
            let ran = match check_place(url, &place).await {
                Ok(()) => {
                    let make = move || SqliteHarness::in_folder(&place).child_program(this_program);
                    run(make, common, args, &places, &mut signals).await
                }
                Err(failure) => Err(failure),
            };
            let removed = temporary::remove(folder).await;
            let report = ran?;
            removed.map_err(|error| Failure::failed(format!("store {url}: {error}")))?;
            report
        }
    };
    if report.cases.is_empty() {
        let filter = args.filter.as_deref().unwrap_or_default();
        return Err(Failure::wrong_use(format!("--filter {filter:?}: no case has that in its id")));
    }
    show(&report, &places)?;
    Ok(exit_of(report.verdict()))
}

/// What a verdict means for the process: only one is a success.
fn exit_of(verdict: Verdict) -> Exit {
    if verdict == Verdict::Passed { Exit::Completed } else { Exit::Failed }
}

/// This program, as a child on the file of a store.
fn this_program(file: &Path) -> Command {
    // A program that cannot be found fails the cases that start it, and says so.
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.arg("conformance").env(CHILD, file);
    command
}

/// Where a report goes.
enum Place<'a> {
    Output,
    /// Standard output, on one line, as `--json` promises.
    Line,
    File(&'a Path),
}

/// The reports that are asked for, each with its place.
fn places<'a>(common: &Common, args: &'a Conformance) -> Result<Vec<(Form, Place<'a>)>, Failure> {
    match (args.report.as_slice(), args.out.as_slice()) {
        ([], []) if common.json => Ok(vec![(Form::Json, Place::Line)]),
        (_, _) if common.json => {
            Err(Failure::wrong_use("--json: is a report of its own; give --report, or --json, not both"))
        }
        ([form], []) => Ok(vec![(*form, Place::Output)]),
        (forms, files) if forms.len() == files.len() => {
            let pairs = forms.iter().zip(files);
            pairs.map(|(form, file)| Ok((*form, Place::File(writable(file)?)))).collect()
        }
        (forms, files) => Err(Failure::wrong_use(format!(
            "--report {} times and --out {} times: each report needs its file",
            forms.len(),
            files.len()
        ))),
    }
}

/// Refuses a file whose folder is not there, before anything is run.
fn writable(file: &Path) -> Result<&Path, Failure> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(Failure::wrong_use(format!("--out {}: there is no such folder", file.display())))
        }
        Some(_) | None => Ok(file),
    }
}

/// Runs the suite on the harnesses that `make` makes, or until told to stop: then what runs comes to its end,
/// unless told again.
async fn run<H: StoreHarness>(
    make: impl Fn() -> H + Send + Sync + 'static,
    common: &Common,
    args: &Conformance,
    places: &[(Form, Place<'_>)],
    signals: &mut Signals,
) -> Result<Report, Failure> {
    let watch = Watch::new();
    let watched = Arc::clone(&watch);
    let mut suite = Suite::new(move || watched.harness(&make))
        .seed(args.seed)
        .command(format!("holdover conformance --store {}", common.store));
    if let Some(level) = args.level {
        suite = suite.level(level);
    }
    if let Some(filter) = &args.filter {
        suite = suite.filter(filter);
    }
    if let Some(jobs) = args.jobs {
        suite = suite.jobs(jobs.get());
    }
    let out = if takes_output(places) { Out::new(common) } else { Out::for_people() };
    let told = tokio::select! {
        report = suite.run() => return Ok(report),
        told = signals.next() => told,
        never = watch.draw(&out, holdover_conformance_tests::all().count()), if !takes_output(places) => match never {},
    };
    note("stopping once the cases that run have ended; again stops at once");
    let told = tokio::select! {
        () = watch.stop() => told,
        again = signals.next() => again,
    };
    let begun = watch.begun();
    out.object(&json!({ "stopped": true, "begun": begun }));
    Err(Failure {
        exit: told.exit(),
        line: format!("the suite was stopped: {begun} cases had begun, none is judged"),
    })
}

/// Whether a report goes to standard output, so that nothing else may.
fn takes_output(places: &[(Form, Place<'_>)]) -> bool {
    places.iter().any(|(_, place)| match place {
        Place::Output | Place::Line => true,
        Place::File(_) => false,
    })
}

/// A temporary folder beside the file that the URL names, or in the folder that it names.
fn folder_beside(url: &str) -> Result<TempDir, Failure> {
    SqliteOptions::from_url(url).map_err(|_| match store::path_of(url) {
        Err(failure) => failure,
        Ok(_) => Failure::wrong_use(format!("store {url}: write memory or sqlite:PATH")),
    })?;
    let path = PathBuf::from(store::path_of(url)?);
    let folder = match path.parent() {
        _ if path.is_dir() => path.as_path(),
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let made = tempfile::Builder::new().prefix("holdover-conformance-").tempdir_in(folder);
    made.map_err(|error| Failure::failed(format!("store {url}: {}: {error}", folder.display())))
}

/// Says in one line that no store can lie there, instead of once for each case.
async fn check_place(url: &str, folder: &Path) -> Result<(), Failure> {
    match SqliteStore::open(SqliteOptions::new(folder.join("first.db"))).await {
        Ok(store) => {
            store.close().await;
            Ok(())
        }
        Err(error) => Err(Failure::failed(format!("store {url}: {}", store::why(&error)))),
    }
}

fn show(report: &Report, places: &[(Form, Place<'_>)]) -> Result<(), Failure> {
    let out = Out::for_people();
    let tree = report.console();
    if takes_output(places) {
        // A reader that has gone away does not change what was found.
        let _ = std::io::stderr().write_all(tree.as_bytes());
    } else {
        out.plain(&tree);
    }
    for (form, place) in places {
        let text = match form {
            Form::Json => report.json(),
            Form::Junit => report.junit(),
            Form::Md => report.markdown(),
            Form::Badge => report.badge(),
        };
        match place {
            Place::Output => out.plain(&text),
            Place::Line => out.plain(&one_line_of_json(&text)),
            Place::File(file) => std::fs::write(file, text)
                .map_err(|error| Failure::failed(format!("--out {}: {error}", file.display())))?,
        }
    }
    Ok(())
}

/// The same JSON without its line ends, but for the last. They stand between its words only: within a string they
/// are written out.
fn one_line_of_json(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    format!("{}\n", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_suite_that_passed_is_a_success() {
        for (verdict, code) in [(Verdict::Passed, 0), (Verdict::Failed, 1), (Verdict::Incomplete, 1)] {
            assert_eq!(exit_of(verdict).code(), code, "{verdict:?}");
        }
    }

    #[test]
    fn json_of_several_lines_is_the_same_on_one() {
        let text = serde_json::to_string_pretty(&json!({ "a": ["  x\n  y", 1], "b": {} })).unwrap();
        let line = one_line_of_json(&text);
        assert_eq!(line.lines().count(), 1);
        let (one, many): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(&line).unwrap(), serde_json::from_str(&text).unwrap());
        assert_eq!(one, many);
    }
}
