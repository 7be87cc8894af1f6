//! Files that are written beside their target and then replace it.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, OpenOptions, Permissions};
use holdover_core::payload::Digest;
use uuid::Uuid;

/// The prefix of the names of all temporary files. Walks leave such files out.
const PREFIX: &str = ".holdover-tmp-";
/// The age after which a temporary file counts as left behind by a killed process. No write takes that long.
const LEFT_AFTER: Duration = Duration::from_secs(60 * 60);
/// The maximum number of entries of a folder that are searched for leftover temporary files.
const ENTRIES_MAX: usize = 10_000;

/// Returns true if `name` is the name of a temporary file.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

/// Returns the prefix of the names of one call's files. It is the same for every send of the call.
fn prefix_of(call: &str) -> String {
    let digest = Digest::of(call.as_bytes()).to_string();
    let short: String = digest.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    format!("{PREFIX}{short}-")
}

/// Removes leftover temporary files in a folder: all files of `call`, since only one send of it may write at a time,
/// and other files older than [`LEFT_AFTER`]. A file that cannot be removed stays.
pub(super) fn remove_leftovers(folder: &Dir, call: &str, now: SystemTime) {
    let own = prefix_of(call);
    let Ok(entries) = folder.entries() else { return };
    for entry in entries.take(ENTRIES_MAX).filter_map(Result::ok) {
        let name = entry.file_name();
        if !is_temporary(&name) {
            continue;
        }
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| now.duration_since(written.into_std()).ok());
        let old = age.is_some_and(|age| age > LEFT_AFTER);
        if old || name.as_encoded_bytes().starts_with(own.as_bytes()) {
            let _ = folder.remove_file(&name);
        }
    }
}

/// A temporary file. It is removed when this value is dropped, unless it was renamed. It stays behind if the process is
/// killed.
pub(super) struct Temporary<'a> {
    folder: &'a Dir,
    name: String,
}

impl<'a> Temporary<'a> {
    pub(super) fn create(
        folder: &'a Dir,
        call: &str,
        bytes: &[u8],
        permissions: Option<Permissions>,
    ) -> io::Result<Self> {
        // The name is new each time: a run that lost its session may still be writing its own file.
        let name = format!("{}{}", prefix_of(call), Uuid::new_v4().simple());
        let mut file = folder.open_with(&name, OpenOptions::new().write(true).create_new(true))?;
        let this = Self { folder, name };
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        Ok(this)
    }

    pub(super) fn rename(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.name.clear();
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // If this fails, the file stays until it is removed as a leftover.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use serde_json::json;

    use super::*;
    use crate::testing::Fixture;

    const FOLDER: &str = "HOLDOVER_TEST_KILLED_IN";

    fn names(fixture: &Fixture) -> Vec<String> {
        let entries = std::fs::read_dir(fixture.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The entry point of the child process, which is killed in the middle of a write for the call `k1`. Without the
    /// variable `FOLDER`, this test does nothing.
    #[test]
    fn killed_in_the_middle() {
        let Some(folder) = std::env::var_os(FOLDER) else { return };
        let dir = Dir::open_ambient_dir(folder, cap_std::ambient_authority()).unwrap();
        let _temporary = Temporary::create(&dir, "k1", b"half", None).unwrap();
        // This bypasses the test harness, which captures printed output.
        std::io::stdout().write_all(b"written\n").unwrap();
        loop {
            std::thread::park();
        }
    }

    fn kill_a_write_in(fixture: &Fixture) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "files::temporary::tests::killed_in_the_middle", "--nocapture"])
            .env(FOLDER, fixture.folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(said.map_while(Result::ok).any(|line| line.ends_with("written")), "it was writing");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn what_a_killed_write_leaves_is_shown_to_nobody_and_removed_by_its_next_run() {
        let fixture = Fixture::new(&[("a", "old")]);
        kill_a_write_in(&fixture);
        let left = names(&fixture);
        assert!(left.len() == 2 && is_temporary(OsStr::new(&left[0])), "the write was killed: {left:?}");
        assert_eq!(fixture.run("list_files", json!({})).await.unwrap(), "a (3 bytes)");
        assert_eq!(
            fixture.run("search_files", json!({ "text": "half" })).await.unwrap(),
            "no matches in 1 files"
        );
        fixture.run("write_file", json!({ "path": "a", "content": "new" })).await.unwrap();
        assert_eq!((names(&fixture), fixture.read("a")), (vec!["a".to_owned()], "new".to_owned()));
    }

    #[test]
    fn what_another_call_is_writing_stays_until_nobody_can_be() {
        let fixture = Fixture::new(&[]);
        let folder = fixture.root.dir();
        let other = Temporary::create(folder, "k2", b"half", None).unwrap();
        remove_leftovers(folder, "k1", SystemTime::now());
        assert_eq!(names(&fixture), [other.name.as_str()]);
        remove_leftovers(folder, "k1", SystemTime::now() + LEFT_AFTER * 2);
        assert_eq!(names(&fixture), [""; 0]);
    }
}
