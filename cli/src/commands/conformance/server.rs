//! Runs the suite on a server.

use std::future::Future;

use holdover_conformance_tests::Report;
use holdover_core::store::StoreError;

use crate::exit::Failure;
use crate::store::{StoreUrl, refused};

/// Runs the suite on a server. First checks that stores can be created there, so that an error is one line instead of
/// one line for each case. At the end, removes all remaining data, even after a failure.
pub(super) async fn test(
    url: &StoreUrl,
    tried: impl Future<Output = Result<(), StoreError>>,
    run: impl Future<Output = Result<Report, Failure>>,
    remove: impl Future<Output = Result<(), StoreError>>,
) -> Result<Report, Failure> {
    tried.await.map_err(|error| refused(url, &error))?;
    let ran = run.await;
    let removed = remove.await.map_err(|error| refused(url, &error));
    let report = ran?;
    removed.map(|()| report)
}
