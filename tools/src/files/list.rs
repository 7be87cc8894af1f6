//! The tool `list_files`.

use std::fmt::Write as _;

use holdover_core::ids::ToolName;
use holdover_core::tool::{Access, EffectClass, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::RelativePath;
use super::root::Root;
use super::walk::{Go, Kind, LEFT_OUT, walk};
use crate::FunctionTool;
use crate::blocking::{Dropped, blocking};

/// The maximum number of entries in one listing.
const ENTRIES_MAX: usize = 1000;
/// The approximate limit on the bytes of one listing.
const LISTING_BYTES_MAX: usize = 128 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListFiles {
    /// Which folder, relative to the root folder. Left out: the root folder.
    #[serde(default)]
    path: String,
    /// Whether to list the folders beneath it as well.
    #[serde(default)]
    recursive: bool,
}

/// Returns a tool that lists a folder, sorted, with one line for each entry and at most [`ENTRIES_MAX`] entries.
pub(crate) fn list_files(name: ToolName, root: Root) -> FunctionTool<ListFiles> {
    let touched = root.clone();
    FunctionTool::new(
        name,
        "Lists the files and folders in a folder, one a line: folders end with `/`, files have their size. \
         `.git` is left out and links are not followed.",
        move |asked: ListFiles, _| {
            let root = root.clone();
            blocking(move |dropped| list(&root, &asked, dropped))
        },
    )
    .effect(EffectClass::ReadOnly)
    .resources(move |asked| touched.tree(&asked.path, Access::Read))
}

fn list(root: &Root, asked: &ListFiles, dropped: &Dropped) -> Result<ToolOutput, ToolError> {
    let start = RelativePath::parse(&asked.path)?;
    let mut lines = String::new();
    let mut count = 0;
    let left_out = walk(root, &start, asked.recursive, dropped, |entry| {
        if count == ENTRIES_MAX || lines.len() > LISTING_BYTES_MAX {
            lines.push_str("[cut: there are more entries; list a folder beneath]\n");
            return Ok(Go::Stop);
        }
        count += 1;
        let path = entry.path.to_string_lossy().replace(char::is_control, "\u{fffd}");
        // Writing to a string cannot fail.
        let _ = match entry.kind {
            Kind::Folder => writeln!(lines, "{path}/"),
            Kind::File { bytes } => writeln!(lines, "{path} ({bytes} bytes)"),
            Kind::Link => writeln!(lines, "{path} (link)"),
            Kind::Other => writeln!(lines, "{path} (neither file nor folder)"),
        };
        Ok(Go::On)
    })?;
    if left_out {
        lines.push_str(LEFT_OUT);
    }
    if count == 0 {
        lines = format!("{start}: empty folder");
    }
    Ok(ToolOutput::text(lines.trim_end()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Fixture;

    #[tokio::test]
    async fn a_folder_is_listed_in_order() {
        let fixture =
            Fixture::new(&[("b.txt", "12345"), ("a/x/deep.txt", ""), ("a/y.txt", "1"), (".git/HEAD", "ref")]);
        std::os::unix::fs::symlink("a", fixture.folder.path().join("c")).unwrap();
        std::fs::create_dir(fixture.folder.path().join("d")).unwrap();
        assert_eq!(fixture.run("list_files", json!({})).await.unwrap(), "a/\nb.txt (5 bytes)\nc (link)\nd/");
        assert_eq!(
            fixture.run("list_files", json!({ "path": "a", "recursive": true })).await.unwrap(),
            "a/x/\na/x/deep.txt (0 bytes)\na/y.txt (1 bytes)"
        );
        assert_eq!(fixture.run("list_files", json!({ "path": "d" })).await.unwrap(), "d: empty folder");
        let line = fixture.run("list_files", json!({ "path": "b.txt" })).await.unwrap_err();
        assert_eq!(line, "b.txt: is not a folder, or something above it is none");
        let line = fixture.run("list_files", json!({ "path": "zz" })).await.unwrap_err();
        assert_eq!(line, "zz: does not exist");
    }

    #[tokio::test]
    async fn a_long_listing_is_cut_and_says_so() {
        let fixture = Fixture::new(&[]);
        for number in 0..=ENTRIES_MAX {
            std::fs::write(fixture.folder.path().join(format!("{number:05}")), "").unwrap();
        }
        let text = fixture.run("list_files", json!({ "recursive": true })).await.unwrap();
        assert_eq!(text.lines().count(), ENTRIES_MAX + 1);
        assert!(text.ends_with("[cut: there are more entries; list a folder beneath]"));
    }
}
