//! Runs the suite on a Redis server or a Redis Cluster.

use holdover_conformance_tests::Report;
use holdover_harnesses::RedisHarness;

use super::run::Run;
use super::{child, server};
use crate::exit::Failure;
use crate::store::StoreUrl;

/// Runs the suite in separate namespaces.
pub(super) async fn test(url: &StoreUrl, run: Run<'_>) -> Result<Report, Failure> {
    let (tried, here) = (RedisHarness::try_out(url.secret()), url.secret().to_owned());
    let make = move || RedisHarness::at(&here).child_program(|url, namespace| child::program(url, namespace));
    server::test(url, tried, run.on(make), RedisHarness::remove_all(url.secret())).await
}

/// Writes in the namespace `place` until it is killed.
pub(super) async fn serve(url: &StoreUrl, place: &str) -> Result<(), Failure> {
    RedisHarness::serve_child(url.secret(), place).await;
    Ok(())
}
