//! The tool `edit_file`.

use std::io::Read;

use holdover_core::ids::ToolName;
use holdover_core::tool::{Access, EffectClass, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::RelativePath;
use super::read::to_text;
use super::root::{Root, failed};
use super::write::{FILE_BYTES_MAX, write_atomically};
use crate::FunctionTool;
use crate::blocking::{Dropped, blocking};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    /// Which file, relative to the root folder.
    path: String,
    /// The text to replace, exactly as it stands in the file, line breaks and spaces too.
    #[schemars(length(min = 1))]
    old_text: String,
    /// What to put in its place.
    new_text: String,
    /// Whether to replace every occurrence. Otherwise there must be exactly one.
    #[serde(default)]
    replace_all: bool,
}

/// Returns a tool that replaces an exact text in a file. Without `replace_all`, the text must occur exactly once.
///
/// The tool is `at_most_once`, because two sends differ from one. If the new text contains the old text, a second send
/// replaces it again. Otherwise, a second send fails although the first one succeeded, and the file does not show which
/// of the two happened. When a call is in doubt, the model can read the file to find out.
pub(crate) fn edit_file(name: ToolName, root: Root) -> FunctionTool<EditFile> {
    let touched = root.clone();
    FunctionTool::new(
        name,
        "Replaces an exact text in a text file. old_text must occur exactly once, unless replace_all is set: \
         give enough of the text around it.",
        move |asked: EditFile, call| {
            let root = root.clone();
            blocking(move |dropped| edit(&root, &asked, &call.idempotency_key, dropped))
        },
    )
    .effect(EffectClass::AtMostOnce)
    .resources(move |asked| touched.file(&asked.path, Access::Write))
}

fn edit(root: &Root, asked: &EditFile, call: &str, dropped: &Dropped) -> Result<ToolOutput, ToolError> {
    let path = RelativePath::parse_file(&asked.path)?;
    let fail = |why: &str| Err(ToolError::Failed(format!("{path}: {why}")));
    if asked.old_text.is_empty() {
        return fail("old_text is empty");
    }
    if asked.old_text == asked.new_text {
        return fail("old_text and new_text are the same");
    }
    let text = read_whole(root, &path)?;
    change(root, asked, &path, &text, call, dropped)
}

/// Replaces the old text in `text`, which was just read from the file, and writes the file. Fails if the file has
/// changed since it was read.
fn change(
    root: &Root,
    asked: &EditFile,
    path: &RelativePath,
    text: &str,
    call: &str,
    dropped: &Dropped,
) -> Result<ToolOutput, ToolError> {
    let fail = |why: &str| Err(ToolError::Failed(format!("{path}: {why}")));
    let old = asked.old_text.as_str();
    let Some(first) = text.find(old) else {
        return fail("old_text does not occur in it");
    };
    let count = text.matches(old).count();
    // Overlapping occurrences count as one, but are just as ambiguous.
    if !asked.replace_all && text.rfind(old) != Some(first) {
        let count = count.max(2);
        return fail(&format!(
            "old_text occurs {count} times; give more of the text around it, or set replace_all"
        ));
    }
    let length = length_after(text.len(), count, old.len(), asked.new_text.len());
    if length.is_none_or(|length| length > FILE_BYTES_MAX) {
        return fail(&format!("it would become larger than {FILE_BYTES_MAX} bytes"));
    }
    let new = text.replace(old, &asked.new_text);
    // The write stops if the file was changed meanwhile, through another name or from outside.
    let unchanged = || {
        if read_whole(root, path)? == text {
            return Ok(());
        }
        Err(ToolError::Failed(format!("{path}: it was changed by somebody else meanwhile; read it again")))
    };
    write_atomically(root, path, new.as_bytes(), call, dropped, unchanged)?;
    let line = text[..first].matches('\n').count() + 1;
    Ok(ToolOutput::text(match count {
        1 => format!("replaced 1 occurrence in {path}, at line {line}"),
        _ => format!("replaced {count} occurrences in {path}, the first at line {line}"),
    }))
}

