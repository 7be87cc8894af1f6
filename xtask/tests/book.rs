//! Checks that the table of contents of `docs/` lists every page, under the page's own title.

use std::collections::BTreeMap;

use xtask::fault::{self, Fault};
use xtask::tree::Tree;

const CONTENTS: &str = "docs/SUMMARY.md";

#[test]
fn the_book_has_every_page_under_its_title() {
    fault::none(faults(&Tree::here()));
}

fn faults(tree: &Tree) -> Vec<Fault> {
    let mut listed = BTreeMap::new();
    for (at, line) in tree.read(CONTENTS).lines().enumerate() {
        let entry = line
            .trim_start()
            .trim_start_matches("- ")
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]("));
        if let Some((title, path)) = entry {
            listed.insert(format!("docs/{}", path.trim_end_matches(')')), (at + 1, title));
        }
    }
    let mut faults = Vec::new();
    for path in tree.ending(".md").filter(|path| path.starts_with("docs/") && *path != CONTENTS) {
        match listed.remove(path) {
            None => faults.push(Fault::at(CONTENTS, 1, format!("it lacks {path}: add it where it belongs"))),
            // The first page has another title in the table of contents.
            Some(_) if path == "docs/README.md" => {}
            Some((line, title)) => {
                let heading =
                    tree.read(path).lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
                if heading != title {
                    faults.push(Fault::at(CONTENTS, line, format!("{path} is called \"{heading}\"")));
                }
            }
        }
    }
    let gone =
        listed.into_iter().map(|(path, (line, _))| Fault::at(CONTENTS, line, format!("there is no {path}")));
    faults.extend(gone);
    faults
}

#[test]
fn what_the_contents_get_wrong_is_found() {
    let tree = Tree::of(&[
        (CONTENTS, "# Summary\n\n[Overview](README.md)\n- [A](a.md)\n  - [Other](b.md)\n- [Gone](gone.md)\n"),
        ("docs/README.md", "# Documentation\n"),
        ("docs/a.md", "# A\n"),
        ("docs/b.md", "# B\n"),
        ("docs/how-to/c.md", "# C\n"),
        ("core/README.md", "# Core\n"),
    ]);
    let mut found: Vec<_> = faults(&tree).into_iter().map(|fault| fault.to_string()).collect();
    found.sort();
    assert_eq!(
        found,
        [
            "docs/SUMMARY.md:1: it lacks docs/how-to/c.md: add it where it belongs",
            "docs/SUMMARY.md:5: docs/b.md is called \"B\"",
            "docs/SUMMARY.md:6: there is no docs/gone.md",
        ]
    );
}
