//! Checks of a SQLite file before it is opened.

use std::path::Path;

/// Refuses a file that is not there, cannot be looked at, or is empty: opening it would create a database.
pub(super) fn must_hold_something(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() == 0 => Err(format!("{}: is empty", path.display())),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("there is no such file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
