//! A worker that serves the sessions that Restate asks for.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use holdover_core::ids::QueueLabel;
use holdover_core::store::Queues;
use holdover_runtime_local::{CancellationToken, Runtime};
use restate_sdk::endpoint::Endpoint;
use tokio::net::{TcpListener, TcpSocket};

use crate::client::{Api, base_url};
use crate::error::RestateError;
use crate::names::{is_base, service_name};
use crate::object::Sessions;
use crate::options::RestateOptions;
use crate::places::Places;
use crate::registration::register;
use crate::server::serve;
use crate::service::define;

/// A worker. It listens for calls of Restate, registers itself there as a deployment, and serves sessions.
///
/// Each agent of the runtime is a service of Restate. Restate calls the deployment that registered a service last; calls
/// that a deployment has begun stay with it. Run a [net](holdover_runtime_local::WorkerOptions::net) beside the worker: it
/// runs sessions whose wake-up was lost.
#[derive(Clone)]
pub struct RestateWorker {
    runtime: Runtime,
    options: RestateOptions,
    queues: Vec<QueueLabel>,
    admin: Api,
}

impl RestateWorker {
    /// Creates a worker of `runtime`. Connects to nothing yet.
    ///
    /// # Errors
    /// A setting is not valid, or the queues of the agents are not known.
    pub fn new(runtime: Runtime, options: &RestateOptions) -> Result<Self, RestateError> {
        let queues = match &options.queues {
            Queues::All => runtime.queues(),
            named @ Queues::Named(_) => named.clone(),
        };
        let Queues::Named(queues) = queues else {
            let why = "the source of agents does not list its queues, so they must be named";
            return Err(RestateError::setting("queues", why));
        };
        if queues.is_empty() {
            return Err(RestateError::setting("queues", "there is no agent to serve"));
        }
        if !is_base(&options.service) {
            return Err(RestateError::base());
        }
        if let Some(url) = &options.advertised_url {
            base_url("advertised_url", url)?;
        }
        let admin = Api::admin(options)?;
        let worker = Self { runtime, options: options.clone(), queues, admin };
        worker.endpoint()?;
        Ok(worker)
    }

    /// Works until `shutdown` is cancelled. From then on, the worker accepts no more connections, and the runtime
    /// [drains](Runtime::drain): its runs go on as far as [`drain`](RestateOptions::drain) says, and then leave their sessions
    /// to other workers. Returns the number of runs that were dropped because they did not end within
    /// [`shutdown_grace`](RestateOptions::shutdown_grace).
    ///
    /// While Restate cannot be reached, the registration is retried. On Unix, several workers of one user may listen on the
    /// same address if they have the same agents; Linux spreads the connections over them.
    ///
    /// # Errors
    /// The worker cannot listen on its address.
    pub async fn run(&self, shutdown: CancellationToken) -> Result<usize, RestateError> {
        let listener = listen(self.options.listen).map_err(|source| self.not_heard(source))?;
        let address = listener.local_addr().map_err(|source| self.not_heard(source))?;
        self.run_on(listener, address, shutdown).await
    }

    async fn run_on(
        &self,
        listener: TcpListener,
        address: SocketAddr,
        shutdown: CancellationToken,
    ) -> Result<usize, RestateError> {
        let url = self.options.advertised_url.clone().unwrap_or_else(|| format!("http://{address}"));
        let services: BTreeSet<String> =
            self.queues.iter().map(|queue| service_name(&self.options.service, queue)).collect();
        let leave = self.runtime.drain(self.options.drain, self.options.shutdown_grace);
        let served = serve(listener, self.endpoint()?, shutdown.clone(), leave);
        let (left, ()) = futures::join!(served, register(&self.admin, &url, &services, &shutdown));
        Ok(left)
    }

    fn endpoint(&self) -> Result<Endpoint, RestateError> {
        let mut builder = Endpoint::builder();
        let places = Places::new(self.options.max_running);
        for queue in &self.queues {
            let service = service_name(&self.options.service, queue);
            builder =
                builder.bind(define(Sessions::new(self.runtime.clone(), queue.clone(), service, &places))?);
        }
        if let Some(key) = &self.options.identity_key {
            builder = builder
                .identity_key(key)
                .map_err(|error| RestateError::setting("identity_key", error.to_string()))?;
        }
        Ok(builder.build())
    }

    fn not_heard(&self, source: io::Error) -> RestateError {
        RestateError::Listen { address: self.options.listen, source }
    }
}

/// The number of connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Listens on an address that other workers may share.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    #[cfg(unix)]
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
