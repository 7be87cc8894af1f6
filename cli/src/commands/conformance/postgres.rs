//! Runs the suite on a Postgres database.

use holdover_conformance_tests::Report;
use holdover_harnesses::PostgresHarness;

use super::run::Run;
use super::{child, server};
use crate::exit::Failure;
use crate::store::StoreUrl;

/// Runs the suite in separate schemas.
pub(super) async fn test(url: &StoreUrl, run: Run<'_>) -> Result<Report, Failure> {
    let (tried, here) = (PostgresHarness::try_out(url.secret()), url.secret().to_owned());
    let make = move || {
        let here = here.clone();
        PostgresHarness::on(&here).child_program(move |place| child::program(&here, place))
    };
    server::test(url, tried, run.on(make), PostgresHarness::remove_all(url.secret())).await
}

/// Writes at `place` until it is killed.
pub(super) async fn serve(_: &StoreUrl, place: &str) -> Result<(), Failure> {
    PostgresHarness::serve_child(place).await;
    Ok(())
}
