//! The tool `write_file`, and the atomic write that `edit_file` also uses.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::{Dir, Permissions, PermissionsExt};
use holdover_core::ids::ToolName;
use holdover_core::tool::{Access, EffectClass, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use super::path::RelativePath;
use super::root::{Root, check_is_file, failed};
use super::temporary::{Temporary, remove_leftovers};
use crate::FunctionTool;
use crate::blocking::{Dropped, blocking};

/// The largest file that is written or edited, in bytes.
pub(super) const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    /// Which file, relative to the root folder. Folders that are missing are made.
    path: String,
    /// The whole new content.
    content: String,
}

/// Returns a tool that creates or replaces a file. A reader sees the old content or the new content, never a part.
///
/// The tool is `idempotent`: writing the same bytes again gives the same file.
pub(crate) fn write_file(name: ToolName, root: Root) -> FunctionTool<WriteFile> {
    let touched = root.clone();
    FunctionTool::new(
        name,
        "Writes a text file: creates it, or replaces all of it. To change a part, use edit_file.",
        move |asked: WriteFile, call| {
            let root = root.clone();
            blocking(move |dropped| {
                let path = RelativePath::parse_file(&asked.path)?;
                let (content, call) = (asked.content.as_bytes(), &call.idempotency_key);
                let made = write_atomically(&root, &path, content, call, dropped, || Ok(()))?;
                let how = if made { "created" } else { "replaced" };
                Ok(ToolOutput::text(format!("{how} {path} ({} bytes)", asked.content.len())))
            })
        },
    )
    .effect(EffectClass::Idempotent)
    .resources(move |asked| touched.file(&asked.path, Access::Write))
}

/// Writes `bytes` to `path` through a temporary file beside it and a rename. Returns true if the file is new.
///
/// Both the file and the folder are synced, so once this returns `Ok`, the file survives a crash. A symbolic link that
/// stays inside the root is kept, as are the read, write and execute permissions of a replaced file. Temporary files
/// that an earlier send of `call` (an idempotency key) left behind are removed, as are old ones of other calls.
/// `unless` is called right before the rename; an error from it stops the write.
///
/// Fails with [`ToolError::Lost`] if the file was renamed but its folder could not be synced.
pub(super) fn write_atomically(
    root: &Root,
    path: &RelativePath,
    bytes: &[u8],
    call: &str,
    dropped: &Dropped,
    unless: impl FnOnce() -> Result<(), ToolError>,
) -> Result<bool, ToolError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(ToolError::Failed(format!(
            "{path}: {} bytes are too many, at most {FILE_BYTES_MAX} are written",
            bytes.len()
        )));
    }
    let (target, permissions) = target_of(root, path)?;
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(ToolError::Failed(format!("{path}: names no file")));
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    refuse_repository(root, path, &target)?;
    let made = permissions.is_none();
    let fail = |error: io::Error| failed(path, &error);
    if made && !root.dir().is_dir(folder) {
        root.dir().create_dir_all(folder).and_then(|()| sync_above(root.dir(), folder)).map_err(fail)?;
    }
    // From here on, everything happens in this one open folder, even if it is moved.
    let folder = root.dir().open_dir(folder).map_err(fail)?;
    remove_leftovers(&folder, call, SystemTime::now());
    let temporary = Temporary::create(&folder, call, bytes, permissions).map_err(fail)?;
    dropped.check()?;
    unless()?;
    temporary.rename(name).map_err(fail)?;
    sync(&folder, Path::new("."))
        .map_err(|error| ToolError::Lost(format!("{path}: written, but perhaps not for good: {error}")))?;
    Ok(made)
}

/// Refuses a path that is `.git` or lies in it: hooks and settings there take effect when the repository is next used,
/// without asking the gate.
fn refuse_repository(root: &Root, path: &RelativePath, target: &Path) -> Result<(), ToolError> {
    let real = target.ancestors().skip(1).find_map(|above| root.dir().canonicalize(above).ok());
    let lies_in = |place: &Path| place.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
    if lies_in(target) || real.is_some_and(|real| lies_in(&real)) {
        return Err(ToolError::Failed(format!("{path}: nothing is written to `.git`")));
    }
    Ok(())
}

/// Syncs every folder above `folder`, so that new folders survive a crash: each folder stores the entry of the folder
/// beneath it.
fn sync_above(dir: &Dir, folder: &Path) -> io::Result<()> {
    for above in folder.ancestors().skip(1) {
        sync(dir, if above.as_os_str().is_empty() { Path::new(".") } else { above })?;
    }
    Ok(())
}

fn sync(dir: &Dir, folder: &Path) -> io::Result<()> {
    dir.open(folder)?.sync_all()
}

