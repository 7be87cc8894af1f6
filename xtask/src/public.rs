//! The list of the public items of the facade, which is committed: `holdover/public-api.txt`.
//!
//! It is built from the JSON that rustdoc writes for each crate. It shows every name that `holdover` exports, in its
//! module, with the fields, variants, methods and traits that its crate gives it. So a change of the public items shows
//! as a change of that file.

mod docs;
mod items;
mod types;

pub use docs::{Docs, become_rustdoc};
pub use items::list;

/// The path of the committed list.
pub const LIST: &str = "holdover/public-api.txt";

/// Returns the lines in which two lists differ, each with the lines that it is nested in. Removed lines begin with `-`,
/// added lines with `+`.
pub fn difference(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<_>, Vec<_>) = (paths(before), paths(after));
    let gone = before.iter().filter(|line| !after.contains(line)).map(|line| format!("- {line}"));
    let came = after.iter().filter(|line| !before.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(came).collect()
}

/// Returns each line after the lines that it is nested in, separated by ` / `.
fn paths(list: &str) -> Vec<String> {
    let mut above: Vec<&str> = Vec::new();
    let lines = list.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        above.truncate((line.len() - line.trim_start().len()) / 2);
        above.push(line.trim());
        above.join(" / ")
    });
    lines.collect()
}

#[test]
fn a_difference_names_the_item() {
    let before = "agent\n  struct Agent\n    fn name(&self)\n  struct Old\n";
    let after = "agent\n  struct Agent\n    fn name(&self) -> &str\n";
    let found = difference(before, after);
    let expected = [
        "- agent / struct Agent / fn name(&self)",
        "- agent / struct Old",
        "+ agent / struct Agent / fn name(&self) -> &str",
    ];
    assert_eq!(found, expected);
}
