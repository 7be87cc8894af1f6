//! Opens stores in a SQLite file.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::store::StateStore;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};

use super::{Backend, IfMissing, Opened, StoreUrl, refused, wrong};
use crate::exit::Failure;

/// Opens the file at `path`.
pub(super) async fn open(url: &StoreUrl, path: &Path, if_missing: IfMissing) -> Result<Opened, Failure> {
    let options = SqliteOptions::from_url(url.secret()).map_err(|error| wrong(url, &error))?;
    let must_be_there =
        || must_hold_something(path).map_err(|why| Failure::failed(format!("store {url}: {why}")));
    let options = match if_missing {
        IfMissing::Create => options,
        IfMissing::Refuse => must_be_there().map(|()| options)?,
        IfMissing::AsItIs => must_be_there().map(|()| options.as_it_is())?,
    };
    let store = SqliteStore::open(options).await.map_err(|error| refused(url, &error))?;
    Ok(Box::new(File { store, path: path.to_owned() }))
}

struct File {
    store: SqliteStore,
    path: std::path::PathBuf,
}

#[async_trait]
impl Backend for File {
    fn shared(&self) -> Arc<dyn StateStore> {
        Arc::new(self.store.clone())
    }

    async fn unwritable(&self) -> Result<Option<String>, Failure> {
        Ok(holdover_store_sqlite::unwritable(&self.path))
    }

    async fn close(self: Box<Self>) {
        self.store.close().await;
    }
}

/// Fails for a file that is missing or empty, because opening it would create a database. Also fails for a file that is
/// inaccessible.
fn must_hold_something(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() == 0 => Err(format!("{}: is empty", path.display())),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("there is no such file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
