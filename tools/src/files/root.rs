//! The root folder of the file tools.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{MetadataExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use holdover_core::tool::{Access, ResourceProfile, ToolError};

use super::path::RelativePath;

/// The folder that the file tools see. Every path is resolved beneath an open handle of this folder: by the operating
/// system if it supports that, otherwise component by component. No path leads out.
///
/// The root does not confine a command that is run in the folder: the command has all rights of its user.
#[derive(Clone)]
pub struct Root(Arc<Inner>);

struct Inner {
    dir: Dir,
    path: PathBuf,
}

/// The error for a folder that cannot be a root.
#[derive(Debug, thiserror::Error)]
#[error("root folder {}: {source}", path.display())]
#[non_exhaustive]
pub struct RootError {
    /// The path of the folder.
    pub path: PathBuf,
    /// The reason why the folder cannot be opened.
    pub source: io::Error,
}

impl Root {
    /// Opens the folder `path`. Fails if it does not exist, is not a folder, or cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RootError> {
        let path = path.as_ref();
        let open = || {
            let absolute = path.canonicalize()?;
            let dir = Dir::open_ambient_dir(&absolute, ambient_authority())?;
            Ok(Self(Arc::new(Inner { dir, path: absolute })))
        };
        open().map_err(|source| RootError { path: path.to_owned(), source })
    }

    /// Returns the absolute path of the folder, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.0.dir
    }

    /// Fails if the root was deleted after it was opened: its handle would show an empty folder.
    pub(crate) fn check_is_there(&self) -> Result<(), ToolError> {
        let is_there = self.dir().dir_metadata().is_ok_and(|folder| folder.nlink() > 0);
        let gone = || {
            ToolError::Failed(format!("the root folder {} does not exist any more", self.path().display()))
        };
        if is_there { Ok(()) } else { Err(gone()) }
    }

    /// Opens a regular file for reading. Never blocks on a pipe or a device. Fails for anything but a regular file.
    pub(crate) fn open_file(&self, path: &RelativePath) -> Result<(File, Metadata), ToolError> {
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let open = || {
            let file = self.dir().open_with(path.as_path(), &options)?;
            let metadata = file.metadata()?;
            Ok((file, metadata))
        };
        let (file, metadata) = open().map_err(|error| failed(path, &error))?;
        check_is_file(path, &metadata)?;
        Ok((file, metadata))
    }

    /// Returns the profile of a call that touches one file: `file:/src/main.rs`. All symbolic links to a file give the
    /// same key. An invalid path gives a serial profile.
    pub(crate) fn file(&self, text: &str, access: Access) -> ResourceProfile {
        match RelativePath::parse(text) {
            Ok(path) => ResourceProfile::key(format!("file:/{}", self.place(&path)), access),
            Err(_) => ResourceProfile::Serial,
        }
    }

    /// Returns the profile of a call that touches a folder and everything beneath it: `file:/src/`. An invalid path
    /// gives a serial profile.
    pub(crate) fn tree(&self, text: &str, access: Access) -> ResourceProfile {
        match RelativePath::parse(text).map(|path| self.place(&path)) {
            Ok(place) if place.is_empty() => ResourceProfile::key("file:/", access),
            Ok(place) => ResourceProfile::key(format!("file:/{place}/"), access),
            Err(_) => ResourceProfile::Serial,
        }
    }

    /// Returns the real location of `path` beneath the root. Paths that lead to the same place through symbolic links
    /// have the same location. Components that do not exist yet, or lead out of the root, are appended as they are.
    fn place(&self, path: &RelativePath) -> String {
        let found = path.as_path().ancestors().find_map(|above| {
            let above_or_root = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            let real = self.dir().canonicalize(above_or_root).ok()?;
            Some(real.join(path.as_path().strip_prefix(above).ok()?))
        });
        let place = found.unwrap_or_else(|| path.as_path().to_owned());
        let names = place.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => None,
        });
        names.collect::<Vec<_>>().join("/")
    }

    /// Returns the real location of `path`, relative to the root and without symbolic links.
    pub(crate) fn resolve(&self, path: &RelativePath) -> Result<PathBuf, ToolError> {
        self.dir().canonicalize(path.as_path()).map_err(|error| failed(path, &error))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Root").field(&self.0.path).finish()
    }
}

