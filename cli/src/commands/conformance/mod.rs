//! `conformance`: runs the public suite against a store that this binary supports, on separate data.

mod child;
mod ground;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod run;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod server;
mod watch;

use std::io::Write;
use std::path::Path;

use holdover_conformance_tests::{Report, Verdict};

use self::run::Run;
use crate::args::{Common, Conformance, Form};
use crate::exit::{Exit, Failure};
#[cfg(not(feature = "postgres"))]
use crate::left_out::postgres;
#[cfg(not(feature = "redis"))]
use crate::left_out::redis;
use crate::print::{Out, counted};
use crate::signals::Signals;

/// Runs the suite, then prints and writes its reports.
pub(crate) async fn conformance(common: &Common, args: &Conformance) -> Result<Exit, Failure> {
    if let Some(served) = child::serve(&common.store).await {
        return served;
    }
    let places = places(common, args)?;
    // Signals are caught before any data is made, so that a stopped suite removes its data.
    let mut signals = Signals::listen()?;
    let output_taken = takes_output(&places);
    let report =
        ground::test(&common.store, Run { common, args, output_taken, signals: &mut signals }).await?;
    if report.cases.is_empty() {
        let filter = args.filter.as_deref().unwrap_or_default();
        return Err(Failure::wrong_use(format!("--filter {filter:?}: no case has that in its id")));
    }
    show(&report, &places)?;
    Ok(exit_of(report.verdict()))
}

/// Returns the exit code for a verdict. Only `Passed` is a success.
fn exit_of(verdict: Verdict) -> Exit {
    if verdict == Verdict::Passed { Exit::Completed } else { Exit::Failed }
}

/// The destination of a report.
enum Place<'a> {
    Output,
    /// Standard output as one line, which `--json` requires.
    Line,
    File(&'a Path),
}

/// Returns the requested reports, each with its destination.
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
            "--report {} and --out {}: each report needs its file",
            counted(forms.len(), "time"),
            counted(files.len(), "time")
        ))),
    }
}

/// Fails if the folder of `file` does not exist, before anything is run.
fn writable(file: &Path) -> Result<&Path, Failure> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(Failure::wrong_use(format!("--out {}: there is no such folder", file.display())))
        }
        Some(_) | None => Ok(file),
    }
}

/// Returns true if a report goes to standard output, so that nothing else may be printed there.
fn takes_output(places: &[(Form, Place<'_>)]) -> bool {
    places.iter().any(|(_, place)| match place {
        Place::Output | Place::Line => true,
        Place::File(_) => false,
    })
}

fn show(report: &Report, places: &[(Form, Place<'_>)]) -> Result<(), Failure> {
    let out = Out::for_people();
    let tree = report.console();
    if takes_output(places) {
        // A reader that has gone away does not change the result.
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

/// Returns the same JSON without line ends, except the last one. Line ends stand only between tokens, because they are
/// escaped within strings.
fn one_line_of_json(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    format!("{}\n", lines.concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
