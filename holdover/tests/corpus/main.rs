//! This release continues the sessions in stores that it and earlier releases left. The sessions wait for different
//! things, or were left in different states. Those of one set stand alone; those of the other have children, heirs or
//! handoffs. There is a store of every kind that outlives its process.
//!
//! `HOLDOVER_CORPUS=write cargo test -p holdover --test corpus` writes the missing stores of this release into
//! `tests/corpus/releases`. Existing stores are never overwritten.
//!
//! Requirements: U09.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod agent;
mod cast;
mod families;
mod goes_on;
mod leaves;
mod places;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdover::store::StateStore;

use crate::places::Place;

/// A set of sessions that a release leaves in a store.
trait Set {
    /// The folder of the set in the folder of a release. Empty for the release's own folder.
    const FOLDER: &'static str;

    /// Returns the names of the sessions.
    fn names() -> Vec<&'static str>;

    /// Fills a store.
    async fn leave<S: StateStore>(store: &Arc<S>);

    /// Continues the sessions in a place that was restored from this file.
    async fn go_on<P: Place>(place: &P, release: &Path);
}

/// Sessions without links to others.
struct Alone;

impl Set for Alone {
    const FOLDER: &'static str = "";

    fn names() -> Vec<&'static str> {
        cast::CAST.into_iter().chain([cast::FORK, cast::SEALED]).collect()
    }

    async fn leave<S: StateStore>(store: &Arc<S>) {
        leaves::all(store).await;
    }

    async fn go_on<P: Place>(place: &P, release: &Path) {
        goes_on::all(place, release).await;
    }
}

/// Sessions with links to others.
struct Families;

impl Set for Families {
    const FOLDER: &'static str = "families";

    fn names() -> Vec<&'static str> {
        families::FAMILIES.to_vec()
    }

    async fn leave<S: StateStore>(store: &Arc<S>) {
        families::leave(store).await;
    }

    async fn go_on<P: Place>(place: &P, release: &Path) {
        families::go_on(place, release).await;
    }
}

/// Returns the paths of this file in the folders of all releases that have it.
fn releases(set: &str, file: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/releases");
    let entries = std::fs::read_dir(folder).expect("a corpus");
    let releases = entries.map(|entry| entry.unwrap().path().join(set).join(file));
    let mut releases: Vec<_> = releases.filter(|left| left.exists()).collect();
    releases.sort();
    releases
}

/// Continues the sessions of every release on this kind of store, each in a copy of the release's store.
async fn every_release_goes_on<P: Place, S: Set>() {
    let name = concat!("tests/corpus/releases/v", env!("CARGO_PKG_VERSION"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join(S::FOLDER).join(P::FILE);
    if std::env::var("HOLDOVER_CORPUS").as_deref() == Ok("write") && !own.exists() {
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        let place = P::new().await;
        let store = place.open().await;
        S::leave(&store).await;
        place.close(store).await;
        place.leave(&own);
        let names: String = S::names().into_iter().map(|id| format!("{id}\n")).collect();
        std::fs::write(own.with_file_name(cast::SESSIONS), names).unwrap();
    }
    let releases = releases(S::FOLDER, P::FILE);
    assert!(releases.contains(&own), "{}: this release has left no store", own.display());
    for release in releases {
        let left = std::fs::read_to_string(release.with_file_name(cast::SESSIONS)).unwrap();
        assert!(release != own || left.lines().eq(S::names()), "{}: names of sessions", release.display());
        let place = P::new().await;
        place.put_back(&release);
        S::go_on(&place, &release).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_sessions_of_every_release_go_on_on_sqlite() {
    every_release_goes_on::<places::Sqlite, Alone>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_families_of_every_release_go_on_on_sqlite() {
    every_release_goes_on::<places::Sqlite, Families>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_sessions_of_every_release_go_on_on_postgres() {
    every_release_goes_on::<places::Postgres, Alone>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_families_of_every_release_go_on_on_postgres() {
    every_release_goes_on::<places::Postgres, Families>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_sessions_of_every_release_go_on_on_redis() {
    every_release_goes_on::<places::Redis, Alone>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_families_of_every_release_go_on_on_redis() {
    every_release_goes_on::<places::Redis, Families>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_sessions_of_every_release_go_on_on_a_redis_cluster() {
    every_release_goes_on::<places::Cluster, Alone>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_families_of_every_release_go_on_on_a_redis_cluster() {
    every_release_goes_on::<places::Cluster, Families>().await;
}
