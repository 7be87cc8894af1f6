//! Checks that every link on a page leads to a file or folder, and to an anchor in it if it names one. Links out of the
//! repository are not followed.

use std::collections::BTreeMap;

use xtask::fault::{self, Fault};
use xtask::markdown::Page;
use xtask::tree::{Tree, folder_of, resolve};

/// The folder of the facade's guide, whose pages link to each other by Rust paths.
const GUIDE: &str = "holdover/src/docs/guide";

#[test]
fn every_link_leads_to_a_file_and_to_an_anchor_in_it() {
    fault::none(links(&Tree::here()));
}

fn links(tree: &Tree) -> Vec<Fault> {
    let pages: BTreeMap<_, _> = tree.ending(".md").map(|path| (path, Page::read(tree.read(path)))).collect();
    let mut faults = Vec::new();
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !is_elsewhere(&link.text)) {
            if let Some(wrong) = wrong_with(tree, &pages, path, &link.text) {
                faults.push(Fault::at(path, link.line, format!("{}: {wrong}", link.text)));
            }
        }
    }
    faults
}

fn wrong_with(tree: &Tree, pages: &BTreeMap<&str, Page>, path: &str, link: &str) -> Option<String> {
    let (target, anchor) =
        link.split_once('#').map_or((link, None), |(target, anchor)| (target, Some(anchor)));
    let found = match names_an_item(path, target) {
        // The build of the documentation checks that the item exists, but not that its page has the anchor.
        true => format!("{GUIDE}/{}.md", target.rsplit("::").next().unwrap_or(target)),
        false if target.is_empty() => path.to_owned(),
        false => {
            match resolve(folder_of(path), target).filter(|found| found.is_empty() || tree.exists(found)) {
                Some(found) => found,
                None => return Some("there is no such file: name the one that is meant".to_owned()),
            }
        }
    };
    let missing = |anchor: &&str| pages.get(&*found).is_some_and(|page| !page.anchors.contains(*anchor));
    anchor
        .filter(missing)
        .map(|anchor| format!("{found} has no heading #{anchor}: name the one that is meant"))
}

/// Returns true if a link leads out of the repository.
fn is_elsewhere(link: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme))
}

/// Returns true if a link on a page of the crates' documentation names an item.
fn names_an_item(path: &str, target: &str) -> bool {
    path.contains("/src/") && !target.is_empty() && !target.contains(['/', '.'])
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let tree = Tree::of(&[
        (
            "README.md",
            "# Top\n[a](docs/a.md#one-more) [b](docs) [c](#top) [d](https://x.y/#z) [e](check#x)\n`[no](no.md)`\n",
        ),
        ("docs/a.md", "## One more\n[a](../README.md#to)\n[b](b.md)\n[c](../../out.md)\n[d](#two)\n"),
        ("check", ""),
        (
            "holdover/src/docs/guide/x.md",
            "# X\n[a](crate::guide::x#x) [b](Runtime::start)\n[c](crate::guide::x#y)\n",
        ),
    ]);
    let told: Vec<_> = links(&tree).iter().map(|fault| (fault.path.clone(), fault.line)).collect();
    let page = |line| ("docs/a.md".to_owned(), line);
    assert_eq!(told, [page(2), page(3), page(4), page(5), ("holdover/src/docs/guide/x.md".to_owned(), 3)]);
}