/// Returns the length in bytes of a text after `count` occurrences of `old` bytes become `new` bytes each, or `None` if
/// the number is too large.
fn length_after(text: usize, count: usize, old: usize, new: usize) -> Option<usize> {
    text.checked_sub(count.checked_mul(old)?)?.checked_add(count.checked_mul(new)?)
}

fn read_whole(root: &Root, path: &RelativePath) -> Result<String, ToolError> {
    let (file, _) = root.open_file(path)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(path, &error))?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(ToolError::Failed(format!("{path}: is larger than {FILE_BYTES_MAX} bytes")));
    }
    to_text(path, bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Fixture;

    #[tokio::test]
    async fn one_occurrence_is_replaced_and_more_are_refused() {
        let fixture = Fixture::new(&[("a", "one\ntwo\ntwo\naaa\n")]);
        let edit = |old: &str, new: &str| json!({ "path": "a", "old_text": old, "new_text": new });
        assert_eq!(
            fixture.run("edit_file", edit("one", "1")).await.unwrap(),
            "replaced 1 occurrence in a, at line 1"
        );
        for (old, new, why) in [
            ("two", "2", "a: old_text occurs 2 times; give more of the text around it, or set replace_all"),
            ("aa", "b", "a: old_text occurs 2 times; give more of the text around it, or set replace_all"),
            ("three", "3", "a: old_text does not occur in it"),
            ("two", "two", "a: old_text and new_text are the same"),
        ] {
            assert_eq!(fixture.run("edit_file", edit(old, new)).await.unwrap_err(), why);
        }
        assert_eq!(fixture.read("a"), "1\ntwo\ntwo\naaa\n");
        assert_eq!(
            fixture.run("edit_file", edit("two\naaa", "three")).await.unwrap(),
            "replaced 1 occurrence in a, at line 3"
        );
        assert_eq!(fixture.read("a"), "1\ntwo\nthree\n");
    }

    #[tokio::test]
    async fn what_would_become_too_large_is_refused_before_it_is_made() {
        let many = "x".repeat(400_000);
        let fixture = Fixture::new(&[("a", &many)]);
        let new = "y".repeat(20_000);
        let arguments = json!({ "path": "a", "old_text": "x", "new_text": new, "replace_all": true });
        let began = std::time::Instant::now();
        let line = fixture.run("edit_file", arguments).await.unwrap_err();
        assert_eq!(line, "a: it would become larger than 4194304 bytes");
        assert!(began.elapsed().as_secs() < 5, "8 GB were made: {:?}", began.elapsed());
        assert_eq!(length_after(3, 2, 1, usize::MAX), None);
        assert_eq!(length_after(3, 2, 1, 5), Some(11));
    }

    #[test]
    fn what_somebody_else_changed_meanwhile_is_not_overwritten() {
        let fixture = Fixture::new(&[("a", "one two")]);
        let asked = EditFile {
            path: "a".to_owned(),
            old_text: "one".to_owned(),
            new_text: "1".to_owned(),
            replace_all: false,
        };
        let path = RelativePath::parse_file("a").unwrap();
        let change = |text: &str| change(&fixture.root, &asked, &path, text, "k1", &Dropped::default());
        let refused = change("one, as it was read").unwrap_err();
        assert_eq!(refused.to_string(), "a: it was changed by somebody else meanwhile; read it again");
        assert_eq!(fixture.read("a"), "one two");
        change("one two").unwrap();
        assert_eq!(fixture.read("a"), "1 two");
    }

    #[tokio::test]
    async fn replace_all_replaces_all() {
        let fixture = Fixture::new(&[("a", "x y\nx x")]);
        let arguments = json!({ "path": "a", "old_text": "x", "new_text": "xx", "replace_all": true });
        assert_eq!(
            fixture.run("edit_file", arguments).await.unwrap(),
            "replaced 3 occurrences in a, the first at line 1"
        );
        assert_eq!(fixture.read("a"), "xx y\nxx xx");
    }
}
