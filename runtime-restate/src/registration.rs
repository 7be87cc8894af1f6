//! The registration of a worker as a deployment of Restate.

use std::collections::BTreeSet;
use std::time::Duration;

use holdover_runtime_local::CancellationToken;
use serde::Deserialize;
use serde_json::json;

use crate::client::Api;
use crate::error::RestateError;

/// The pauses between attempts while Restate cannot be reached.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A deployment as Restate knows it.
#[derive(Deserialize)]
struct Deployment {
    #[serde(default)]
    services: Vec<Service>,
}

#[derive(Deserialize)]
struct Service {
    name: String,
}

/// Registers the deployment at `url`, which serves `services`, and retries until Restate takes it. Ends early if `shutdown`
/// is cancelled.
///
/// Restate knows a deployment by its URL. If it knows the URL already, with the same services, nothing changes. If the
/// services differ, Restate reads them again. If another program answered it, the registration is retried.
pub(crate) async fn register(
    admin: &Api,
    url: &str,
    services: &BTreeSet<String>,
    shutdown: &CancellationToken,
) {
    let mut pause = PAUSE_MIN;
    loop {
        let Some(registered) = shutdown.run_until_cancelled(register_once(admin, url, services)).await else {
            return;
        };
        let Err(error) = registered else {
            tracing::info!(url, "registered at Restate");
            return;
        };
        tracing::warn!(url, %error, "not registered at Restate; retried");
        if shutdown.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

async fn register_once(admin: &Api, url: &str, services: &BTreeSet<String>) -> Result<(), RestateError> {
    if registered(admin, url, false).await? == *services {
        return Ok(());
    }
    // Restate asks the program that listens at the URL.
    let found = registered(admin, url, true).await?;
    if found == *services {
        return Ok(());
    }
    let found = found.into_iter().collect::<Vec<_>>().join(", ");
    Err(RestateError::OtherProgram { url: url.to_owned(), found })
}

/// Registers the deployment at `url`, and returns its services. Without `force`, they may be those of an earlier registration.
async fn registered(admin: &Api, url: &str, force: bool) -> Result<BTreeSet<String>, RestateError> {
    let known: Deployment = admin.post("deployments", &json!({ "uri": url, "force": force })).await?;
    Ok(known.services.into_iter().map(|service| service.name).collect())
}
