//! `docs/requirements.md`: the requirements of the engine, and the tests that show them.
//!
//! Every id has a row, and every test that a row names exists. The test must cite the id: in its name (`a27_…`), or in
//! the comments directly above it. The counts at the head of the page must equal those of its rows.

use std::collections::BTreeMap;

use crate::fault::Fault;
use crate::tree::Tree;

/// The path of the page.
pub const PAGE: &str = "docs/requirements.md";
/// The number of ids in each section.
pub const SECTIONS: &[(char, usize)] =
    &[('A', 71), ('B', 50), ('C', 63), ('D', 23), ('H', 26), ('R', 2), ('U', 13)];
const SHOWN: &str = "shown";
const NOT: &str = "does not apply";
const STATES: [&str; 3] = [SHOWN, NOT, "open"];

/// A row of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row<'p> {
    line: usize,
    id: &'p str,
    state: &'p str,
    /// The tests that show the requirement, or what is missing.
    by: &'p str,
}

/// The content of the page, and its faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The line with the counts, which must stand between the marks on the page.
    pub head: String,
    /// The page with these counts.
    pub page: String,
    /// The faults of the rows.
    pub faults: Vec<Fault>,
}

impl Trace {
    /// Reads the page. `sections` holds the letter of each section, and its number of ids.
    pub fn read(tree: &Tree, sections: &[(char, usize)]) -> Self {
        let page = tree.read(PAGE);
        let mut faults = Vec::new();
        let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
        for row in rows_of(page) {
            if let Some(other) = rows.insert(row.id, row.clone()) {
                faults.push(row.fault(format!("a row stands in line {} already: take one out", other.line)));
            }
        }
        let ids = sections
            .iter()
            .flat_map(|(letter, many)| (1..=*many).map(move |number| format!("{letter}{number:02}")));
        let ids: Vec<_> = ids.collect();
        let mut counts = [0; STATES.len()];
        for id in &ids {
            let Some(row) = rows.get(id.as_str()) else {
                let line = rows.range(..id.as_str()).next_back().map_or(0, |(_, before)| before.line) + 1;
                faults.push(Fault::at(PAGE, line, format!("{id}: has no row: add it")));
                continue;
            };
            match STATES.iter().position(|state| *state == row.state) {
                Some(at) => counts[at] += 1,
                None => {
                    faults.push(row.fault(format!("{} is none of: {}", row.state, STATES.join(", "))));
                    continue;
                }
            }
            faults.extend(row.faults(tree));
        }
        let unknown = rows.values().filter(|row| !ids.iter().any(|id| id == row.id));
        faults.extend(unknown.map(|row| row.fault("there is no such requirement")));
        let counted: Vec<_> =
            STATES.iter().zip(counts).map(|(state, many)| format!("{many} {state}")).collect();
        let head = format!("{} requirements: {}.", ids.len(), counted.join(", "));
        Self { page: with_head(page, &head), head, faults }
    }
}

impl Row<'_> {
    fn fault(&self, what: impl std::fmt::Display) -> Fault {
        Fault::at(PAGE, self.line, format!("{}: {what}", self.id))
    }

    fn faults(&self, tree: &Tree) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.state == NOT && !quotes(self.by) {
            faults.push(self.fault("quote the line of the design that decided it, between “ and ”"));
        }
        if self.state != SHOWN {
            return faults;
        }
        let tests: Vec<_> = self.by.split("<br>").map(str::trim).collect();
        faults.extend(tests.into_iter().filter_map(|test| self.wrong_with(tree, test)));
        faults
    }

    /// Returns the fault of a test, if it has one. A test is `path::name`, with the name of a function or of a case
    /// for the suite.
    fn wrong_with(&self, tree: &Tree, test: &str) -> Option<Fault> {
        let inner = test.strip_prefix('`').and_then(|test| test.strip_suffix('`'));
        let Some((path, name)) = inner.and_then(|inner| inner.split_once("::")) else {
            return Some(self.fault(format!("name a test as `path::test`, not as {test}")));
        };
        if !tree.is_file(path) {
            return Some(self.fault(format!("there is no {path}: name the file that holds {name} now")));
        }
        let text = tree.read(path);
        let Some(at) = place_of(text, name) else {
            return Some(self.fault(format!("{path} has no test {name}: name the one that shows the rule")));
        };
        let named = name.split('_').any(|part| part.eq_ignore_ascii_case(self.id));
        let cited = named || above(text, at).any(|line| words(line, self.id).next().is_some());
        (!cited).then(|| self.fault(format!("cite {} in {path}, above {name} or in its name", self.id)))
    }
}

/// Returns the rows of the page, in order: `| A01 | state | by |`.
fn rows_of(page: &str) -> impl Iterator<Item = Row<'_>> {
    page.lines().enumerate().filter_map(|(at, line)| {
        let (id, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
        let known = "ABCDHRU".contains(id.chars().next()?)
            && id.len() == 3
            && id[1..].bytes().all(|digit| digit.is_ascii_digit());
        let (state, by) = rest.strip_suffix(" |")?.split_once(" | ")?;
        known.then(|| Row { line: at + 1, id, state: state.trim(), by: by.trim() })
    })
}

