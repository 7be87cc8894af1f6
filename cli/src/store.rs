//! Opening the store that `--store` names.

use std::path::Path;

use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use rustix::fs::{Access, access};

use crate::exit::Failure;

/// Where sessions are kept unless the command line says otherwise.
pub(crate) const DEFAULT_STORE: &str = "sqlite:holdover.db";

/// Whether a database that is not there may be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// The command puts something into it.
    Create,
    /// The command changes what is in it.
    Refuse,
    /// The command looks at what is in it: nothing may be changed, not the schema either.
    AsItIs,
}

/// Opens the store `url`.
pub(crate) async fn open(url: &str, if_missing: IfMissing) -> Result<SqliteStore, Failure> {
    let path = Path::new(path_of(url)?);
    match if_missing {
        IfMissing::Create => {}
        IfMissing::Refuse | IfMissing::AsItIs => {
            must_hold_something(path).map_err(|why| Failure::failed(format!("store {url}: {why}")))?;
        }
    }
    let options = SqliteOptions::from_url(url).map_err(|error| Failure::wrong_use(error.to_string()))?;
    let options = if if_missing == IfMissing::AsItIs { options.as_it_is() } else { options };
    SqliteStore::open(options).await.map_err(|error| Failure::failed(format!("store {url}: {}", why(&error))))
}

/// Refuses a file that is not there, cannot be looked at, or is empty: opening it would create a database.
fn must_hold_something(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() == 0 => Err(format!("{}: is empty", path.display())),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("there is no such file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Why this user cannot write the store `url`, if that is so. Writing it also makes files beside it.
pub(crate) fn unwritable(url: &str) -> Result<Option<String>, Failure> {
    let path = Path::new(path_of(url)?);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok([path, folder].into_iter().find_map(|place| {
        let refused = access(place, Access::WRITE_OK).err()?;
        Some(format!("{}: {}", place.display(), std::io::Error::from(refused)))
    }))
}

/// The path that a SQLite URL names.
pub(crate) fn path_of(url: &str) -> Result<&str, Failure> {
    match url.split_once(':') {
        Some(("sqlite", path)) if !path.trim_start_matches("//").is_empty() => {
            Ok(path.strip_prefix("//").unwrap_or(path))
        }
        Some(("sqlite", _)) => Err(Failure::wrong_use(format!("store {url}: names no file"))),
        Some((scheme, _)) => {
            Err(Failure::wrong_use(format!("store {url}: unknown kind {scheme:?}; write sqlite:PATH")))
        }
        None => Err(Failure::wrong_use(format!("store {url}: write sqlite:PATH"))),
    }
}

/// What the store says beyond its own name.
pub(crate) fn why(error: &holdover_core::store::StoreError) -> String {
    let line = error.to_string();
    line.strip_prefix("store: open: ").unwrap_or(&line).to_owned()
}