/// Returns the path to write to, with symbolic links resolved, and the permissions of the file there, or `None` if
/// there is no file.
fn target_of(root: &Root, path: &RelativePath) -> Result<(PathBuf, Option<Permissions>), ToolError> {
    let link = match root.dir().symlink_metadata(path.as_path()) {
        Ok(metadata) => metadata.is_symlink(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((path.as_path().to_owned(), None));
        }
        Err(error) => return Err(failed(path, &error)),
    };
    let target = if link { root.resolve(path)? } else { path.as_path().to_owned() };
    let metadata = root.dir().metadata(&target).map_err(|error| failed(path, &error))?;
    check_is_file(path, &metadata)?;
    // The set-user-id, set-group-id and sticky bits are dropped, because the new file belongs to this process's user.
    Ok((target, Some(Permissions::from_mode(metadata.permissions().mode() & 0o777))))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use serde_json::json;

    use super::*;
    use crate::testing::Fixture;

    fn names(fixture: &Fixture) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(fixture.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn a_file_is_created_with_its_folders_or_replaced() {
        let fixture = Fixture::new(&[]);
        let write = |content: &str| json!({ "path": "a/b/c.txt", "content": content });
        assert_eq!(fixture.run("write_file", write("one")).await.unwrap(), "created a/b/c.txt (3 bytes)");
        assert_eq!(fixture.run("write_file", write("three")).await.unwrap(), "replaced a/b/c.txt (5 bytes)");
        assert_eq!(fixture.read("a/b/c.txt"), "three");
        fixture.run("write_file", json!({ "path": "top", "content": "" })).await.unwrap();
        assert_eq!(names(&fixture), ["a", "top"], "no temporary file is left");
    }

    #[tokio::test]
    async fn permissions_stay() {
        let fixture = Fixture::new(&[("run.sh", "old")]);
        let path = fixture.folder.path().join("run.sh");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4750)).unwrap();
        fixture.run("write_file", json!({ "path": "run.sh", "content": "new" })).await.unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o750);
        assert_eq!(fixture.read("run.sh"), "new");
    }

    #[tokio::test]
    async fn nothing_is_written_into_a_repository_itself() {
        let fixture = Fixture::new(&[(".git/config", "old"), ("sub/.git", "gitdir: x"), (".gitignore", "a")]);
        symlink(".git", fixture.folder.path().join("link")).unwrap();
        for path in [
            ".git/config",
            ".git/hooks/pre-commit",
            "link/config",
            "link/new",
            "link/hooks/a",
            "sub/.git",
            ".GIT/a",
        ] {
            let arguments = json!({ "path": path, "content": "mine" });
            let line = fixture.run("write_file", arguments).await.unwrap_err();
            assert!(line.ends_with("nothing is written to `.git`"), "{line}");
        }
        let arguments = json!({ "path": "link/config", "old_text": "old", "new_text": "mine" });
        assert!(fixture.run("edit_file", arguments).await.is_err());
        assert_eq!(fixture.read(".git/config"), "old");
        assert!(!fixture.folder.path().join(".git/hooks").exists());
        fixture.run("write_file", json!({ "path": ".gitignore", "content": "b" })).await.unwrap();
    }

    #[tokio::test]
    async fn what_cannot_be_a_file_is_refused_and_leaves_nothing() {
        let fixture = Fixture::new(&[("folder/a", ""), ("file", "")]);
        symlink("nowhere", fixture.folder.path().join("dangling")).unwrap();
        for (path, why) in [
            ("folder", "folder: is a folder"),
            ("", "names a folder"),
            ("file/below", "file/below: is not a folder, or something above it is none"),
            ("dangling", "dangling: does not exist"),
        ] {
            let line = fixture.run("write_file", json!({ "path": path, "content": "x" })).await.unwrap_err();
            assert!(line.contains(why), "{line}");
        }
        let large = "x".repeat(FILE_BYTES_MAX + 1);
        let line = fixture.run("write_file", json!({ "path": "x", "content": large })).await.unwrap_err();
        assert!(line.contains("too many"), "{line}");
        assert_eq!(names(&fixture), ["dangling", "file", "folder"]);
    }

    #[test]
    fn a_dropped_call_changes_nothing() {
        let fixture = Fixture::new(&[("a", "old")]);
        let path = RelativePath::parse_file("a").unwrap();
        let dropped = Dropped::already();
        let end = write_atomically(&fixture.root, &path, b"new", "k1", &dropped, || Ok(()));
        assert!(matches!(end, Err(ToolError::NotRun(_))), "{end:?}");
        assert_eq!(fixture.read("a"), "old");
        assert_eq!(names(&fixture), ["a"]);
    }
}
