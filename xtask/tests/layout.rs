//! Checks that the code map matches the code, and that every file that a page names exists.

use xtask::fault::{self, Fault};
use xtask::manifest::{Manifest, ROOT, Workspace};
use xtask::markdown::{Page, Piece, cells};
use xtask::tree::{Tree, folder_of, resolve};

const MAP: &str = "ARCHITECTURE.md";
/// The endings of files that a page may name by the last part of their path, such as `rows/write.rs`.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".lua", ".mjs", ".sh", ".sql"];

#[test]
fn the_code_map_has_every_crate_and_nothing_that_is_not_there() {
    fault::none(map_faults(&Tree::here()));
}

#[test]
fn every_path_that_a_page_names_exists() {
    fault::none(paths(&Tree::here()));
}

/// A row of the code map: its folders, its crate, and the paths that it names.
struct Row {
    line: usize,
    folders: Vec<String>,
    package: Option<String>,
    named: Vec<String>,
}

fn rows(text: &str) -> Vec<Row> {
    let begin = text
        .lines()
        .position(|line| line == "## Code map")
        .unwrap_or_else(|| panic!("{MAP}: has no ## Code map"));
    let codes = |cell: &str| Page::read(cell).code.into_iter().map(|piece| piece.text).collect::<Vec<_>>();
    let lines = text.lines().enumerate().skip(begin + 1).take_while(|(_, line)| !line.starts_with('#'));
    let rows = lines.filter_map(|(at, line)| match cells(line)?.as_slice() {
        [folder, _, _] if *folder == "folder" => None,
        [folder, package, what @ ..] => Some(Row {
            line: at + 1,
            folders: codes(folder),
            package: codes(package).pop(),
            named: codes(&what.join(" ")),
        }),
        _ => None,
    });
    rows.collect()
}

fn map_faults(tree: &Tree) -> Vec<Fault> {
    let workspace = Workspace::read(tree);
    let rows = rows(tree.read(MAP));
    let mut faults: Vec<_> = workspace.members.iter().filter_map(|member| unmapped(&rows, member)).collect();
    for row in &rows {
        let fault = |what| Fault::at(MAP, row.line, what);
        for package in row.package.iter().filter(|package| workspace.member(package).is_none()) {
            faults.push(fault(format!("there is no crate {package}: mend the row")));
        }
        let folders = || row.folders.iter().flat_map(|folder| expanded(folder));
        for folder in folders().filter(|folder| !tree.exists(folder)) {
            faults.push(fault(format!("there is no {folder}: mend the row, or take it out")));
        }
        // A path in a row is relative to the folder of the row, or to the root.
        for named in row.named.iter().filter(|named| is_path(named)).flat_map(|named| expanded(named)) {
            if !found(tree, &named) && !folders().any(|folder| lies_beneath(tree, &folder, &named)) {
                faults
                    .push(fault(format!("there is no {named} in {}: mend the row", row.folders.join(", "))));
            }
        }
    }
    let member = |path: &&str| workspace.members.iter().any(|member| member.path == **path);
    let lost =
        tree.ending("/Cargo.toml").filter(|path| !member(path) && !tree.read(path).contains("[workspace]"));
    faults
        .extend(lost.map(|path| Fault::at(path, 1, format!("make it a member of the workspace in {ROOT}"))));
    faults
}

/// Returns the fault of a crate that the map does not describe.
fn unmapped(rows: &[Row], Manifest { path, package, .. }: &Manifest) -> Option<Fault> {
    let folder = folder_of(path);
    match rows.iter().find(|row| row.folders.iter().any(|one| one == folder)) {
        None => Some(Fault::at(
            MAP,
            rows.last().map_or(1, |row| row.line),
            format!("the code map has no row for `{folder}`, `{package}`: add it"),
        )),
        Some(row) if row.package.as_ref() != Some(package) => {
            Some(Fault::at(MAP, row.line, format!("the crate in `{folder}` is `{package}`: say so")))
        }
        Some(_) => None,
    }
}

/// Returns a fault for each missing path that a page names. Two kinds of pages are left out: the changelog, which names
/// old files, and pages below a `src` folder, such as the guide, which name parts of protocols.
fn paths(tree: &Tree) -> Vec<Fault> {
    let pages = tree.ending(".md").filter(|path| *path != "CHANGELOG.md" && !path.contains("/src/"));
    let mut faults = Vec::new();
    for page in pages {
        let text = tree.read(page);
        // The rows of the map are checked separately.
        let map = if page == MAP { rows(text).into_iter().map(|row| row.line).collect() } else { Vec::new() };
        for Piece { text, line } in Page::read(text).code {
            // The name of a test follows its file.
            let path = text.split("::").next().unwrap_or(&text);
            if map.contains(&line) || !is_ours(tree, path) {
                continue;
            }
            for path in expanded(path) {
                let near = resolve(folder_of(page), &path).is_some_and(|near| found(tree, &near));
                if !near && !found(tree, &path) && !ends_one(tree, &path) {
                    faults.push(Fault::at(page, line, format!("there is no {path}: name what is there now")));
                }
            }
        }
    }
    faults
}

