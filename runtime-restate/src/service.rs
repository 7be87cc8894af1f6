//! The service of one agent. The SDK fixes the name of a service when it is compiled; here each agent has its own.

use std::sync::Arc;
use std::time::Duration;

use restate_sdk::discovery::ServiceName;
use restate_sdk::endpoint::{ContextInternal, Error};
use restate_sdk::prelude::{ServiceDefinition, ServiceOptions};
use restate_sdk::service::macro_support::{ServiceBoxFuture, service_definition};
use restate_sdk::service::{Discoverable, Service};

use crate::error::RestateError;
use crate::object::{STATUS, Sessions, WAKE};

/// The time for which a call of a handler may be silent, because a tool may take long. Even after it nothing is lost: the
/// run is a task of the process, and the repeated call waits for it.
const SILENT_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The pauses between the attempts to call a handler while no process answers, and the number of attempts. Together they
/// take about an hour. Then the call is given up, so that later calls of the session are not stuck behind it; the net runs
/// the session.
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);
const ATTEMPTS_MAX: u64 = 366;

/// The time for which Restate keeps a call that has ended, with its journal. A session may be woken often, and the journal
/// says little that the store does not say. The default of Restate is a day.
const KEPT: Duration = Duration::from_secs(10 * 60);

/// Defines a service with the handlers of `sessions`.
///
/// # Errors
/// Restate does not accept the name.
pub(crate) fn define(sessions: Sessions) -> Result<ServiceDefinition, RestateError> {
    let mut discovery = Sessions::discover();
    discovery.name = ServiceName::try_from(sessions.service.as_str())
        .map_err(|error| RestateError::setting("service", format!("{}: {error}", sessions.service)))?;
    let options = ServiceOptions::new()
        .inactivity_timeout(SILENT_MAX)
        .abort_timeout(SILENT_MAX)
        .journal_retention(KEPT)
        .idempotency_retention(KEPT)
        .retry_policy_initial_interval(RETRY_MIN)
        .retry_policy_exponentiation_factor(2.0)
        .retry_policy_max_interval(RETRY_MAX)
        .retry_policy_max_attempts(ATTEMPTS_MAX)
        .retry_policy_kill_on_max_attempts();
    Ok(service_definition(Handlers(Arc::new(sessions)), discovery).options(options))
}

/// Calls the handlers by name, as the macro of the SDK would.
struct Handlers(Arc<Sessions>);

impl Service for Handlers {
    type Future = ServiceBoxFuture;

    fn handle(&self, ctx: ContextInternal) -> Self::Future {
        let sessions = Arc::clone(&self.0);
        Box::pin(async move {
            match ctx.handler_name() {
                WAKE => {
                    let (input, metadata) = ctx.input().await;
                    let done = sessions.wake((&ctx, metadata).into(), input).await;
                    ctx.handle_handler_result(done);
                }
                STATUS => {
                    let (_, metadata) = ctx.input::<()>().await;
                    let status = sessions.status((&ctx, metadata).into()).await;
                    ctx.handle_handler_result(status);
                }
                unknown => return Err(Error::unknown_handler(ctx.service_name(), unknown)),
            }
            ctx.end();
            Ok(())
        })
    }
}
