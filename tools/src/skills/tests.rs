//! Tests of folders, sources, the cache and pins.

use super::*;
use crate::testing::Fixture;

fn open(files: &[(&str, &str)]) -> Result<Skills, String> {
    let fixture = Fixture::new(files);
    let opened = Skills::open([fixture.folder.path()]);
    opened.map_err(|error| error.to_string().replace(&fixture.folder.path().display().to_string(), ""))
}

#[test]
fn a_folder_is_a_skill_or_holds_some() {
    let one = "---\nname: one\ndescription: The first\n---\nBody";
    let two = "---\nname: two\ndescription: The second\n---\nBody";
    let names = |skills: Skills| skills.index().into_iter().map(|entry| entry.name).collect::<Vec<_>>();
    assert_eq!(names(open(&[("SKILL.md", one), ("b/SKILL.md", two)]).unwrap()), ["one"]);
    let files = [("z/SKILL.md", one), ("a/SKILL.md", two), ("a/notes.md", ""), ("README.md", "")];
    assert_eq!(names(open(&files).unwrap()), ["two", "one"]);
}

#[test]
fn what_is_wrong_is_named_with_its_path() {
    let one = "---\nname: one\ndescription: The first\n---\nBody";
    let long = "x".repeat(FILE_BYTES_MAX as usize);
    let large = format!("{one}{long}");
    for (files, why) in [
        (&[("README.md", "")][..], ": holds no SKILL.md, and no folder that does"),
        (&[("a/SKILL.md", "Body")], "/a/SKILL.md: line 1: does not begin with ---"),
        (&[("a/SKILL.md", &large)], "/a/SKILL.md: has more than 131072 bytes"),
        (
            &[("a/SKILL.md", one), ("b/SKILL.md", one)],
            "/b/SKILL.md: the skill in /a is called \"one\", too",
        ),
    ] {
        assert_eq!(open(files).unwrap_err(), why);
    }
}
