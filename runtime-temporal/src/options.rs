//! The options: where Temporal is, and how a worker serves.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use holdover_core::engine::Drain;
use holdover_core::ids::QueueLabel;
use url::Url;

use crate::error::TemporalError;

/// The default of [`TemporalOptions::events_max`].
pub(crate) const EVENTS_MAX: u32 = 1000;

/// The port if the address names none.
const PORT: u16 = 7233;

/// Options of a [`TemporalEngine`](crate::TemporalEngine) and a [`TemporalWorker`](crate::TemporalWorker): where
/// Temporal is, and how the worker serves. The secret values are not shown by `Debug`.
#[derive(Clone)]
#[non_exhaustive]
pub struct TemporalOptions {
    pub(crate) address: Address,
    /// The API key, which is sent with each request. It is not sent to another machine without `temporals://`.
    pub api_key: Option<String>,
    /// The certificates, in PEM, of the authorities that may have signed the server's certificate. With `None`, the
    /// authorities of this machine are trusted. Only `temporals://` uses them.
    pub authorities: Option<Vec<u8>>,
    /// The number of events after which a workflow that was started here continues as a new one. Workers cache no
    /// workflows, so they read all events of a workflow at each of its steps. The default is 1000.
    pub events_max: u32,
    /// The queues that the worker serves. Empty stands for the queues of the agents that are found here
    /// (`Runtime::queues`) when the worker is created.
    pub queues: Vec<QueueLabel>,
    /// The maximum number of sessions of one queue that run in the worker at once.
    pub max_running: NonZeroUsize,
    /// The point up to which runs go on after a shutdown was requested, as in `WorkerOptions::drain`.
    pub drain: Drain,
    /// The maximum time for the runs to leave, as in `WorkerOptions::shutdown_grace`.
    pub shutdown_grace: Duration,
}

holdover_core::setters! { TemporalOptions {
    events_max: u32,
    queues: Vec<QueueLabel>,
    max_running: NonZeroUsize,
    drain: Drain,
    shutdown_grace: Duration,
} into {
    api_key: Option<String>,
    authorities: Option<Vec<u8>>,
} }

impl TemporalOptions {
    /// Creates options for the namespace at `address`: `temporal://HOST:PORT/NAMESPACE`, or `temporals://…` for TLS. The
    /// port may be left out and is then 7233; without a namespace, it is `default`.
    ///
    /// # Errors
    /// The address has another form.
    pub fn new(address: &str) -> Result<Self, TemporalError> {
        Ok(Self {
            address: Address::parse(address)?,
            api_key: None,
            authorities: None,
            events_max: EVENTS_MAX,
            queues: Vec::new(),
            max_running: NonZeroUsize::new(16).unwrap_or(NonZeroUsize::MIN),
            drain: Drain::default(),
            shutdown_grace: Duration::from_secs(30),
        })
    }

    /// Refuses to send the API key unencrypted to another machine.
    pub(crate) fn check(&self) -> Result<(), TemporalError> {
        let Address { tls, host, .. } = &self.address;
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_here = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
        if self.api_key.is_some() && !tls && !is_here {
            return Err(TemporalError::Unencrypted { engine: self.address() });
        }
        Ok(())
    }

    /// Returns the address, with port and namespace.
    pub fn address(&self) -> String {
        let Address { tls, host, port, namespace } = &self.address;
        format!("temporal{}://{host}:{port}/{namespace}", if *tls { "s" } else { "" })
    }
}

impl std::fmt::Debug for TemporalOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemporalOptions")
            .field("address", &self.address())
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("events_max", &self.events_max)
            .field("queues", &self.queues)
            .field("max_running", &self.max_running)
            .field("drain", &self.drain)
            .field("shutdown_grace", &self.shutdown_grace)
            .finish_non_exhaustive()
    }
}

/// The parts of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) namespace: String,
}

impl Address {
    fn parse(address: &str) -> Result<Self, TemporalError> {
        let refused = |detail: String| TemporalError::Address { address: address.to_owned(), detail };
        // A secret in the address must not reach the error.
        let url = Url::parse(address).map_err(|error| TemporalError::Address {
            address: "the address of Temporal".into(),
            detail: error.to_string(),
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TemporalError::Address {
                address: "the address of Temporal".into(),
                detail: "it contains a name or a password".into(),
            });
        }
        let tls = match url.scheme() {
            "temporal" => false,
            "temporals" => true,
            other => return Err(refused(format!("{other}:// is no scheme of Temporal"))),
        };
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| refused("it names no host".into()))?.to_owned();
        let namespace = match url.path().trim_start_matches('/') {
            "" => "default",
            named => named,
        };
        if namespace.contains('/') || url.query().is_some() || url.fragment().is_some() {
            return Err(refused("more follows the namespace".into()));
        }
        Ok(Self { tls, host, port: url.port().unwrap_or(PORT), namespace: namespace.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn an_address_names_host_port_and_namespace() {
        let address = |text: &str| TemporalOptions::new(text).map(|options| options.address());
        let same = "temporals://eu.example.com:443/acme.prod";
        assert_eq!(address(same).unwrap(), same);
        assert_eq!(address("temporal://localhost").unwrap(), "temporal://localhost:7233/default");
        assert_eq!(address("temporal://[::1]:9/x").unwrap(), "temporal://[::1]:9/x");
        for wrong in ["http://a/b", "temporal:///a", "temporal://a/b/c", "temporal://a/b?c", "nonsense"] {
            let error = address(wrong).unwrap_err().to_string();
            assert!(
                error.contains("expected temporal://HOST:PORT/NAMESPACE") && !error.contains('\n'),
                "{error}"
            );
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let error = TemporalOptions::new("temporal://me:hunter2@a/b").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let options = TemporalOptions::new("temporals://a/b").unwrap().api_key("hunter2".to_owned());
        assert!(!format!("{options:?}").contains("hunter2"));
    }

    #[test]
    fn an_api_key_is_not_sent_unencrypted_to_another_machine() {
        let check =
            |address: &str| TemporalOptions::new(address).unwrap().api_key("hunter2".to_owned()).check();
        for safe in
            ["temporals://example.com", "temporal://127.0.0.1:1", "temporal://[::1]", "temporal://localhost"]
        {
            assert_eq!(check(safe), Ok(()), "{safe}");
        }
        for unsafe_one in
            ["temporal://example.com", "temporal://10.0.0.1", "temporal://localhost.example.com"]
        {
            assert!(matches!(check(unsafe_one), Err(TemporalError::Unencrypted { .. })), "{unsafe_one}");
        }
    }
}