/// Fails for anything but a regular file.
pub(crate) fn check_is_file(path: &RelativePath, metadata: &Metadata) -> Result<(), ToolError> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(ToolError::Failed(format!("{path}: is a folder")))
    } else {
        Err(ToolError::Failed(format!("{path}: is not a regular file")))
    }
}

/// Returns true if a path was refused because it leads out of the root.
pub(crate) fn leads_out(error: &io::Error) -> bool {
    // The handle refuses such a path with an error that does not come from a system call.
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Describes an error of the operating system to the model.
pub(crate) fn failed(path: &RelativePath, error: &io::Error) -> ToolError {
    let why = if leads_out(error) {
        "leads out of the root folder".to_owned()
    } else if error.kind() == io::ErrorKind::NotFound {
        "does not exist".to_owned()
    } else if error.kind() == io::ErrorKind::NotADirectory {
        "is not a folder, or something above it is none".to_owned()
    } else {
        error.to_string()
    };
    ToolError::Failed(format!("{path}: {why}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn a_root_must_be_a_folder_that_exists() {
        let fixture = Fixture::new(&[("a.txt", "a")]);
        let missing = Root::open(fixture.folder.path().join("missing")).unwrap_err();
        assert!(missing.to_string().contains("missing: No such file"), "{missing}");
        assert!(Root::open(fixture.folder.path().join("a.txt")).is_err());
    }

    /// Tries every file tool on `path`. Each must fail with `why` in one line.
    async fn check_refused(fixture: &Fixture, path: &str, why: &str) {
        for (tool, arguments) in [
            ("list_files", json!({ "path": path })),
            ("read_file", json!({ "path": path })),
            ("search_files", json!({ "text": "secret", "path": path })),
            ("write_file", json!({ "path": path, "content": "mine" })),
            ("edit_file", json!({ "path": path, "old_text": "secret", "new_text": "mine" })),
        ] {
            let line = fixture.run(tool, arguments).await.expect_err(tool);
            assert!(line.contains(why) && !line.contains('\n'), "{tool} {path}: {line}");
        }
    }

    #[tokio::test]
    async fn nothing_leads_out_of_the_root() {
        let outside = Fixture::new(&[("secret.txt", "secret"), ("folder/secret.txt", "secret")]);
        let there = outside.folder.path();
        let fixture = Fixture::new(&[("inside.txt", "fine"), ("sub/b.txt", "fine")]);
        let here = fixture.folder.path();
        symlink(there.join("secret.txt"), here.join("link.txt")).unwrap();
        symlink(there.join("folder"), here.join("linkdir")).unwrap();
        symlink("../../..", here.join("sub/up")).unwrap();
        symlink(here.join("linkdir"), here.join("sub/chain")).unwrap();

        check_refused(&fixture, "../inside.txt", "`..`").await;
        check_refused(&fixture, "sub/../../x", "`..`").await;
        check_refused(&fixture, &there.join("secret.txt").to_string_lossy(), "absolute").await;
        check_refused(&fixture, "link.txt", "leads out").await;
        check_refused(&fixture, "linkdir/secret.txt", "leads out").await;
        check_refused(&fixture, "sub/up/etc", "leads out").await;
        check_refused(&fixture, "sub/chain/secret.txt", "leads out").await;
        let line = fixture.run("list_files", json!({ "path": "linkdir" })).await.unwrap_err();
        assert!(line.contains("leads out"), "{line}");
        let line = fixture
            .run("write_file", json!({ "path": "linkdir/new/deep.txt", "content": "mine" }))
            .await
            .unwrap_err();
        assert!(line.contains("leads out"), "{line}");

        // Walks never follow links.
        assert_eq!(
            fixture.run("search_files", json!({ "text": "secret" })).await.unwrap(),
            "no matches in 2 files"
        );
        assert_eq!(outside.read("secret.txt"), "secret");
        assert_eq!(outside.read("folder/secret.txt"), "secret");
        assert!(!there.join("folder/new").exists());
    }

    #[tokio::test]
    async fn a_root_that_was_deleted_is_an_error_and_no_empty_folder() {
        let fixture = Fixture::new(&[]);
        assert_eq!(fixture.run("list_files", json!({})).await.unwrap(), ".: empty folder");
        std::fs::remove_dir(fixture.folder.path()).unwrap();
        for (tool, arguments) in [("list_files", json!({})), ("search_files", json!({ "text": "x" }))] {
            let line = fixture.run(tool, arguments).await.expect_err(tool);
            let path = fixture.folder.path().display();
            assert_eq!(line, format!("the root folder {path} does not exist any more"), "{tool}");
        }
    }

    #[tokio::test]
    async fn a_link_that_stays_inside_works_and_is_kept() {
        let fixture = Fixture::new(&[("real/a.txt", "old")]);
        let here = fixture.folder.path();
        symlink("real/a.txt", here.join("link.txt")).unwrap();
        symlink("real", here.join("dir")).unwrap();
        assert_eq!(fixture.run("read_file", json!({ "path": "link.txt" })).await.unwrap(), "old");
        fixture.run("write_file", json!({ "path": "link.txt", "content": "new" })).await.unwrap();
        assert_eq!(fixture.read("real/a.txt"), "new");
        assert!(here.join("link.txt").symlink_metadata().unwrap().is_symlink());
        fixture.run("write_file", json!({ "path": "dir/b.txt", "content": "b" })).await.unwrap();
        assert_eq!(fixture.read("real/b.txt"), "b");
    }

    #[tokio::test]
    async fn two_names_of_one_place_conflict() {
        let fixture = Fixture::new(&[("real/a.txt", "old"), ("b.txt", "")]);
        let here = fixture.folder.path();
        symlink("real/a.txt", here.join("link.txt")).unwrap();
        symlink("real", here.join("dir")).unwrap();
        let profile = |tool: &str, path: &str| {
            let arguments = match tool {
                "edit_file" => json!({ "path": path, "old_text": "old", "new_text": "new" }),
                "write_file" => json!({ "path": path, "content": "" }),
                _ => json!({ "path": path }),
            };
            fixture.tool(tool).profile(&arguments)
        };
        let edits = profile("edit_file", "real/a.txt");
        for (tool, path) in [
            ("edit_file", "link.txt"),
            ("edit_file", "dir/a.txt"),
            ("write_file", "./dir//a.txt"),
            ("read_file", "link.txt"),
            ("list_files", "dir"),
            ("list_files", ""),
        ] {
            assert!(edits.conflicts_with(&profile(tool, path)), "{tool} {path}");
        }
        assert!(profile("write_file", "dir/new/x").conflicts_with(&profile("write_file", "real/new/x")));
        for beside in ["b.txt", "dir/b.txt", "real/a.txt2"] {
            assert!(!edits.conflicts_with(&profile("write_file", beside)), "{beside}");
        }
    }

    #[tokio::test]
    async fn a_pipe_is_refused_and_blocks_nobody() {
        let fixture = Fixture::new(&[]);
        let made =
            std::process::Command::new("mkfifo").arg(fixture.folder.path().join("pipe")).status().unwrap();
        assert!(made.success());
        let line = fixture.run("read_file", json!({ "path": "pipe" })).await.unwrap_err();
        assert_eq!(line, "pipe: is not a regular file");
    }
}
