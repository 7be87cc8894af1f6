//! Opening the store that `--store` names.

use std::path::Path;

use holdover_store_sqlite::{SqliteOptions, SqliteStore};

use crate::exit::Failure;

/// Where sessions are kept unless the command line says otherwise.
pub(crate) const DEFAULT_STORE: &str = "sqlite:holdover.db";

/// Whether a database that is not there may be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// The command puts something into it.
    Create,
    /// The command asks for what is in it.
    Refuse,
    /// The same, and nothing may be changed: not the schema either.
    AsItIs,
}

/// Opens the store `url`.
pub(crate) async fn open(url: &str, if_missing: IfMissing) -> Result<SqliteStore, Failure> {
    let path = path_of(url)?;
    if if_missing != IfMissing::Create && !Path::new(path).exists() {
        return Err(Failure::failed(format!("store {url}: there is no such file")));
    }
    let options = SqliteOptions::from_url(url).map_err(|error| Failure::wrong_use(error.to_string()))?;
    let options = if if_missing == IfMissing::AsItIs { options.as_it_is() } else { options };
    SqliteStore::open(options).await.map_err(|error| Failure::failed(format!("store {url}: {}", why(&error))))
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
