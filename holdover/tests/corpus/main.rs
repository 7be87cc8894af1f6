//! This release continues the sessions in stores that earlier releases left. The sessions wait for different things, or
//! were left in different states. There is a store of every kind that outlives its process.
//!
//! `HOLDOVER_CORPUS=write cargo test -p holdover --test corpus` writes the missing files of this release into
//! `tests/corpus/releases`. Existing files are never overwritten.
//!
//! Requirements: U09.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;
mod cast;
mod goes_on;
mod leaves;
mod places;

use std::path::{Path, PathBuf};

use crate::places::Place;

/// Returns the paths of this file in the folders of all releases that have it.
fn releases(file: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/releases");
    let releases = std::fs::read_dir(folder).expect("a corpus").map(|entry| entry.unwrap().path().join(file));
    let mut releases: Vec<_> = releases.filter(|left| left.exists()).collect();
    releases.sort();
    releases
}

/// Continues the sessions of every release on this kind of store, each in a copy of the release's store.
async fn every_release_goes_on<P: Place>() {
    let name = concat!("tests/corpus/releases/v", env!("CARGO_PKG_VERSION"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join(P::FILE);
    if std::env::var("HOLDOVER_CORPUS").as_deref() == Ok("write") && !own.exists() {
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        let place = P::new().await;
        let store = place.open().await;
        leaves::all(&store).await;
        place.close(store).await;
        place.leave(&own);
        let sessions = cast::CAST.into_iter().chain([cast::FORK, cast::SEALED]);
        let names: String = sessions.map(|id| format!("{id}\n")).collect();
        std::fs::write(own.with_file_name(cast::SESSIONS), names).unwrap();
    }
    let releases = releases(P::FILE);
    assert!(releases.contains(&own), "{}: this release has left no store", own.display());
    for release in releases {
        let place = P::new().await;
        place.put_back(&release);
        goes_on::all(&place, &release).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_sessions_of_every_release_go_on_on_sqlite() {
    every_release_goes_on::<places::Sqlite>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_sessions_of_every_release_go_on_on_postgres() {
    every_release_goes_on::<places::Postgres>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_sessions_of_every_release_go_on_on_redis() {
    every_release_goes_on::<places::Redis>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_sessions_of_every_release_go_on_on_a_redis_cluster() {
    every_release_goes_on::<places::Cluster>().await;
}
