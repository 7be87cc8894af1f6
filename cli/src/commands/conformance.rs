//! `conformance`: the public suite against a store that this binary knows, on data of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use holdover_conformance_tests::reference::MemoryHarness;
use holdover_conformance_tests::{Report, StoreHarness, Suite, Verdict};
use holdover_store_sqlite::conformance::SqliteHarness;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

use crate::args::{Common, Conformance, Form};
use crate::exit::{Exit, Failure};
use crate::print::Out;
use crate::store;

/// Runs the suite, prints and writes its reports.
pub(crate) async fn conformance(common: &Common, args: &Conformance) -> Result<Exit, Failure> {
    if let Some(file) = &args.child {
        SqliteHarness::serve_child(file).await;
        return Ok(Exit::Completed);
    }
    let places = places(common, args)?;
    let url = common.store.as_str();
    let report = match url {
        "memory" | "memory:" => run(Suite::new(MemoryHarness::new), url, args).await?,
        url => {
            let folder = folder_beside(url)?;
            let place = folder.path().to_owned();
            check_place(url, &place).await?;
            let suite = Suite::new(move || SqliteHarness::in_folder(&place).child_program(this_program));
            // The folder goes when this returns, whatever is returned.
            run(suite, url, args).await?
        }
    };
    if report.cases.is_empty() {
        let filter = args.filter.as_deref().unwrap_or_default();
        return Err(Failure::wrong_use(format!("--filter {filter:?}: no case has that in its id")));
    }
    show(&report, &places)?;
    Ok(if report.verdict() == Verdict::Passed { Exit::Completed } else { Exit::Failed })
}

/// This program, as a child on the file of a store.
fn this_program(file: &Path) -> Command {
    // A program that cannot be found fails the cases that start it, and says so.
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.args(["conformance", "--child"]).arg(file);
    command
}

/// Where a report goes.
enum Place<'a> {
    Output,
    File(&'a Path),
}

/// The reports that are asked for, each with its place.
fn places<'a>(common: &Common, args: &'a Conformance) -> Result<Vec<(Form, Place<'a>)>, Failure> {
    match (args.report.as_slice(), args.out.as_slice()) {
        ([], []) if common.json => Ok(vec![(Form::Json, Place::Output)]),
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

async fn run<H: StoreHarness>(suite: Suite<H>, url: &str, args: &Conformance) -> Result<Report, Failure> {
    let mut suite = suite.seed(args.seed).command(format!("holdover conformance --store {url}"));
    if let Some(level) = args.level {
        suite = suite.level(level);
    }
    if let Some(filter) = &args.filter {
        suite = suite.filter(filter);
    }
    if let Some(jobs) = args.jobs {
        suite = suite.jobs(jobs.get());
    }
    tokio::select! {
        report = suite.run() => Ok(report),
        _ = tokio::signal::ctrl_c() => Err(Failure { exit: Exit::Killed, line: "the suite was stopped".to_owned() }),
    }
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
    if places.iter().any(|(_, place)| matches!(place, Place::Output)) {
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
            Place::File(file) => std::fs::write(file, text)
                .map_err(|error| Failure::failed(format!("--out {}: {error}", file.display())))?,
        }
    }
    Ok(())
}
