//! The kill matrix as text for the console and as Markdown. Neither depends on the time or on chance, so two runs give
//! the same text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use holdover_conformance_tests::Case;

use crate::fault::Mutant;
use crate::matrix::{How, Killer, Matrix, Row, must_kill};

/// The maximum number of killers that the Markdown names for a store.
const KILLERS_SHOWN: usize = 5;

/// Lists what killed each store.
pub(crate) fn console(matrix: &Matrix) -> String {
    let mut text = String::new();
    let cases = matrix.cases.len();
    for row in &matrix.rows {
        let verdict = verdict(row, cases);
        let _ = writeln!(text, "{verdict:<10} {} ({})", row.mutant.name, row.mutant.broken);
        let killers: Vec<String> = row.killers.iter().map(named).collect();
        let _ = writeln!(text, "           {} of {cases}: {}", killers.len(), killers.join(" "));
        if let Some(How::Found(first)) =
            row.killers.iter().map(|it| &it.how).find(|how| matches!(how, How::Found(_)))
        {
            let _ = writeln!(text, "           {first}");
        }
    }
    for id in &matrix.reference_fails {
        let _ = writeln!(text, "error: the reference fails {id}, so nothing is proved");
    }
    text
}

/// Lists the cases that should kill a store and do not.
pub(crate) fn idle(matrix: &Matrix) -> String {
    matrix.idle().fold(String::new(), |text, id| text + &format!("error: {id} kills nothing\n"))
}

/// Formats the matrix as a page.
pub(crate) fn markdown(matrix: &Matrix) -> String {
    let cases = matrix.cases.len();
    let mut text = format!(
        "# The kill matrix\n\n\
         The suite is tested too: {} broken stores, each the reference, or sound rules over rows in memory, with one fault, run under its {cases} cases. \
         Every one must be killed by a case that looks and finds something else than it should (neither a panic nor a hang counts, nor a case that draws what it asks), none by more than a third of them, and every case of the levels core \
         and distributed must kill one. Left out are {left_out} cases, which other tests try on broken stores of their own: the stories that are drawn at random (`prop.*`: \
         `tests/scripts.rs`, on some of these stores), the processes that are killed (`child_process`: `harnesses/tests/sqlite_kills.rs`), \
         the connections that are cut (`wire_faults`: `tests/wire.rs`), and the places that nobody has opened, or that are damaged (`raw_data`: \
         `tests/schema.rs`). Without `--write` or `--all`, each store runs under the cases that are named here for it. Written, and compared with what is here, by\n\n\
         ```\ncargo run -p holdover-conformance-tests --features mutants --bin mutants -- --write\n```\n\n\
         ## Broken stores\n\n\
         | broken store | what is broken | killed by | cases |\n|---|---|---|---|\n",
        matrix.rows.len(),
        left_out = holdover_conformance_tests::all().count() - cases,
    );
    for row in &matrix.rows {
        let shown = row.killers.len().min(KILLERS_SHOWN);
        let mut named: Vec<String> =
            row.killers[..shown].iter().map(|killer| format!("`{}`", killer.id)).collect();
        if row.killers.len() > shown {
            named.push("…".into());
        }
        let (mutant, count) = (row.mutant, row.killers.len());
        let _ = writeln!(text, "| {} | {} | {count} | {} |", mutant.name, mutant.broken, named.join(" "));
    }
    text.push_str("\n## Cases\n\n| case | level | kills |\n|---|---|---|\n");
    for case in &matrix.cases {
        let _ = writeln!(text, "| `{}` | {} | {} |", case.id, case.level, matrix.kills(case.id));
    }
    text
}

/// Returns what the page lacks of the broken stores and the cases that there are, or says against them: a store or a case
/// that is not on it, a store that too many cases kill, and a case that must kill a store and kills none.
pub(crate) fn faults_of(page: &str, stores: &[&Mutant], cases: &[&'static Case]) -> Vec<String> {
    let rows: Vec<Vec<&str>> =
        page.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
    let count = |name: &str, cells: usize| {
        let row = rows.iter().find(|row| row.len() == cells && row[0] == name)?;
        row.get(2)?.parse::<usize>().ok()
    };
    let of_stores = stores.iter().filter_map(|store| match count(store.name, 4) {
        None => Some(format!("broken store {}: is not on the page", store.name)),
        Some(killers) if killers * 3 > cases.len() => {
            Some(format!("broken store {}: is too coarse", store.name))
        }
        Some(_) => None,
    });
    let of_cases = cases.iter().filter_map(|case| match count(&format!("`{}`", case.id), 3) {
        None => Some(format!("case {}: is not on the page", case.id)),
        Some(0) if must_kill(case) => Some(format!("case {}: kills no store", case.id)),
        Some(_) => None,
    });
    of_stores.chain(of_cases).collect()
}

/// Returns the cases that the page names for each broken store, in the order of the suite.
pub(crate) fn killers_on(page: &str) -> BTreeMap<String, Vec<String>> {
    let row = |line: &str| {
        let [name, _, _, cases] = line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let cases: Vec<String> = cases.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (!cases.is_empty()).then(|| (name.to_owned(), cases))
    };
    page.lines().filter_map(row).collect()
}

/// Names a killer and, unless a comparison failed, the way in which it failed.
fn named(killer: &Killer) -> String {
    match &killer.how {
        How::Found(_) => killer.id.to_owned(),
        How::NotImplemented => format!("{} (not implemented)", killer.id),
        How::Panicked(said) => format!("{} (panic: {said})", killer.id),
        How::Hung => format!("{} (hang)", killer.id),
    }
}

fn verdict(row: &Row, cases: usize) -> &'static str {
    if row.killers.is_empty() {
        "SURVIVED"
    } else if !row.is_found() {
        "NOT FOUND"
    } else if !row.is_found_for_sure() {
        "BY LUCK"
    } else if row.too_coarse(cases) {
        "TOO COARSE"
    } else {
        "killed"
    }
}
