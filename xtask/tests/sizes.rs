//! Checks the length of files and of lines in doc comments, and the number of fields of the structs of the engine.

use xtask::allowed;
use xtask::fault::{self, Fault};
use xtask::tree::Tree;

/// The maximum number of lines of a file before its tests.
const LINES_MAX: usize = 400;
/// The list of the files that are longer than `LINES_MAX`, and the limit of each.
const ALLOWED: &str = "xtask/allowed/long-files.txt";
/// The maximum number of fields of a struct of the engine.
const FIELDS_MAX: usize = 12;
const ENGINE: &str = "core/src/engine/";
/// The maximum length of a line of a doc comment, in characters.
const CHARS_MAX: usize = 130;

#[test]
fn no_file_is_too_long() {
    fault::none(long_files(&Tree::here()));
}

#[test]
fn no_line_of_a_doc_comment_is_too_long() {
    fault::none(long_comments(&Tree::here()));
}

#[test]
fn no_struct_of_the_engine_has_too_many_fields() {
    fault::none(wide_structs(&Tree::here()));
}

fn long_files(tree: &Tree) -> Vec<Fault> {
    let allowed = allowed::read(tree, ALLOWED);
    let mut faults = Vec::new();
    for path in tree.ending(".rs").filter(|path| !is_test(path)) {
        let lines = lines_of(tree.read(path));
        let most =
            allowed.iter().find(|entry| entry.words[0] == path).and_then(|entry| entry.words[1].parse().ok());
        if lines > most.unwrap_or(LINES_MAX) {
            let most = most.unwrap_or(LINES_MAX);
            let what = format!(
                "{lines} lines before its tests, at most {most} may be: move an idea into a file of its own"
            );
            faults.push(Fault::at(path, most + 1, what));
        }
    }
    for entry in &allowed {
        let path = &entry.words[0];
        if !tree.is_file(path) || lines_of(tree.read(path)) <= LINES_MAX {
            faults.push(Fault::at(
                ALLOWED,
                entry.line,
                format!("{path} is not too long any more: take the line out"),
            ));
        }
    }
    faults
}

fn long_comments(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for path in tree.ending(".rs") {
        for (at, line) in tree.read(path).lines().enumerate() {
            let Some(words) = ["///", "//!"].iter().find_map(|mark| line.trim_start().strip_prefix(mark))
            else {
                continue;
            };
            let chars = line.chars().count();
            // A row of a table must stay on one line.
            if chars > CHARS_MAX && !words.trim_start().starts_with('|') {
                let what = format!("{chars} characters, at most {CHARS_MAX} may be: break the line");
                faults.push(Fault::at(path, at + 1, what));
            }
        }
    }
    faults
}

/// Returns a fault for each struct with too many fields. Structs must be in the format of `rustfmt`: one field per
/// line, indented by four spaces.
fn wide_structs(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for path in tree.ending(".rs").filter(|path| path.starts_with(ENGINE)) {
        let mut open: Option<(usize, &str, usize)> = None;
        for (at, line) in tree.read(path).lines().enumerate() {
            let words = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
            if let Some(name) = words.strip_prefix("struct ").filter(|_| line.ends_with('{')) {
                open = Some((at + 1, name.trim_end_matches(" {"), 0));
            } else if let Some((begins, name, fields)) = open.as_mut() {
                if line == "}" {
                    if *fields > FIELDS_MAX {
                        let what = format!(
                            "{name} has {fields} fields, at most {FIELDS_MAX} may be: give some of them a struct"
                        );
                        faults.push(Fault::at(path, *begins, what));
                    }
                    open = None;
                } else if line.starts_with("    ") && line.ends_with(',') && !line.starts_with("     ") {
                    *fields += usize::from(line.contains(": ") && !line.contains("//"));
                }
            }
        }
    }
    faults
}

#[test]
fn a_struct_with_too_many_fields_is_found() {
    let text = |fields: usize| {
        let fields: String = (0..fields)
            .map(|at| format!("    /// One, more: or less,\n    pub(crate) f{at}: u8,\n"))
            .collect();
        format!("pub(crate) struct Wide<'a> {{\n{fields}}}\n\nfn f() {{}}\n")
    };
    let faults = |fields| wide_structs(&Tree::of(&[("core/src/engine/a.rs", &text(fields))])).len();
    assert_eq!((faults(FIELDS_MAX), faults(FIELDS_MAX + 1)), (0, 1));
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// Returns the number of lines before the tests of a file.
fn lines_of(text: &str) -> usize {
    text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count()
}

#[test]
fn what_is_too_long_is_found() {
    let long = "//\n".repeat(LINES_MAX + 1);
    let short = format!("{}#[cfg(test)]\n{long}", "//\n".repeat(LINES_MAX));
    let tree = Tree::of(&[
        ("a/src/long.rs", &long),
        ("a/src/listed.rs", &long),
        ("a/src/short.rs", &short),
        ("a/src/tests.rs", &long),
        ("a/tests/it/x.rs", &long),
        (ALLOWED, "# why\na/src/listed.rs 401\na/src/short.rs 401\na/src/gone.rs 500\n"),
    ]);
    let told: Vec<_> = long_files(&tree).iter().map(|fault| (fault.path.clone(), fault.line)).collect();
    assert_eq!(told, [("a/src/long.rs".into(), 401), (ALLOWED.into(), 3), (ALLOWED.into(), 4)]);
    let grown = Tree::of(&[("a/src/listed.rs", &long), (ALLOWED, "a/src/listed.rs 400\n")]);
    assert_eq!(long_files(&grown).len(), 1);

    let comment =
        |mark: &str, chars| format!("fn a() {{}}\n    {mark}{}\n", "ü".repeat(chars - 4 - mark.len()));
    let found = |text: &str| {
        long_comments(&Tree::of(&[("a.rs", text)])).iter().map(|fault| fault.line).collect::<Vec<_>>()
    };
    assert_eq!(found(&comment("/// ", CHARS_MAX + 1)), [2]);
    assert_eq!(found(&comment("//! ", CHARS_MAX + 1)), [2]);
    assert!(found(&comment("/// ", CHARS_MAX)).is_empty());
    assert!(found(&comment("/// | ", CHARS_MAX + 1)).is_empty());
}
