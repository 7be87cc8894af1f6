//! Restate as the engine.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_runtime_local::{CancellationToken, Engine, Runtime};
use holdover_runtime_restate::{RestateEngine, RestateOptions, RestateWorker};

use super::{EngineUrl, HowToWork, Scheduler};
use crate::exit::Failure;

/// The port of the admin API, unless the URL names another.
const ADMIN_PORT: u16 = 9070;

struct Restate {
    options: RestateOptions,
    engine: RestateEngine,
}

/// Prepares the server that `url` names.
pub(super) fn prepare(url: &EngineUrl) -> Result<Arc<dyn Scheduler>, Failure> {
    let options = options_of(url)?;
    let engine = RestateEngine::new(&options).map_err(|error| url.wrong(&error))?;
    Ok(Arc::new(Restate { options, engine }))
}

fn options_of(url: &EngineUrl) -> Result<RestateOptions, Failure> {
    let (scheme, rest) = url.secret().split_once("://").unwrap_or_default();
    let http = if scheme == "restates" { "https" } else { "http" };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let place = place.trim_end_matches('/');
    // The last `:` of an address in brackets belongs to the address.
    let host = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        Some(_) | None => place,
    };
    if host.is_empty() || host.contains(['/', '@']) {
        return Err(url.wrong(&"write restate://HOST:PORT"));
    }
    let mut options = RestateOptions::default()
        .ingress_url(format!("{http}://{place}"))
        .admin_url(format!("{http}://{host}:{ADMIN_PORT}"))
        .token(EngineUrl::token());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        options = match name {
            "admin" => options.admin_url(value.to_owned()),
            "listen" => {
                let listen = value.parse();
                options.listen(listen.map_err(|error| url.wrong(&format!("listen={value}: {error}")))?)
            }
            "advertised" => options.advertised_url(value.to_owned()),
            "service" => options.service(value.to_owned()),
            "identity_key" => options.identity_key(value.to_owned()),
            other => return Err(url.wrong(&format!("unknown parameter {other:?}"))),
        };
    }
    Ok(options)
}

#[async_trait]
impl Scheduler for Restate {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::new(self.engine.clone())
    }

    async fn work(
        &self,
        runtime: Runtime,
        how: &HowToWork,
        stop: CancellationToken,
    ) -> Result<usize, Failure> {
        let options = self.options.clone().max_running(how.max_running);
        let options = options.drain(how.drain).shutdown_grace(how.grace);
        let failed = |error: &dyn std::fmt::Display| Failure::failed(format!("engine: {error}"));
        let worker = RestateWorker::new(runtime, &options).map_err(|error| failed(&error))?;
        worker.run(stop).await.map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_names_both_ports_of_the_server_and_the_place_of_the_worker() {
        let options = |url: &str| options_of(&EngineUrl::from(url.to_owned()));
        let plain = options("restate://[::1]:18080/").unwrap();
        let urls = (plain.ingress_url.as_str(), plain.admin_url.as_str());
        assert_eq!(urls, ("http://[::1]:18080", "http://[::1]:9070"));
        let full = "restates://r.example?admin=https://a.example:1&listen=0.0.0.0:2&advertised=http://w:2&service=clerks";
        let full = options(full).unwrap();
        let urls = (full.ingress_url.as_str(), full.admin_url.as_str());
        assert_eq!(urls, ("https://r.example", "https://a.example:1"));
        let worker = (full.listen.to_string(), full.advertised_url.as_deref(), full.service.as_str());
        assert_eq!(worker, ("0.0.0.0:2".to_owned(), Some("http://w:2"), "clerks"));
        for (wrong, why) in [
            ("restate://", "write restate://HOST:PORT"),
            ("restate://a@b", "write restate://HOST:PORT"),
            ("restate://h?listen=here", "listen=here: invalid socket address syntax"),
            ("restate://h?x=1", "unknown parameter \"x\""),
        ] {
            let line = options(wrong).unwrap_err().line;
            assert!(line.ends_with(why), "{line}");
        }
    }
}
