//! Checks that the page of the Cargo features lists the features of the manifests.

#![allow(clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use xtask::fault::{self, Fault};
use xtask::tree::Tree;

const PAGE: &str = "docs/features.md";

#[test]
fn the_page_lists_the_features_of_each_crate_that_it_is_about() {
    let tree = Tree::here();
    let crates = [
        ("holdover", "holdover/Cargo.toml"),
        ("holdover-cli", "cli/Cargo.toml"),
        ("holdover-harnesses", "harnesses/Cargo.toml"),
    ];
    fault::none(crates.iter().flat_map(|(package, manifest)| compare(&tree, package, manifest)).collect());
}

/// Compares the table of `package` on the page with the features of `manifest`, and with its default features.
fn compare(tree: &Tree, package: &str, manifest: &str) -> Vec<Fault> {
    let table: toml::Table = toml::from_str(tree.read(manifest)).expect("a manifest is TOML");
    let features = table["features"].as_table().expect("the manifest has features");
    let on: Vec<_> = features
        .get("default")
        .and_then(|on| on.as_array())
        .into_iter()
        .flatten()
        .filter_map(|one| one.as_str())
        .collect();
    let listed = listed(tree.read(PAGE), package);
    let mut faults = Vec::new();
    for feature in features.keys().filter(|name| *name != "default") {
        let by_default = on.contains(&&**feature);
        match listed.get(feature) {
            None => {
                faults.push(Fault::at(PAGE, 1, format!("add a row for the feature `{feature}` of {package}")))
            }
            Some((line, said)) if *said != by_default => {
                let right = if by_default { "yes" } else { "no" };
                faults.push(Fault::at(PAGE, *line, format!("`{feature}` is on by default: write {right}")));
            }
            Some(_) => {}
        }
    }
    for (gone, (line, _)) in listed.iter().filter(|(name, _)| !features.contains_key(*name)) {
        faults.push(Fault::at(PAGE, *line, format!("{package} has no feature `{gone}`: take its row out")));
    }
    faults
}

/// Returns the rows between the marks of `package`: each feature, its line, and whether the page lists it as a
/// default.
fn listed(page: &str, package: &str) -> BTreeMap<String, (usize, bool)> {
    let (begin, end) =
        (format!("<!-- features of {package} -->"), format!("<!-- /features of {package} -->"));
    let lines = page.lines().enumerate();
    let within = lines.skip_while(|(_, line)| *line != begin).take_while(|(_, line)| *line != end);
    let rows = within.filter_map(|(at, line)| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((name.to_owned(), (at + 1, cells.next()? == "yes")))
    });
    rows.collect()
}

#[test]
fn what_the_page_gets_wrong_is_found() {
    let tree = Tree::of(&[
        ("a/Cargo.toml", "[features]\ndefault = [\"one\"]\none = []\ntwo = []\nthree = []\n"),
        (
            PAGE,
            "<!-- features of a -->\n| `one` | yes |\n| `two` | yes |\n| `four` | no |\n<!-- /features of a -->\n| `five` | no |\n",
        ),
    ]);
    let lines: Vec<_> = compare(&tree, "a", "a/Cargo.toml").iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [1, 3, 4]);
}
