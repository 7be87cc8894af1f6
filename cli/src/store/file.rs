//! What can be said of a SQLite file before it is opened.

use std::path::Path;

use rustix::fs::{Access, access};

/// Refuses a file that is not there, cannot be looked at, or is empty: opening it would create a database.
pub(super) fn must_hold_something(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() == 0 => Err(format!("{}: is empty", path.display())),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("there is no such file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Why this user cannot write the file, if that is so. Writing it also makes files beside it.
pub(super) fn unwritable(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    [path, folder].into_iter().find_map(|place| {
        let refused = access(place, Access::WRITE_OK).err()?;
        Some(format!("{}: {}", place.display(), std::io::Error::from(refused)))
    })
}
