//! The options of the engine and of the worker.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Duration;

use holdover_core::engine::Drain;
use holdover_core::store::Queues;

/// The address at which a Restate server of this machine takes calls of handlers.
pub const DEFAULT_INGRESS_URL: &str = "http://127.0.0.1:8080";

/// The address of the admin API of a Restate server of this machine.
pub const DEFAULT_ADMIN_URL: &str = "http://127.0.0.1:9070";

/// The first part of the names of services.
pub const DEFAULT_SERVICE: &str = "holdover";

/// The port on which services of Restate usually listen.
const LISTEN_PORT: u16 = 9080;

/// Options of a [`RestateEngine`](crate::RestateEngine) and of a [`RestateWorker`](crate::RestateWorker).
///
/// ```
/// use std::net::{Ipv4Addr, SocketAddr};
/// use holdover_runtime_restate::RestateOptions;
///
/// let options = RestateOptions::default()
///     .ingress_url("http://restate:8080")
///     .admin_url("http://restate:9070")
///     .listen(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 9080)))
///     .advertised_url("http://clerks-v7:9080".to_owned());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RestateOptions {
    /// The URL at which Restate takes calls of handlers.
    pub ingress_url: String,
    /// The URL of Restate's admin API. The worker registers there, and the engine asks there for the objects of a deleted
    /// session.
    pub admin_url: String,
    /// The API token for both URLs, sent as a bearer token. It is sent only over `https://`, or to this machine. Errors
    /// and `Debug` do not show it.
    pub token: Option<String>,
    /// The first part of the names of services; ASCII letters, digits and `-`. The service of an agent is
    /// [`service_name`](crate::service_name). Programs with different stores at one Restate need different names.
    pub service: String,
    /// The address on which the worker listens for Restate, with HTTP/2 without TLS. With port 0, the system chooses.
    pub listen: SocketAddr,
    /// The URL at which Restate reaches the worker. `None` stands for `http://` and the address on which the worker
    /// listens. Restate treats every URL as a deployment: give each version of a program a URL of its own, and the replicas
    /// of a version a common one with a load balancer behind it.
    pub advertised_url: Option<String>,
    /// The public key of Restate (`publickeyv1_…`). With a key, the worker refuses all requests that Restate has not signed
    /// with the private key that belongs to it. Without one, everybody who reaches `listen` can have sessions served and
    /// interrupted, and learns their status and their agent. Nobody can read or change their text that way.
    pub identity_key: Option<String>,
    /// The queues that the worker serves. `Queues::All` stands for the queues of the agents that are found here.
    pub queues: Queues,
    /// The maximum number of sessions that run in the worker at once. Further calls of Restate wait.
    pub max_running: NonZeroUsize,
    /// The point up to which runs go on after a shutdown was requested.
    pub drain: Drain,
    /// The maximum time for the runs to leave after a shutdown was requested.
    pub shutdown_grace: Duration,
}

holdover_core::setters! { RestateOptions {
    listen: SocketAddr,
    queues: Queues,
    max_running: NonZeroUsize,
    drain: Drain,
    shutdown_grace: Duration,
} into {
    ingress_url: String,
    admin_url: String,
    token: Option<String>,
    service: String,
    advertised_url: Option<String>,
    identity_key: Option<String>,
} }

impl Default for RestateOptions {
    fn default() -> Self {
        Self {
            ingress_url: DEFAULT_INGRESS_URL.to_owned(),
            admin_url: DEFAULT_ADMIN_URL.to_owned(),
            token: None,
            service: DEFAULT_SERVICE.to_owned(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, LISTEN_PORT)),
            advertised_url: None,
            identity_key: None,
            queues: Queues::All,
            max_running: NonZeroUsize::new(16).unwrap_or(NonZeroUsize::MIN),
            drain: Drain::default(),
            shutdown_grace: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for RestateOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ingress_url, admin_url, token, service, listen, .. } = self;
        f.debug_struct("RestateOptions")
            .field("ingress_url", ingress_url)
            .field("admin_url", admin_url)
            .field("token", &token.as_ref().map(|_| "…"))
            .field("service", service)
            .field("listen", listen)
            .field("advertised_url", &self.advertised_url)
            .field("queues", &self.queues)
            .finish_non_exhaustive()
    }
}
