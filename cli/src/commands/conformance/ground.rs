//! The data that the suite tests on. It is separate from the user's data, which is not touched, and is removed at the
//! end.

use std::path::Path;

use holdover_conformance_tests::Report;
use holdover_harnesses::{MemoryHarness, SqliteHarness};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

use super::run::Run;
use super::{child, postgres, redis};
use crate::exit::Failure;
use crate::store::{Kind, StoreUrl, refused};
use crate::temporary;

/// Runs the suite on the store that `url` names.
pub(super) async fn test(url: &StoreUrl, run: Run<'_>) -> Result<Report, Failure> {
    if ["memory", "memory:"].contains(&url.secret()) {
        return run.on(MemoryHarness::new).await;
    }
    let kind =
        url.kind().map_err(|failure| Failure { line: format!("{}; or memory", failure.line), ..failure })?;
    match kind {
        Kind::Sqlite(path) => in_files(url, path, run).await,
        Kind::Postgres => postgres::test(url, run).await,
        Kind::Redis | Kind::RedisCluster => redis::test(url, run).await,
    }
}

/// Runs the suite in a temporary folder beside the file at `path`, or inside `path` if that is a folder.
async fn in_files(url: &StoreUrl, path: &Path, run: Run<'_>) -> Result<Report, Failure> {
    SqliteOptions::from_url(url.secret()).map_err(|error| refused(url, &error))?;
    let folder = folder_beside(url, path)?;
    let place = folder.path().to_owned();
    let tried = SqliteStore::open(SqliteOptions::new(place.join("first.db"))).await;
    let ran = match tried {
        Ok(store) => {
            store.close().await;
            let program = |file: &Path| child::program("sqlite:.", file);
            run.on(move || SqliteHarness::in_folder(&place).child_program(program)).await
        }
        Err(error) => Err(refused(url, &error)),
    };
    let removed = temporary::remove(folder).await;
    let report = ran?;
    removed.map_err(|error| Failure::failed(format!("store {url}: {error}")))?;
    Ok(report)
}

fn folder_beside(url: &StoreUrl, path: &Path) -> Result<TempDir, Failure> {
    let folder = match path.parent() {
        _ if path.is_dir() => path,
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let made = tempfile::Builder::new().prefix("holdover-conformance-").tempdir_in(folder);
    made.map_err(|error| Failure::failed(format!("store {url}: {}: {error}", folder.display())))
}