/// Returns true if the text looks like a path into this repository: it begins with a folder of the root, or is a
/// Rust file.
fn is_ours(tree: &Tree, text: &str) -> bool {
    let first = text.split_once('/').map(|(first, _)| first);
    is_path(text) && (first.is_some_and(|first| tree.is_folder(first)) || text.ends_with(".rs"))
}

/// Returns true if the text looks like a path: letters, digits, `/` and `.`, with `*` and `{a,b}` for several.
fn is_path(text: &str) -> bool {
    let sign = |sign: char| sign.is_ascii_alphanumeric() || "/._-*{},".contains(sign);
    let parts = text.contains('/') || text.ends_with(".rs");
    parts && !text.starts_with(['/', '.']) && !text.contains("//") && text.chars().all(sign)
}

/// Returns the paths that `{a,b}` stands for.
fn expanded(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (names, after))) = parts else { return vec![path.to_owned()] };
    names.split(',').flat_map(|name| expanded(&format!("{before}{}{after}", name.trim()))).collect()
}

/// Returns true if there is such a file or folder. `*` stands for any part of a name.
fn found(tree: &Tree, path: &str) -> bool {
    tree.exists(path)
        || (path.contains('*') && tree.files().any(|file| fits(file, path.trim_end_matches('/'))))
}

/// Returns true if a file, or a folder that contains it, matches the pattern.
fn fits(file: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => file.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        Some((before, after)) => file.strip_prefix(before).is_some_and(|rest| {
            let name = rest.find('/').unwrap_or(rest.len());
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .filter(|at| *at <= name)
                .any(|at| fits(&rest[at..], after))
        }),
    }
}

/// Returns true if a file or folder of this name is below a folder, or beside a file. A module may be named without
/// its `.rs`.
fn lies_beneath(tree: &Tree, place: &str, path: &str) -> bool {
    let folder = if tree.is_folder(place) { place } else { folder_of(place) };
    let path = path.trim_end_matches('/');
    let (whole, module, above) = (format!("/{path}"), format!("/{path}.rs"), format!("/{path}/"));
    tree.files()
        .filter_map(|file| file.strip_prefix(folder))
        .any(|file| file.ends_with(&whole) || file.ends_with(&module) || file.contains(&above))
}

/// Returns true if the path is the end of a file's path. Only files with one of the `ENDINGS` may be named in this
/// way.
fn ends_one(tree: &Tree, path: &str) -> bool {
    ENDINGS.iter().any(|ending| path.ends_with(ending))
        && tree.files().any(|file| file.ends_with(&format!("/{path}")))
}

#[test]
fn what_the_pages_get_wrong_is_found() {
    let map = "\
# A `core/gone.rs`
`core/src/{lib,two}.rs`, `core/*/l*.rs`, `lib.rs`, `text/plain`, `core/src/lib.rs::a_test`, `other.rs`, `core/x*`
## Code map
| folder | crate | what |
|---|---|---|
| `core` | `holdover-core` | `lib.rs`, `none/`, `src/lib.rs` |
| `core/src`, `core/{src,out}` | | all |
| `gone` | `holdover-gone` | `docs/a.md` |
";
    let tree = Tree::of(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"core\", \"store\"]"),
        ("core/Cargo.toml", "[package]\nname = \"holdover-core\""),
        ("core/src/lib.rs", ""),
        ("store/Cargo.toml", "[package]\nname = \"holdover-store\""),
        ("left/Cargo.toml", "[package]\nname = \"holdover-left\""),
        ("docs/a.md", "`core/src` `docs/b.md`"),
        (MAP, map),
    ]);
    let told = |faults: Vec<Fault>| {
        let told =
            faults.iter().map(Fault::to_string).map(|told| told.split(':').take(3).collect::<String>());
        told.collect::<Vec<_>>()
    };
    assert_eq!(
        told(map_faults(&tree)),
        [
            "ARCHITECTURE.md8 the code map has no row for `store`, `holdover-store`",
            "ARCHITECTURE.md6 there is no none/ in core",
            "ARCHITECTURE.md7 there is no core/out",
            "ARCHITECTURE.md8 there is no crate holdover-gone",
            "ARCHITECTURE.md8 there is no gone",
            "left/Cargo.toml1 make it a member of the workspace in Cargo.toml",
        ]
    );
    assert_eq!(
        told(paths(&tree)),
        [
            "ARCHITECTURE.md1 there is no core/gone.rs",
            "ARCHITECTURE.md2 there is no core/src/two.rs",
            "ARCHITECTURE.md2 there is no other.rs",
            "ARCHITECTURE.md2 there is no core/x*",
            "docs/a.md1 there is no docs/b.md",
        ]
    );
}