/// Returns true if the text begins with a quotation between “ and ”.
fn quotes(by: &str) -> bool {
    by.strip_prefix('“').and_then(|rest| rest.rfind('”')).is_some_and(|end| end > 0)
}

/// Returns the place of the test with this name: a function, a match arm, or a quoted name. `None` if there is none.
fn place_of(text: &str, name: &str) -> Option<usize> {
    let function = || words(text, name).find(|at| text[..*at].ends_with("fn "));
    let arm =
        || words(text, name).find(|at| text[*at..].lines().next().is_some_and(|line| line.contains("=>")));
    function().or_else(arm).or_else(|| text.find(&format!("\"{name}\"")))
}

/// Returns the comments and attributes directly above the line of this place, from the nearest up.
fn above(text: &str, at: usize) -> impl Iterator<Item = &str> {
    let before = text[..at].rfind('\n').map_or("", |end| &text[..end]);
    let is_above = |line: &&str| line.trim_start().starts_with("//") || line.trim_start().starts_with("#[");
    before.lines().rev().take_while(is_above)
}

/// Returns the positions of a word in the text where no letter, digit or underscore is next to it.
fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let part = |sign: char| sign == '_' || sign.is_ascii_alphanumeric();
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| !text[..*at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

/// Returns the page with this line between its marks. Panics if the page has no marks.
fn with_head(page: &str, head: &str) -> String {
    const BEGIN: &str = "<!-- counts -->\n";
    const END: &str = "\n<!-- /counts -->";
    let marked = page.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some(format!("{before}{BEGIN}{head}{END}{after}"))
    });
    marked.unwrap_or_else(|| panic!("{PAGE}: has no <!-- counts --> … <!-- /counts -->"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rows: &str) -> Vec<String> {
        let page = format!("<!-- counts -->\n\n<!-- /counts -->\n{rows}");
        let tests = "//! Requirements: A01, A02.\nfn a01_it_holds() {}\n// Requirements: A02.\nsome_case => x,\n// A02.\n(\"a case\", f)\n\
                     /// Requirements: A02.\n#[test]\nfn it_is() {}\nfn other() {}\n";
        let tree = Tree::of(&[(PAGE, &page), ("t.rs", tests)]);
        Trace::read(&tree, &[('A', 2)]).faults.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_page_that_is_right_has_no_fault() {
        let good = "| A01 | shown | `t.rs::a01_it_holds` |\n| A02 | shown | `t.rs::some_case`<br>`t.rs::a case`<br>`t.rs::it_is` |\n";
        assert_eq!(told(good), Vec::<String>::new());
        assert_eq!(
            told("| A01 | open | not built |\n| A02 | does not apply | “later” |\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_fault_of_a_row_is_told() {
        let second = "| A02 | shown | `t.rs::some_case` |\n";
        for (row, fault) in [
            ("", "A01: has no row"),
            ("| A01 | shown | |\n", "A01: has no row"),
            ("| A01 | done | `t.rs::a01_it_holds` |\n", "done is none of"),
            ("| A01 | shown | t.rs::a01_it_holds |\n", "as `path::test`"),
            ("| A01 | shown | `u.rs::a01_it_holds` |\n", "there is no u.rs"),
            ("| A01 | shown | `t.rs::a01_it` |\n", "has no test a01_it:"),
            ("| A01 | shown | `t.rs::some_case` |\n", "cite A01 in t.rs, above some_case"),
            ("| A01 | shown | `t.rs::other` |\n", "cite A01 in t.rs, above other"),
            ("| A01 | shown | `t.rs::it_is` |\n", "cite A01 in t.rs, above it_is"),
            ("| A01 | shown | the rest |\n", "as `path::test`"),
            ("| A01 | does not apply | later |\n", "quote the line"),
            ("| A01 | open | x |\n| A01 | open | x |\n", "stands in line"),
            ("| A01 | open | x |\n| A03 | open | x |\n", "A03: there is no such requirement"),
            ("| A01 | open | x |\n| B01 | open | x |\n", "B01: there is no such requirement"),
        ] {
            let told = told(&format!("{row}{second}"));
            assert!(told.iter().any(|told| told.contains(fault)), "{row}: {told:?}");
        }
    }

    #[test]
    fn the_counts_are_those_of_the_rows() {
        let page = "a\n<!-- counts -->\nold\n<!-- /counts -->\n| A01 | open | x |\n";
        let trace = Trace::read(&Tree::of(&[(PAGE, page)]), &[('A', 1)]);
        assert_eq!(trace.head, "1 requirements: 0 shown, 0 does not apply, 1 open.");
        assert_eq!(trace.page, page.replace("old", &trace.head));
    }
}
