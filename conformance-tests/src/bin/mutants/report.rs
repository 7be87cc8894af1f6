//! The kill matrix for people: on the console and as Markdown.

use std::fmt::Write as _;

use crate::matrix::{Matrix, Row};
use crate::reasons::KILL_NOTHING;

/// How many killers of a store the Markdown names.
const KILLERS_SHOWN: usize = 6;

/// One line a store, then whatever is wrong.
pub(crate) fn console(matrix: &Matrix) -> String {
    let mut text = String::new();
    let cases = matrix.cases.len();
    for row in &matrix.rows {
        let verdict = verdict(row, cases);
        let _ = writeln!(text, "{verdict:<10} {} ({})", row.mutant.name, row.mutant.broken);
        let _ = writeln!(text, "           {} of {cases}: {}", row.killers.len(), row.killers.join(" "));
    }
    for id in &matrix.reference_fails {
        let _ = writeln!(text, "error: the reference fails {id}, so nothing is proved");
    }
    for id in matrix.idle_without_reason() {
        let _ = writeln!(text, "error: {id} kills nothing, and no reason is given");
    }
    for id in matrix.idle_reasons() {
        let _ = writeln!(text, "note: a reason is given for {id}, which needed none this time");
    }
    text
}

/// The matrix as a page.
pub(crate) fn markdown(matrix: &Matrix) -> String {
    let cases = matrix.cases.len();
    let mut text = format!(
        "# The kill matrix\n\nWritten by `cargo run -p holdover-conformance-tests --features mutants --bin mutants -- \
         --write`: {} broken stores, each the reference with one fault, under the {cases} cases of the suite. Every \
         one must be killed by a case, none by more than a third of them. Who wins a race is not always the same, \
         so the numbers of races may differ by a few from run to run.\n\n\
         | broken store | what is broken | killed by | cases |\n|---|---|---|---|\n",
        matrix.rows.len(),
    );
    for row in &matrix.rows {
        let shown = row.killers.len().min(KILLERS_SHOWN);
        let mut named: Vec<String> = row.killers[..shown].iter().map(|id| format!("`{id}`")).collect();
        if row.killers.len() > shown {
            named.push("…".into());
        }
        let (mutant, count) = (row.mutant, row.killers.len());
        let _ = writeln!(text, "| {} | {} | {count} | {} |", mutant.name, mutant.broken, named.join(" "));
    }
    text.push_str("\n## Cases that kill none of these\n\n");
    for (id, reason) in KILL_NOTHING {
        let _ = writeln!(text, "- `{id}`: {reason}");
    }
    text
}

fn verdict(row: &Row, cases: usize) -> &'static str {
    match (row.killers.is_empty(), row.too_coarse(cases)) {
        (true, _) => "SURVIVED",
        (false, true) => "TOO COARSE",
        (false, false) => "killed",
    }
}
