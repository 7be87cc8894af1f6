//! Checks that every requirement has a row on its page, that the tests that show it exist and cite it, and that the
//! counts on the page are those of the rows.

use xtask::fault::{self, Fault};
use xtask::trace::{PAGE, SECTIONS, Trace};
use xtask::tree::Tree;

#[test]
fn every_requirement_names_tests_that_are_there_and_cite_it() {
    let tree = Tree::here();
    let mut trace = Trace::read(&tree, SECTIONS);
    if trace.page != tree.read(PAGE) {
        let line = tree.read(PAGE).lines().position(|line| line == "<!-- counts -->").map_or(1, |at| at + 2);
        let what = format!("run `cargo xtask trace --write`: the counts are now: {}", trace.head);
        trace.faults.push(Fault::at(PAGE, line, what));
    }
    fault::none(trace.faults);
}
