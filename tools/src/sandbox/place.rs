//! The location of a session's sandbox.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use holdover_core::ids::SessionKey;
use holdover_core::payload::Digest;

/// The number of digest digits in the name of a sandbox.
const NAME_LENGTH: usize = 32;
/// The prefix of the names of sandboxes that outlive their turns.
const KEPT: &str = "kept-";

/// The location of one sandbox: its folder, the lock beside it, and a folder that exists only during the boot.
#[derive(Debug, Clone)]
pub(super) struct Place {
    root: PathBuf,
    name: String,
}

impl Place {
    /// Returns the location of the sandbox of `session` in `root`. It is the same in every process, and differs between
    /// sessions.
    pub(super) fn of(root: &Path, session: &SessionKey, keep: bool) -> Self {
        let mut said = Vec::new();
        for part in [root.as_os_str().as_encoded_bytes(), session.tenant.as_str().as_bytes()] {
            said.extend_from_slice(&part.len().to_be_bytes());
            said.extend_from_slice(part);
        }
        said.extend_from_slice(session.id.as_str().as_bytes());
        let digest = Digest::of(&said).to_string();
        let kept = if keep { KEPT } else { "" };
        Self { root: root.to_owned(), name: format!("{kept}{}", &digest[..NAME_LENGTH]) }
    }

    /// Returns the locations of all sandboxes in `root` that may be swept.
    pub(super) fn all(root: &Path) -> io::Result<Vec<Self>> {
        let mut places = Vec::new();
        for entry in fs::read_dir(root)? {
            let file = entry?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".lock"));
            if let Some(name) = name.filter(|name| !name.starts_with(KEPT)) {
                places.push(Self { root: root.to_owned(), name: name.to_owned() });
            }
        }
        Ok(places)
    }

    /// Returns the name that marks the processes of the sandbox.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_kept(&self) -> bool {
        self.name.starts_with(KEPT)
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.root.join(format!("{}.lock", self.name))
    }

    fn folder(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    fn booting(&self) -> PathBuf {
        self.root.join(format!("{}.boot", self.name))
    }

    /// Returns the rooms of the sandbox, or `None` if it is not booted.
    pub(super) fn rooms(&self) -> Option<Rooms> {
        let rooms = Rooms::of(&self.folder());
        rooms.work.is_dir().then_some(rooms)
    }

    /// Creates the rooms, calls `try_out` to check that they can be used, and moves them into place. After an error the
    /// rooms are removed; a part that cannot be removed stays until the sandbox is freed. The caller must hold the lock
    /// exclusively.
    pub(super) fn boot(&self, try_out: impl FnOnce(&Rooms) -> io::Result<()>) -> io::Result<Rooms> {
        let booting = self.booting();
        let made = || {
            remove(&booting)?;
            let rooms = Rooms::of(&booting);
            let mut folders = DirBuilder::new();
            folders.mode(0o700);
            for folder in [&booting, &rooms.work, &rooms.temporary] {
                folders.create(folder)?;
            }
            try_out(&rooms)?;
            fs::rename(&booting, self.folder())
        };
        match made() {
            Ok(()) => Ok(Rooms::of(&self.folder())),
            Err(error) => {
                // A part that cannot be removed now is removed when the sandbox is freed.
                let _ = remove(&booting);
                Err(error)
            }
        }
    }

    /// Removes everything but the lock. The caller must hold the lock exclusively.
    pub(super) fn clear(&self) -> io::Result<()> {
        remove(&self.booting())?;
        remove(&self.folder())
    }
}

/// The folders of a sandbox.
#[derive(Debug, Clone)]
pub(super) struct Rooms {
    /// The workspace of the commands.
    pub(super) work: PathBuf,
    /// The temporary folder of the commands.
    pub(super) temporary: PathBuf,
}

impl Rooms {
    fn of(folder: &Path) -> Self {
        Self { work: folder.join("work"), temporary: folder.join("tmp") }
    }
}

/// Removes a folder and everything in it, even if a command has removed its own access rights. Does nothing if the
/// folder does not exist.
fn remove(folder: &Path) -> io::Result<()> {
    let removed = fs::remove_dir_all(folder).or_else(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            return Err(error);
        }
        open_up(folder)?;
        fs::remove_dir_all(folder)
    });
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn open_up(folder: &Path) -> io::Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            // This is the type of the entry itself: links are not followed.
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}
